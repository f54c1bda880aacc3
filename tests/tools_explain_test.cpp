// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/explain/explain.hpp>
#include <layerbench/analysis/explain/text.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/model/graph.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/shape/json.hpp>

#include "import/read_verbose.hpp"
#include "support/mentions.hpp"
#include "support/program.hpp"
#include "support/temporary_directory.hpp"

/// `layerbench import verbose` and `layerbench explain`, on the logs of tests/data/verbose.
namespace layerbench {
namespace tools_explain_test {

using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using testing::mentions;
using ::testing::Not;
using ::testing::SizeIs;

std::string log_of(const std::string& name) {
  return LAYERBENCH_SOURCE_DIR "/tests/data/verbose/" + name + ".log";
}

/// The conditions of the logs' machine.
testing::outcome explain(std::vector<std::string> words) {
  words.insert(words.begin(), "explain");
  words.insert(words.end(), {"--processors", "2", "--isa", "avx512_core_bf16"});
  return testing::run(LAYERBENCH_TOOL, words);
}

json::value json_of(std::vector<std::string> words) {
  words.insert(words.end(), {"--format", "json"});
  const testing::outcome done = explain(std::move(words));
  EXPECT_EQ(done.exit_code, 0) << done.err;
  return json::value::parse(done.out);
}

json::value json_of_log(const std::string& name) { return json_of({log_of(name)}); }

TEST(Explain, TimesAddUpToTheLog) {
  for (const char* name : {"alexnet", "resnet18", "mobilenet_v2", "groups", "others", "reorders"}) {
    SCOPED_TRACE(name);
    const json::value found = json_of_log(name);
    const result::verbose_log log = result::read_verbose(std::filesystem::path(log_of(name)));
    double all = 0;
    for (const std::size_t i : log.calls()) all += log.records[i].seconds;
    const double step = found.at("seconds_per_step");
    const double of_steps = step * found.at("steps").get<double>();
    const double beside = found.at("seconds_before_steps").get<double>() +
                          found.at("seconds_behind_steps").get<double>();
    EXPECT_THAT(of_steps + beside, DoubleNear(all, 0.02 * all));
    double calls = 0;
    double gains = 0;
    for (const json::value& call : found.at("calls")) {
      calls += call.at("seconds").get<double>();
      gains += call.at("gain_seconds").get<double>();
      EXPECT_LE(call.at("gain_seconds"), call.at("seconds"));
    }
    EXPECT_THAT(calls, DoubleNear(found.at("usual_seconds_per_step"), 1e-9));
    EXPECT_THAT(gains + found.at("unexplained_seconds").get<double>(), DoubleNear(calls, 1e-9));
  }
}

TEST(Explain, PlantedCauseIsNamedFirst) {
  const std::pair<const char*, const char*> planted[]{{"reorders", "reorders"},
                                                      {"instructions", "lower instruction set"},
                                                      {"reference", "reference code"},
                                                      {"channels", "odd channels"},
                                                      {"threads", "oversubscribed threads"},
                                                      {"creation", "creation"},
                                                      {"groups", "lower instruction set"}};
  for (const auto& [name, cause] : planted) {
    SCOPED_TRACE(name);
    const json::value found = json_of_log(name);
    ASSERT_FALSE(found.at("gains").empty());
    EXPECT_EQ(found.at("gains")[0].at("cause"), cause);
    double before = found.at("gains")[0].at("seconds");
    for (const json::value& one : found.at("gains")) {
      EXPECT_LE(one.at("seconds"), before);
      before = one.at("seconds");
    }
  }
  for (const char* name : {"version_2_6", "u8"}) EXPECT_TRUE(json_of_log(name).at("gains").empty());
}

TEST(Explain, TextNamesLayersSizesAndWhatIsNotKnown) {
  EXPECT_THAT(explain({log_of("channels")}).out, mentions("63 (fits: 64)", "up to", "conv_1"));
  EXPECT_THAT(explain({log_of("alexnet")}).out,
              mentions("weights of conv_4", "between calls", "3.13.3", "5 steps of 19 calls"));
  EXPECT_THAT(explain({log_of("threads")}).out, mentions("4 threads on 2 processors"));
  EXPECT_THAT(explain({log_of("reference")}).out, mentions("no timestamps", "lrn_1 ref:any"));
  const testing::outcome few = explain({log_of("alexnet"), "--top", "1"});
  EXPECT_THAT(few.out, mentions("and 18 shorter calls"));
  EXPECT_THAT(explain({log_of("alexnet"), "--format", "csv"}).out,
              HasSubstr("layer,implementation,ms,"));
  EXPECT_THAT(explain({log_of("alexnet"), "--one-step"}).out, mentions("1 step of 114 calls"));
  const testing::outcome unknown =
      testing::run(LAYERBENCH_TOOL, {"explain", log_of("alexnet"), "--isa", "vector9000"});
  EXPECT_EQ(unknown.exit_code, static_cast<int>(exit_code::usage));
  EXPECT_THAT(unknown.err, mentions("--isa", "avx512_core"));
  EXPECT_EQ(explain({log_of("nothing")}).exit_code, static_cast<int>(exit_code::bad_input));
}

/// A result file with a row per layer of the model, of these seconds.
std::string results_of(const model::graph& g, double model, double hot, const std::string& dtype) {
  json::value rows = json::value::array();
  for (const model::layer& one : g.layers) {
    if (!one.op.has(op::pass::fwd)) continue;
    for (const auto& [cache, seconds] : {std::pair("model", model), std::pair("hot", hot)}) {
      const std::string name = std::string(one.op.name()) + "/fwd/onednn/" + dtype + "/" + g.name +
                               "/" + one.name + "/batch:1/cache:" + cache;
      rows.push_back({{"name", name},
                      {"run_name", name},
                      {"run_type", "iteration"},
                      {"repetitions", 1},
                      {"repetition_index", 0},
                      {"iterations", 1},
                      {"real_time", seconds * 1e9},
                      {"cpu_time", seconds * 1e9},
                      {"time_unit", "ns"},
                      {"label", "key=" + one.op.key() + ";algo=a;state=s"}});
    }
  }
  return json::value{{"context", {{"layerbench_format", "1"}}}, {"benchmarks", rows}}.dump();
}

TEST(Explain, TimesHereSayWhatIsSlowerAndWhatIsCold) {
  const testing::temporary_directory directory;
  const std::string shapes = (directory.path() / "app.json").string();
  const std::string results = (directory.path() / "r.json").string();
  ASSERT_EQ(
      testing::run(LAYERBENCH_TOOL, {"import", "verbose", log_of("version_3_2"), "-o", shapes})
          .exit_code,
      0);
  const model::graph g = model::load(shapes);
  const auto cause_with = [&](double model, double hot) {
    std::ofstream(results) << results_of(g, model, hot, "f32");
    return json_of({log_of("version_3_2"), results}).at("calls")[0];
  };
  // The log has about 0.2 ms for the first call.
  const json::value slower = cause_with(1e-5, 1e-5);
  EXPECT_EQ(slower.at("cause"), "slower than here");
  EXPECT_THAT(slower.at("gain_seconds").get<double>(),
              DoubleNear(slower.at("seconds").get<double>() - 1e-5, 1e-9));
  const json::value cold = cause_with(1, 1e-4);
  EXPECT_EQ(cold.at("cause"), "cold operands");
  EXPECT_DOUBLE_EQ(cold.at("seconds_here").at("hot"), 1e-4);
}

TEST(ImportVerbose, LayersAreThoseOfTheCalls) {
  const testing::temporary_directory directory;
  const std::string file = (directory.path() / "app.json").string();
  const auto import = [&](const std::string& name, bool partial = false) {
    std::vector<std::string> words{"import", "verbose", log_of(name), "-o", file, "--overwrite"};
    if (partial) words.emplace_back("--allow-partial");
    return testing::run(LAYERBENCH_TOOL, words);
  };
  const testing::outcome alexnet = import("alexnet");
  EXPECT_EQ(alexnet.exit_code, 0) << alexnet.err;
  EXPECT_THAT(alexnet.err, mentions("--layout=nchw", "--threads=1", "5 steps in 114 calls"));
  model::graph g = model::load(file);
  ASSERT_THAT(g.layers, SizeIs(5));
  EXPECT_EQ(g.layers[1].op.how(), op::manner::reorders);
  const model::graph larger = model::load(file, {{"batch", 4}});
  EXPECT_EQ(larger.layers[0].op.work(op::pass::fwd).macs,
            4 * g.layers[0].op.work(op::pass::fwd).macs);

  // What has no op is listed and refused, unless a partial file is wanted.
  const testing::outcome lacks = import("others");
  EXPECT_EQ(lacks.exit_code, static_cast<int>(exit_code::incomplete));
  EXPECT_THAT(lacks.err, mentions("resampling", "1 of 16 calls", "% of its time"));
  EXPECT_EQ(import("others", true).exit_code, 0);
  g = model::load(file);
  EXPECT_TRUE(g.left_out);
  std::vector<std::string> ops;
  for (const model::layer& one : g.layers) ops.emplace_back(one.op.name());
  for (const char* op : {"conv", "activation", "add", "multiply", "batchnorm", "pool", "concat",
                         "lrn", "gemm", "softmax", "layernorm"}) {
    EXPECT_THAT(ops, Contains(op));
  }

  const testing::outcome u8 = import("u8");
  EXPECT_EQ(u8.exit_code, 0) << u8.err;
  EXPECT_THAT(u8.err, mentions("--dtype=u8", "zero points"));
  EXPECT_THAT(model::load(file).layers[0].op.key(), HasSubstr("channel_scales"));
  EXPECT_EQ(import("resnet18").exit_code, 0);
  EXPECT_THAT(model::load(file).layers, SizeIs(20));
}

TEST(ImportVerbose, NoMutationOfALogCrashes) {
  std::mt19937 dice(5);
  const auto below = [&](std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(dice);
  };
  for (const char* name : {"others", "u8", "alexnet"}) {
    std::ostringstream original;
    original << std::ifstream(log_of(name)).rdbuf();
    for (int i = 0; i < 40; ++i) {
      std::string text = original.str();
      for (std::size_t changes = 20 + below(200); changes > 0; --changes) {
        constexpr std::string_view junk = "0123456789xabcd:_+";
        text[below(text.size())] = junk[below(junk.size())];
      }
      std::istringstream stream(text);
      const result::verbose_log log = result::read_verbose(stream, "log");
      const result::verbose_step step = result::step_of(log);
      try {
        const auto model = tool::importer::logged_model_of(log, step, "log", "");
        ASSERT_THAT(model.layers, SizeIs(step.calls.size()));
        std::vector<analysis::logged_call> calls;
        for (const auto& one : model.layers) calls.push_back({one.name, one.op});
        const auto found = analysis::explain(log, step, calls, {2, "avx512_core_amx"}, {});
        EXPECT_FALSE(analysis::text(found, 5).empty());
        EXPECT_TRUE(std::isfinite(found.remainder()));
      } catch (const bad_input&) {  // no call is left
      }
    }
  }
}

}  // namespace tools_explain_test
}  // namespace layerbench
