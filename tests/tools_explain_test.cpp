// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
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
#include <layerbench/base/json.hpp>
#include <layerbench/model/graph.hpp>
#include <layerbench/model/shape_file.hpp>

#include "import/read_verbose.hpp"
#include "support/mentions.hpp"
#include "support/program.hpp"
#include "support/temporary_directory.hpp"

/// `layerbench import verbose` and `layerbench explain`, on the logs of tests/data/verbose.
namespace layerbench {
namespace tools_explain_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
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
    for (const result::verbose_record& call : log.records) all += call.seconds;
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

TEST(Explain, JsonHasTheStepAndWhatIsNotKnown) {
  const json::value alexnet = json_of_log("alexnet");
  EXPECT_EQ(alexnet.at("onednn_version"), "3.13.3");
  EXPECT_EQ(alexnet.at("threads"), 1);
  EXPECT_EQ(alexnet.at("steps"), 5);
  EXPECT_THAT(alexnet.at("calls"), SizeIs(19));
  EXPECT_TRUE(alexnet.at("between_seconds_per_step").is_number());
  EXPECT_EQ(alexnet.at("lines").at("damaged"), 0);
  EXPECT_EQ(alexnet.at("lines").at("processes"), 1);
  const json::value one_step = json_of({log_of("alexnet"), "--one-step"});
  EXPECT_EQ(one_step.at("steps"), 1);
  EXPECT_THAT(one_step.at("calls"), SizeIs(114));
  EXPECT_TRUE(json_of_log("reference").at("between_seconds_per_step").is_null());
  EXPECT_TRUE(json_of_log("reference").at("creation_seconds_per_step").is_null());
}

TEST(Explain, TextShowsTheLongestCalls) {
  EXPECT_THAT(explain({log_of("channels")}).out, mentions("63", "64", "conv_1"));
  const testing::outcome few = explain({log_of("alexnet"), "--top", "1"});
  EXPECT_THAT(few.out, mentions("conv_2", "18", "--top"));
  EXPECT_THAT(explain({log_of("alexnet"), "--format", "csv"}).out,
              HasSubstr("layer,implementation,ms,"));
  EXPECT_EQ(explain({log_of("nothing")}).exit_code, static_cast<int>(exit_code::bad_input));
}

TEST(Explain, InstructionSetsAreThoseOfTheLibrary) {
  for (const char* name : {"sse41", "avx2", "avx2_vnni", "avx512_core", "avx10_1_512_amx_fp16",
                           "avx10_1_512_amx", "avx10_1_512"}) {
    EXPECT_TRUE(analysis::knows_instruction_set(name)) << name;
  }
  for (const char* name : {"", "avxfoo", "avx512_cores", "vector9000"}) {
    EXPECT_FALSE(analysis::knows_instruction_set(name)) << name;
  }
  const testing::outcome unknown =
      testing::run(LAYERBENCH_TOOL, {"explain", log_of("alexnet"), "--isa", "avxfoo"});
  EXPECT_EQ(unknown.exit_code, static_cast<int>(exit_code::usage));
  EXPECT_THAT(unknown.err, mentions("--isa", "avx512_core"));

  // What a call of this implementation lacks on a machine, by a library that may use `words`.
  const auto causes = [](const std::string& implementation, const std::string& words,
                         const std::string& type, const std::string& machine) {
    std::istringstream text("onednn_verbose,info,cpu,isa:Intel " + words +
                            "\nonednn_verbose,exec,cpu,matmul," + implementation + ",undef,src_" +
                            type + "::blocked:ab:f0 wei_" + type + "::blocked:ab:f0 dst_" + type +
                            "::blocked:ab:f0,,,64x64:64x64,1\n");
    const result::verbose_log log = result::read_verbose(text, "log");
    const result::verbose_step step = result::step_of(log);
    const auto calls = tool::importer::logged_model_of(log, step);
    return analysis::explain(log, step, calls, {2, machine}, {}).gains.size();
  };
  const std::string amx =
      "AVX-512 with float16, Intel DL Boost and bfloat16 support and Intel AMX with bfloat16 and "
      "8-bit integer support";
  EXPECT_EQ(causes("brg_matmul:avx10_1_512_amx", amx, "bf16", "avx512_core_amx"), 0);
  EXPECT_EQ(causes("brg_matmul:avx512_core_amx", amx, "bf16", "avx10_1_512_amx"), 0);
  EXPECT_EQ(causes("brg_matmul:avx10_1_512", amx, "f16", "avx512_core_amx"), 0);
  const std::string avx2 = "AVX2 with Intel DL Boost, float16 and bfloat16 support";
  EXPECT_EQ(causes("brg_matmul:avx2_vnni_2", avx2, "bf16", ""), 0);
  EXPECT_EQ(causes("brg_matmul:avx2_vnni_2", avx2, "bf16", "avx512_core"), 1);
}

TEST(Explain, LogWithoutLayersIsExplained) {
  const testing::temporary_directory directory;
  const std::string log = (directory.path() / "app.log").string();
  std::ofstream(log) << "onednn_verbose,exec,cpu,resampling,ref:any,backward_data,"
                        "diff_src_f32::blocked:abcd:f0 diff_dst_f32::blocked:abcd:f0,,,"
                        "mb1ic8_ih8oh16_iw8ow16,2\n";
  const json::value found = json_of({log});
  EXPECT_EQ(found.at("gains")[0].at("cause"), "reference code");
  EXPECT_EQ(found.at("unexplained_seconds"), 0);
  const auto import = [&](const char* partial) {
    return testing::run(LAYERBENCH_TOOL, {"import", "verbose", log, partial}).exit_code;
  };
  EXPECT_EQ(import("--one-step"), static_cast<int>(exit_code::incomplete));
  EXPECT_EQ(import("--allow-partial"), static_cast<int>(exit_code::bad_input));
}

/// A result file with a row per layer of the model, of these seconds.
std::string results_of(const model::graph& g, double model, double hot,
                       const std::string& backend = "onednn", const std::string& parameters = "") {
  json::value rows = json::value::array();
  for (const model::layer& one : g.layers) {
    if (!one.op.has(op::pass::fwd)) continue;
    for (const auto& [cache, seconds] : {std::pair("model", model), std::pair("hot", hot)}) {
      const std::string name = std::string(one.op.name()) + "/fwd/" + backend + "/f32/" + g.name +
                               "/" + one.name + "/batch:1/cache:" + cache + parameters;
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

/// Results of the layers of a log.
class measured_log {
 public:
  explicit measured_log(const std::string& name) : log_(log_of(name)) {
    const std::string shapes = (directory_.path() / "app.json").string();
    EXPECT_EQ(
        testing::run(LAYERBENCH_TOOL, {"import", "verbose", log_, "-o", shapes, "--allow-partial"})
            .exit_code,
        0);
    graph_ = model::load(shapes);
  }

  /// The command line with results of these seconds.
  template <class... Conditions>
  [[nodiscard]] std::vector<std::string> with(double model, double hot,
                                              const Conditions&... conditions) {
    std::vector<std::string> words{log_};
    add(words, results_of(graph_, model, hot, conditions...));
    return words;
  }

  void add(std::vector<std::string>& words, const std::string& text) const {
    words.push_back((directory_.path() / ("r" + std::to_string(words.size()) + ".json")).string());
    std::ofstream(words.back()) << text;
  }

  [[nodiscard]] const model::graph& graph() const { return graph_; }

 private:
  testing::temporary_directory directory_;
  std::string log_;
  model::graph graph_;
};

TEST(Explain, TimesHereSayWhatIsSlowerAndWhatIsCold) {
  measured_log log("version_3_2");
  // The log has about 0.2 ms for the first call.
  const json::value slower = json_of(log.with(1e-5, 1e-5)).at("calls")[0];
  EXPECT_EQ(slower.at("cause"), "slower than here");
  EXPECT_THAT(slower.at("gain_seconds").get<double>(),
              DoubleNear(slower.at("seconds").get<double>() - 1e-5, 1e-9));
  const json::value cold = json_of(log.with(1, 1e-4)).at("calls")[0];
  EXPECT_EQ(cold.at("cause"), "cold operands");
  EXPECT_DOUBLE_EQ(cold.at("seconds_here").at("hot"), 1e-4);
}

TEST(Explain, TimesHereAreFoundForAllLayers) {
  // Layers whose log has no source by that name, such as lrn, are measured in the model's type.
  measured_log log("others");
  const json::value found = json_of(log.with(1e-6, 1e-6));
  std::size_t measured = 0;
  for (const json::value& call : found.at("calls")) measured += call.at("seconds_here").size() / 2;
  std::size_t layers = 0;
  for (const model::layer& one : log.graph().layers) layers += one.op.name() != "dropout" ? 1U : 0U;
  EXPECT_EQ(measured, layers);
}

TEST(Explain, ReferenceCodeThatIsAsSlowHereRemainsTheCause) {
  measured_log log("reference");
  const json::value found = json_of(log.with(10, 10));
  EXPECT_EQ(found.at("gains")[0].at("cause"), "reference code");
  EXPECT_TRUE(found.at("gains")[0].at("at_most"));
}

TEST(Explain, MeasuredTimeIsShownUnlessChannelsCostMore) {
  measured_log log("channels");
  const auto cause_with = [&](double seconds) {
    return json_of(log.with(seconds, seconds)).at("calls")[0].at("cause");
  };
  EXPECT_EQ(cause_with(1e-6), "slower than here");
  EXPECT_EQ(cause_with(1), "odd channels");
}

TEST(Explain, DifferencesBetweenLogAndResultsAreSaid) {
  measured_log log("version_3_2");
  EXPECT_TRUE(json_of(log.with(1, 1)).at("notes").empty());
  const json::value threads = json_of(log.with(1, 1, "onednn", "/threads:2"));
  EXPECT_TRUE(threads.at("calls")[0].at("seconds_here").empty());
  EXPECT_THAT(threads.at("notes")[0], HasSubstr("threads"));
  EXPECT_FALSE(json_of(log.with(1, 1, "onednn", "/layout:nchw")).at("notes").empty());
  EXPECT_FALSE(json_of(log.with(1, 1, "openblas")).at("notes").empty());
  // Which of several times of a call is meant cannot be known.
  for (const auto& [backend, parameters] :
       {std::pair("openblas", ""), std::pair("onednn", "/layout:nchw")}) {
    std::vector<std::string> words = log.with(1, 1);
    log.add(words, results_of(log.graph(), 1, 1, backend, parameters));
    const testing::outcome several = explain(words);
    EXPECT_EQ(several.exit_code, static_cast<int>(exit_code::bad_input));
    EXPECT_THAT(several.err, HasSubstr(backend));
  }
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
  EXPECT_THAT(testing::run(LAYERBENCH_TOOL, {"show", file}).out,
              AllOf(HasSubstr("partial"), Not(HasSubstr("0.0 %"))));
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

TEST(ImportVerbose, ReorderBelongsToTheLayerThatReadsOrWroteIt) {
  const result::verbose_log log = result::read_verbose(std::filesystem::path(log_of("alexnet")));
  const result::verbose_step step = result::step_of(log);
  const auto layers = tool::importer::logged_model_of(log, step).layers;
  std::map<std::string, std::size_t> reordered;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool copies = log.primitives[step.calls[i].primitive].kind == "reorder";
    EXPECT_EQ(copies, layers[i].reorders_for.has_value());
    if (!copies) continue;
    EXPECT_EQ(log.primitives[step.calls[*layers[i].reorders_for].primitive].kind, "convolution");
    ++reordered[std::string(layers[i].reordered)];
  }
  // The first convolution reads the image as it is.
  EXPECT_THAT(reordered,
              ElementsAre(std::pair("dst", 5), std::pair("src", 4), std::pair("wei", 5)));
}

TEST(ImportVerbose, PlusInANumberSeparatesNothing) {
  const auto post_of = [](const std::string& attributes) {
    std::istringstream text(
        "onednn_verbose,exec,cpu,matmul,brg:avx512_core,undef,src_f32::blocked:ab:f0 "
        "wei_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,attr-post-ops:" +
        attributes + ",,64x64:64x64,1\n");
    const result::verbose_log log = result::read_verbose(text, "log");
    return tool::importer::logged_model_of(log, result::step_of(log));
  };
  const auto two = post_of("eltwise_relu+eltwise_clip:0:6e+00");
  ASSERT_TRUE(two.unknown.empty()) << two.unknown.begin()->first;
  EXPECT_THAT(two.layers[0].op->key(), HasSubstr("post:relu+relu6"));
  EXPECT_THAT(post_of("eltwise_clip:0:1e+06").unknown.begin()->first, HasSubstr("eltwise_clip"));
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
      for (int large = 0; large < 3; ++large) text.insert(below(text.size()), "922337203685477580");
      std::istringstream stream(text);
      const result::verbose_log log = result::read_verbose(stream, "log");
      const result::verbose_step step = result::step_of(log);
      const auto model = tool::importer::logged_model_of(log, step);
      ASSERT_THAT(model.layers, SizeIs(step.calls.size()));
      const auto found = analysis::explain(log, step, model, {2, "avx512_core_amx"}, {});
      EXPECT_FALSE(analysis::text(found, 5).empty());
      EXPECT_TRUE(std::isfinite(found.remainder()));
      try {
        EXPECT_FALSE(tool::importer::shape_file_of(log, step, model, "log", "").empty());
      } catch (const bad_input&) {  // no call is left
      }
    }
  }
}

}  // namespace tools_explain_test
}  // namespace layerbench
