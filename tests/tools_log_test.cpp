// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
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

#include <fmt/format.h>
#if LAYERBENCH_HAS_SQLITE
#include <sqlite3.h>
#endif

#include <layerbench/analysis/explain/explain.hpp>
#include <layerbench/analysis/explain/text.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/model/graph.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/shape/record_json.hpp>

#include "import/read_log.hpp"
#include "import/read_verbose.hpp"
#include "support/mentions.hpp"
#include "support/program.hpp"
#include "support/temporary_directory.hpp"

/// The logs of other programs than oneDNN, in tests/data/verbose.
namespace layerbench {
namespace tools_log_test {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::mentions;
using ::testing::SizeIs;
using tool::importer::logged_model;

std::string path_of(const std::string& name) {
  return std::filesystem::path(LAYERBENCH_SOURCE_DIR "/tests/data/verbose/") / name;
}

std::string text_of(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(path_of(name)).rdbuf();
  return std::move(text).str();
}

result::verbose_log trace_of(const std::string& text) {
  std::istringstream stream(text);
  return tool::importer::read_trace(stream, "log");
}

json::value explained(const std::string& name, const std::string& option = "--one-step") {
  const testing::outcome done =
      testing::run(LAYERBENCH_TOOL, {"explain", path_of(name), option, "--format", "json",
                                     "--processors", "2", "--isa", "avx512_core_amx"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  return json::value::parse(done.out);
}

/// The layers that a log becomes, as "op key"; those that it lacks by kind.
struct imported {
  explicit imported(const std::string& name)
      : log(tool::importer::read_log(path_of(name))),
        step(result::step_of(log)),
        model(tool::importer::logged_model_of(log, step)) {
    for (const result::logged_layer& one : model.layers) {
      if (one.op) ops.push_back(std::string(one.op->name()) + ' ' + one.op->key());
    }
  }

  [[nodiscard]] std::size_t count(std::string_view op) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(ops, [&](const std::string& one) { return one.starts_with(op); }));
  }

  result::verbose_log log;
  result::verbose_step step;
  logged_model model;
  std::vector<std::string> ops;
};

/// Milliseconds of the events of a trace for which `counts`, and from the begin of the first to the
/// end of the last.
template <class Predicate>
std::pair<double, double> milliseconds_in(const std::string& name, Predicate counts) {
  const json::value file = json::value::parse(text_of(name));
  double sum = 0;
  double first = 1e300;
  double last = 0;
  for (const json::value& event : file.is_array() ? file : file.at("traceEvents")) {
    if (!event.contains("cat") || !counts(event)) continue;
    const double begin = event.at("ts");
    const double duration = event.at("dur");
    sum += duration;
    first = std::min(first, begin);
    last = std::max(last, begin + duration);
  }
  return {sum * 1e-3, (last - first) * 1e-3};
}

TEST(OnnxRuntimeProfile, TimesAddUpToTheLog) {
  for (const char* name : {"onnxruntime.json", "onnxruntime_blocks.json"}) {
    const auto [calls, whole] =
        milliseconds_in(name, [](const json::value& event) { return event.at("cat") == "Node"; });
    const json::value found = explained(name);
    EXPECT_EQ(found.at("library"), "ONNX Runtime");
    const double seconds = found.at("seconds_per_step");
    EXPECT_THAT(seconds * 1e3, DoubleNear(calls, 1e-6 * calls));
    const double between = found.at("between_seconds_per_step");
    EXPECT_THAT((seconds + between) * 1e3, DoubleNear(whole, 0.02 * whole));
    const json::value steps = explained(name, "--top=1");
    EXPECT_EQ(steps.at("steps"), 5);
    const double all = steps.at("seconds_per_step").get<double>() * 5 +
                       steps.at("seconds_before_steps").get<double>() +
                       steps.at("seconds_behind_steps").get<double>();
    EXPECT_THAT(all, DoubleNear(seconds, 0.02 * seconds));
  }
}

TEST(OnnxRuntimeProfile, LayersHaveTheSizesOfTheModel) {
  const imported plain("onnxruntime.json");
  EXPECT_EQ(plain.log.threads, 1);
  EXPECT_EQ(plain.model.layout, "nchw");
  EXPECT_THAT(plain.ops, SizeIs(11));
  ASSERT_EQ(plain.count("conv "), 5);
  const auto fields = [&](std::size_t i) {
    return json::write_fields(plain.model.layers[i].op->fields());
  };
  EXPECT_EQ(fields(0).at("stride"), json::value(2));
  EXPECT_EQ(plain.model.layers[0].op->work(op::pass::fwd).macs, 64LL * 3 * 49 * 56 * 56);
  EXPECT_EQ(plain.model.layers[6].op->work(op::pass::fwd).macs, 64LL * 9 * 14 * 14);
  EXPECT_EQ(plain.model.layers[10].op->work(op::pass::fwd).macs, 63'000);
  // A view is no layer, but is not dropped.
  EXPECT_THAT(plain.model.unknown, SizeIs(1));
  EXPECT_THAT(plain.model.unknown.begin()->first, HasSubstr("Flatten"));
  EXPECT_GT(plain.model.unknown.begin()->second.seconds, 0);

  const imported blocks("onnxruntime_blocks.json");
  EXPECT_EQ(blocks.count("conv "), 5);
  EXPECT_THAT(blocks.ops[3], HasSubstr("post:sum"));
  const json::value found = explained("onnxruntime_blocks.json", "--top=1");
  EXPECT_TRUE(std::ranges::any_of(
      found.at("gains"), [](const json::value& one) { return one.at("cause") == "reorders"; }));
}

TEST(OnnxRuntimeProfile, BecomesAShapeFile) {
  const testing::temporary_directory directory;
  const std::string file = (directory.path() / "app.json").string();
  const auto import = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"import", "verbose", path_of("onnxruntime.json"), "-o", file});
    return testing::run(LAYERBENCH_TOOL, words);
  };
  const testing::outcome lacks = import({});
  EXPECT_EQ(lacks.exit_code, static_cast<int>(exit_code::incomplete));
  EXPECT_THAT(lacks.err, mentions("Flatten", "% of its time", "--allow-partial"));
  const testing::outcome partial = import({"--allow-partial"});
  EXPECT_EQ(partial.exit_code, 0);
  EXPECT_THAT(partial.err, mentions("strides", "5 steps", "--layout=nchw"));
  const model::graph g = model::load(file);
  EXPECT_THAT(g.layers, SizeIs(11));
  // The sum reads both branches.
  EXPECT_THAT(g.layers[4].op.name(), "add");
  EXPECT_THAT(g.layers[4].inputs, SizeIs(2));
}

TEST(PyTorchTrace, TimesAddUpToTheLog) {
  for (const char* name : {"pytorch.json", "pytorch_training.json"}) {
    const auto [sum, whole] =
        milliseconds_in(name, [](const json::value& event) { return event.at("cat") == "cpu_op"; });
    EXPECT_GT(sum, 0);
    const json::value found = explained(name);
    EXPECT_EQ(found.at("library"), "PyTorch");
    const double seconds = found.at("seconds_per_step");
    const double between = found.at("between_seconds_per_step");
    EXPECT_THAT((seconds + between) * 1e3, DoubleNear(whole, 0.02 * whole));
    EXPECT_EQ(explained(name, "--top=1").at("steps"), 2);
  }
}

TEST(PyTorchTrace, OpsThatComputeBecomeLayers) {
  const imported net("pytorch.json");
  // Views and new memory are no layers.
  EXPECT_THAT(net.model.unknown, SizeIs(2));
  EXPECT_THAT(net.ops, SizeIs(14));
  EXPECT_EQ(net.count("conv "), 3);
  EXPECT_EQ(net.count("gemm "), 2);
  EXPECT_EQ(net.model.layout, "nchw");
  std::vector<op::any> layers;
  for (const result::logged_layer& one : net.model.layers) {
    if (one.op) layers.push_back(*one.op);
  }
  const auto macs = [&](std::size_t i) { return layers[i].work(op::pass::fwd).macs; };
  EXPECT_EQ(macs(0), 64LL * 3 * 49 * 56 * 56);
  EXPECT_EQ(macs(7), 63LL * 64 * 9 * 28 * 28);
  EXPECT_EQ(macs(9), 63LL * 256);
  EXPECT_EQ(net.count("activation kind:leaky"), 0);
  for (const char* op : {"batchnorm", "activation", "pool", "add", "layernorm", "softmax"}) {
    EXPECT_GE(net.count(op), 1) << op;
  }
  // In training the backward calls are listed, and steps differ in no size.
  const imported training("pytorch_training.json");
  EXPECT_EQ(training.count("conv "), 1);
  std::size_t unknown = 0;
  for (const auto& [kind, of] : training.model.unknown) unknown += of.count;
  EXPECT_EQ(unknown + training.ops.size(), training.step.calls.size());
  EXPECT_TRUE(std::ranges::any_of(training.model.unknown, [](const auto& one) {
    return one.first.starts_with("aten::convolution_backward");
  }));
}

TEST(PyTorchTrace, InnerAndOuterOps) {
  const auto event = [](const std::string& name, int begin, int duration,
                        const std::string& rest = "") {
    return fmt::format(
        R"({{"ph":"X","cat":"cpu_op","name":"{}","tid":1,"ts":{},"dur":{},"args":{{{}}}}},)", name,
        begin, duration, rest);
  };
  const auto kinds_of = [](const std::string& events) {
    const result::verbose_log log =
        trace_of(R"({"traceEvents":[)" + events + R"({"ph":"M","name":"x"}]})");
    std::vector<std::string> kinds;
    for (const result::verbose_record& one : log.records) {
      kinds.push_back(log.primitives[one.primitive].kind);
    }
    return kinds;
  };
  // Whose time is in the inner one.
  EXPECT_THAT(kinds_of(event("outer", 0, 100) + event("inner", 10, 80)), ElementsAre("inner"));
  EXPECT_THAT(kinds_of(event("outer", 0, 100) + event("inner", 10, 20)), ElementsAre("outer"));
  const std::string sizes = R"("Input Dims":[[4,5],[5,6]],"Input type":["float","float"])";
  EXPECT_THAT(kinds_of(event("outer", 0, 100) + event("aten::mm", 10, 20, sizes)),
              ElementsAre("outer"));
  EXPECT_THAT(kinds_of(event("aten::mm", 0, 100, sizes) + event("aten::copy_", 10, 80)),
              ElementsAre("matmul"));
  // Equal sources are no result.
  const result::verbose_log equal = trace_of(
      '[' +
      event("aten::cat", 0, 9, R"("Input Dims":[[[2,4],[2,4]],[]],"Concrete Inputs":["","1"])") +
      ']');
  EXPECT_EQ(equal.primitives[0].problem, "2x4:2x4:2x8");
  // Ops that overlap without being within each other are both calls.
  EXPECT_THAT(kinds_of(event("one", 0, 100) + event("other", 90, 100)),
              ElementsAre("one", "other"));
}

TEST(PyTorchTrace, NotesSayWhatTheLogLacks) {
  const result::verbose_log log = trace_of(
      R"({"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::mm","tid":1,"ts":1,"dur":2},)"
      R"({"ph":"X","cat":"kernel","name":"sgemm","tid":7,"ts":1,"dur":2000}]})");
  EXPECT_THAT(log.notes, ElementsAre(HasSubstr("record_shapes"), mentions("GPUs", "2.000 ms")));
  EXPECT_EQ(log.primitives[0].kind, "matmul");
}

TEST(OpenVinoGraph, LayersHaveTimesSizesAndOrders) {
  const imported net("openvino.xml");
  EXPECT_EQ(net.log.library, "OpenVINO");
  std::istringstream lines(text_of("openvino.xml"));
  double sum = 0;
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view key = "execTimeMcs=\"";
    const std::size_t at = line.find(key);
    if (at == std::string::npos || line[at + key.size()] == 'n') continue;
    sum += std::stod(line.substr(at + key.size()));
  }
  const json::value found = explained("openvino.xml");
  EXPECT_THAT(found.at("seconds_per_step").get<double>() * 1e6, DoubleNear(sum, 1e-6 * sum));
  EXPECT_TRUE(found.at("between_seconds_per_step").is_null());
  EXPECT_EQ(net.count("conv "), 5);
  EXPECT_EQ(net.count("gemm "), 1);
  EXPECT_EQ(net.count("reorder "), 1);
  EXPECT_EQ(net.model.layout, "nhwc");
  EXPECT_EQ(net.log.primitives[net.step.calls[1].primitive].tensor("src").tag, "acdb");
  EXPECT_TRUE(std::ranges::any_of(found.at("gains"), [](const json::value& one) {
    return one.at("cause") == "reorders" && one.at("text").get<std::string>().starts_with("source");
  }));
}

TEST(OpenVinoCounters, LayersHaveTimes) {
  const json::value found = explained("openvino_counters.csv");
  std::istringstream lines(text_of("openvino_counters.csv"));
  double total = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Total;;;;")) total = std::stod(line.substr(9));
  }
  EXPECT_THAT(found.at("seconds_per_step").get<double>() * 1e3, DoubleNear(total, 0.02 * total));
  EXPECT_EQ(found.at("calls")[0].at("seconds_here"), json::value::object());
  EXPECT_TRUE(std::ranges::any_of(
      found.at("gains"), [](const json::value& one) { return one.at("cause") == "reorders"; }));
  // The C++ program ends lines with the separator.
  const testing::temporary_directory directory;
  const std::string file = (directory.path() / "app.csv").string();
  std::ofstream(file) << "layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms);\n"
                         "a;EXECUTED;Convolution;jit_avx2_f32;3.0;3.0;\n";
  EXPECT_THAT(testing::run(LAYERBENCH_TOOL, {"explain", file, "--format=json"}).out,
              HasSubstr("0.003"));
  // Without sizes no call is a layer.
  const imported net("openvino_counters.csv");
  EXPECT_TRUE(net.ops.empty());
}

TEST(OpenVino, ReferenceCodeAndLowerInstructionSetsAreNamed) {
  const testing::temporary_directory directory;
  const std::string file = (directory.path() / "app.csv").string();
  std::ofstream(file) << "layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms)\n"
                         "a;b;EXECUTED;Convolution;ref_any_f32;3.0;3.0\n"
                         "c;EXECUTED;Convolution;jit_avx2_f32;2.0;2.0\n"
                         "d;NOT_RUN;Convolution;ref_any_f32;0;0\n"
                         "e;EXECUTED;Convolution;ref_any_f32;x;0\n";
  const testing::outcome done =
      testing::run(LAYERBENCH_TOOL, {"explain", file, "--format", "json", "--isa", "avx512_core"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const json::value found = json::value::parse(done.out);
  EXPECT_EQ(found.at("gains")[0].at("cause"), "reference code");
  EXPECT_EQ(found.at("gains")[1].at("cause"), "lower instruction set");
  EXPECT_EQ(found.at("lines").at("damaged"), 1);
}

TEST(OpenVino, BadFilesAreRefusedAndCutOnesReadUpToTheCut) {
  const testing::temporary_directory directory;
  const std::string file = (directory.path() / "app.xml").string();
  const std::string whole = text_of("openvino.xml");
  const auto read = [&](const std::string& text) {
    std::ofstream(file) << text;
    return tool::importer::read_log(file);
  };
  const std::size_t all = read(whole).records.size();
  const result::verbose_log half = read(whole.substr(0, whole.size() / 2));
  EXPECT_LT(half.records.size(), all);
  EXPECT_GT(half.records.size(), 1);
  EXPECT_EQ(half.notes.size(), read(whole).notes.size() + 1);
  EXPECT_THROW(static_cast<void>(read("<net><layer id=\"1\" type=\"Relu\"/></net>")), bad_input);
  EXPECT_THROW(static_cast<void>(read("layerName;execStatus;layerType;execType\n")), bad_input);
  // Names are text.
  const result::verbose_log hostile = read(
      "<net><layer id='1' name='&lt;a&#10;>' type=\"Re&amp;lu\"><data execTimeMcs=\"5\" "
      "primitiveType='ref'/></layer></net>");
  EXPECT_EQ(hostile.primitives[0].kind, "Re&lu");
  EXPECT_EQ(hostile.primitives[0].implementation, "ref <a&#10;>");
}

TEST(Trace, CutFileIsReadUpToTheCut) {
  const std::string whole = text_of("onnxruntime.json");
  const result::verbose_log all = trace_of(whole);
  const result::verbose_log half = trace_of(whole.substr(0, whole.size() / 2));
  EXPECT_LT(half.records.size(), all.records.size());
  EXPECT_GT(half.records.size(), all.records.size() / 3);
  EXPECT_EQ(half.notes.size(), all.notes.size() + 1);
}

TEST(Trace, BadFilesAreRefusedByNameAndPlace) {
  const testing::temporary_directory directory;
  const std::string file = (directory.path() / "app.json").string();
  const auto refused = [&](const std::string& text) {
    std::ofstream(file) << text;
    const testing::outcome done = testing::run(LAYERBENCH_TOOL, {"explain", file});
    EXPECT_EQ(done.exit_code, static_cast<int>(exit_code::bad_input)) << text;
    EXPECT_THAT(done.err, HasSubstr("app.json"));
    return done.err;
  };
  EXPECT_THAT(refused(R"({"traceEvents": []})"), mentions("enable_profiling", "ProfilerActivity"));
  EXPECT_THAT(refused(R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", )"), HasSubstr("byte"));
  EXPECT_THAT(
      refused(R"([{"cat": "Node", "name": "a_kernel_time", "ph": "X", "dur": -1, "ts": 1}])"),
      HasSubstr("enable_profiling"));
  EXPECT_THAT(refused("\x1f\x8b\x08"), HasSubstr("gunzip"));
  // Logs of oneDNN may begin like JSON.
  std::ofstream(file) << "[INFO] \"ph\"\n" << text_of("alexnet.log");
  EXPECT_EQ(testing::run(LAYERBENCH_TOOL, {"explain", file}).exit_code, 0);
}

TEST(Trace, HostileNamesStayText) {
  const std::string event =
      R"({"cat":"Node","tid":1,"dur":5,"ts":%,"ph":"X","name":"a|\u001b[2J\n\"_kernel_time","args":)"
      R"({"op_name":"Evil\u0007|","provider":"\u001bEP","input_type_shape":[{"fl\"oat":[1,-2]}]}})";
  const testing::temporary_directory directory;
  const std::string file = (directory.path() / "app.json").string();
  std::string text = "[";
  for (int i = 0; i < 4; ++i) {
    std::string one = event;
    text += (i > 0 ? "," : "") + one.replace(one.find('%'), 1, std::to_string(10 * i));
  }
  std::ofstream(file) << text << "]";
  const testing::outcome done = testing::run(LAYERBENCH_TOOL, {"explain", file});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(done.out.find('\x1b'), std::string::npos);
  EXPECT_EQ(done.out.find('\x07'), std::string::npos);
  EXPECT_THAT(testing::run(LAYERBENCH_TOOL, {"import", "verbose", file}).err,
              AllOf(HasSubstr("100"), ::testing::Not(HasSubstr("\x1b"))));
}

TEST(Trace, ManyEventsAreReadAndTheirStepIsFound) {
  std::string text = "[";
  for (std::size_t i = 0; i < 100'000; ++i) {
    text += fmt::format(
        R"({}{{"cat":"Node","tid":1,"dur":5,"ts":{},"ph":"X","name":"n{}_kernel_time","args":)"
        R"({{"op_name":"Relu","input_type_shape":[{{"float":[1,{}]}}]}}}})",
        i > 0 ? "," : "", 10 * i, i % 50, i % 50 + 1);
  }
  const result::verbose_log log = trace_of(text + "]");
  EXPECT_EQ(log.records.size(), 100'000);
  EXPECT_EQ(log.primitives.size(), 50);
  EXPECT_EQ(result::step_of(log).place.period, 50);
}

TEST(Trace, DeepListsAreRead) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  const result::verbose_log log = trace_of(
      R"({"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::mm","tid":1,"ts":1,"dur":2,)"
      R"("args":{"Input Dims":)" +
      deep + "}}]}");
  EXPECT_EQ(log.records.size() + log.damaged, 1);
}

#if LAYERBENCH_HAS_SQLITE

/// Writes an export of Nsight Systems: its tables and PyTorch's ranges, which are real, and `rows`,
/// invented work of a GPU.
void write_export(const std::string& file, const std::string& rows) {
  std::filesystem::remove(file);
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
  for (const std::string& sql : {"BEGIN;" + text_of("nsys.sql"), rows, std::string("COMMIT")}) {
    char* wrong = nullptr;
    sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &wrong);
    ASSERT_EQ(wrong, nullptr) << wrong;
  }
  sqlite3_close(database);
}

/// A kernel that `thread` starts at `at`, with its correlation as its number.
std::string kernel(int number, const std::string& thread, const std::string& at, double begin,
                   double duration, const std::string& name) {
  return fmt::format(
      "INSERT INTO StringIds VALUES ({0}, '{5}');"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({2}, {2} + 9, 0, {1}, {0}, 0, 0, NULL);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({3}, {3} + {4}, 0, 1, 7, {0},"
      "  {1} - {1} % 16777216, {0}, {0}, {0}, 0, 0, 9, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, {0}, 0, 0, "
      "0);",
      number, thread, at, begin, duration, name);
}

/// A kernel of number + 1 microseconds in the middle of the ops of all steps that compute.
std::string kernels_of_ops() {
  constexpr std::string_view text =
      "(SELECT {} FROM NVTX_EVENTS WHERE text LIKE 'aten::{},%' "
      "ORDER BY start LIMIT 1 OFFSET {})";
  const auto of = [&](std::string_view column, std::string_view op, int i) {
    return fmt::format(fmt::runtime(text), column, op, i);
  };
  std::string rows;
  int number = 0;
  for (int step = 0; step < 3; ++step) {
    for (const auto& [op, calls] :
         std::vector<std::pair<std::string, int>>{{"mkldnn_convolution", 3},
                                                  {"native_batch_norm", 1},
                                                  {"clamp_min", 2},
                                                  {"max_pool2d_with_indices", 1},
                                                  {"add", 1},
                                                  {"sum", 1},
                                                  {"addmm", 2},
                                                  {"gelu", 1},
                                                  {"native_layer_norm", 1},
                                                  {"_softmax", 1}}) {
      for (int i = 0; i < calls; ++i, ++number) {
        rows +=
            kernel(number, of("globalTid", op, 0), of("(start + end) / 2", op, step * calls + i),
                   1e10 + 30'000 * number, 1000 * (1 + number % 14), "invented_" + op);
      }
    }
  }
  return rows;
}

TEST(NsightSystems, TimesAddUpAndOpsBecomeLayers) {
  const testing::temporary_directory directory;
  const std::string file = (directory.path() / "app.sqlite").string();
  write_export(file, kernels_of_ops());
  const imported net(file);
  EXPECT_EQ(net.log.library, "PyTorch");
  EXPECT_EQ(net.step.calls.size(), 14);
  EXPECT_EQ(net.step.place.steps, 2);
  EXPECT_NEAR(net.step.seconds, 105e-6, 1e-9);
  const json::value found = explained(file);
  EXPECT_NEAR(found.at("seconds_per_step"), 315e-6, 1e-9);
  // From the begin of the first kernel to the end of the last.
  EXPECT_NEAR(found.at("seconds_per_step").get<double>() +
                  found.at("between_seconds_per_step").get<double>(),
              41 * 30e-6 + 14e-6, 1e-9);
  EXPECT_EQ(found.at("gains").size(), 1);  // no vectors, no instruction set
  EXPECT_TRUE(net.model.unknown.empty());
  ASSERT_EQ(net.count("conv "), 3);
  EXPECT_EQ(net.count("activation kind:leaky"), 0);
  EXPECT_FALSE(net.model.has_types);
  const op::any& conv = *net.model.layers[0].op;
  EXPECT_EQ(conv.work(op::pass::fwd).macs, 64LL * 3 * 49 * 56 * 56);  // by the op that reads it
  const op::any& gemm = *net.model.layers[9].op;
  EXPECT_EQ(gemm.work(op::pass::fwd).macs, 63 * 256);
  EXPECT_EQ(json::write_fields(gemm.fields()).at("bias"), json::value(true));
  // The export has no types, so times in any type count, but not in two.
  const auto with = [&](const std::string& types) {
    std::string rows;
    for (const char type : types) {
      rows +=
          fmt::format(R"({}{{"name": "gemm/fwd/cublas/{}f16/a/gemm_1/batch:1/cache:hot",)"
                      R"("run_type": "iteration", "iterations": 1, "real_time": 7, "cpu_time": 7,)"
                      R"("time_unit": "ns", "label": "key={};algo=a;state=s"}})",
                      rows.empty() ? "" : ",", type == 'b' ? "b" : "", gemm.key());
    }
    const std::string results = (directory.path() / "r.json").string();
    std::ofstream(results) << R"({"context": {"layerbench_format": "1"}, "benchmarks": [)" << rows
                           << "]}";
    return testing::run(LAYERBENCH_TOOL, {"explain", file, results, "--format=json"});
  };
  const json::value measured = json::value::parse(with("f").out).at("calls")[9];
  EXPECT_NEAR(measured.at("seconds_here").at("hot").get<double>(), 7e-9, 1e-15);
  EXPECT_EQ(with("fb").exit_code, static_cast<int>(exit_code::bad_input));
}

TEST(NsightSystems, WorkBesideRangesIsListed) {
  const testing::temporary_directory directory;
  const std::string file = (directory.path() / "app.sqlite").string();
  const std::string thread = "(SELECT max(globalTid) FROM NVTX_EVENTS)";
  const std::string within = "(SELECT start + 1 FROM NVTX_EVENTS WHERE text LIKE 'aten::gelu,%')";
  write_export(file, kernel(1, thread, within, 1e6, 4000, "in") +
                         kernel(2, thread, "5", 2e6, 1000, "early") +
                         kernel(3, thread + " + 1", within, 3e6, 1000, "other thread") +
                         kernel(4, "77", within, 4e6, 1000, "\x1b[2J") +
                         "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, contextId, "
                         "streamId, correlationId, globalPid, bytes, copyKind) VALUES (5000000, "
                         "5001000, 0, 1, 7, 1, " +
                         thread + " & ~16777215, 8, 1);");
  const imported net(file);
  ASSERT_THAT(net.log.records, SizeIs(5));
  EXPECT_THAT(net.ops, ElementsAre(HasSubstr("gelu")));
  EXPECT_THAT(net.model.unknown, SizeIs(4));
  const testing::outcome lacks = testing::run(LAYERBENCH_TOOL, {"import", "verbose", file});
  EXPECT_EQ(lacks.exit_code, static_cast<int>(exit_code::incomplete));
  EXPECT_THAT(lacks.err, mentions("early", "other thread", "memcpy to device", "12.5 %", "50.0 %"));
  EXPECT_THAT(lacks.err, ::testing::Not(HasSubstr("\x1b")));
  write_export(file, "DELETE FROM NVTX_EVENTS;" + kernel(1, "5", "5", 1e6, 1000, "k"));
  EXPECT_THAT(tool::importer::read_log(file).notes, ElementsAre(HasSubstr("record_shapes")));
}

TEST(NsightSystems, BadFilesAreRefused) {
  const testing::temporary_directory directory;
  const std::string file = (directory.path() / "app.sqlite").string();
  const auto refused = [&] {
    const testing::outcome done = testing::run(LAYERBENCH_TOOL, {"explain", file});
    EXPECT_EQ(done.exit_code, static_cast<int>(exit_code::bad_input)) << done.out;
    EXPECT_THAT(done.err, HasSubstr("app.sqlite"));
    return done.err;
  };
  write_export(file, "");  // as it was on a machine without a GPU
  EXPECT_THAT(refused(), HasSubstr("--trace=cuda,nvtx"));
  write_export(file, kernels_of_ops() + "ALTER TABLE NVTX_EVENTS RENAME textId TO x;");
  EXPECT_THAT(refused(), HasSubstr("textId"));
  write_export(file,
               "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL "
               "AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n;");
  EXPECT_THAT(refused(), HasSubstr("--trace=cuda,nvtx"));
  std::ofstream(file) << "NVIDIA Tegra Profiler Report 1.";
  EXPECT_THAT(refused(), HasSubstr("nsys export"));
  write_export(file, kernels_of_ops());
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  std::mt19937 dice(7);
  int readable = 0;
  for (int i = 0; i < 60; ++i) {
    std::string damaged = text.str().substr(0, i % 4 == 0 ? dice() % text.str().size() : 1U << 30U);
    for (int changes = 0; changes < 40; ++changes) {
      if (damaged.size() > 16)
        damaged[16 + dice() % (damaged.size() - 16)] = static_cast<char>(dice());
    }
    std::ofstream(file, std::ios::binary) << damaged;
    try {
      const result::verbose_log log = tool::importer::read_log(file);
      EXPECT_FALSE(log.records.empty());
      ++readable;
      static_cast<void>(tool::importer::logged_model_of(log, result::step_of(log)));
    } catch (const bad_input&) {  // damaged where it matters
    }
  }
  EXPECT_GT(readable, 0);
}

#else

TEST(NsightSystems, SaysWhatIsMissing) {
  const testing::temporary_directory directory;
  const std::string file = (directory.path() / "app.sqlite").string();
  std::ofstream(file) << "SQLite format 3";
  const testing::outcome done = testing::run(LAYERBENCH_TOOL, {"explain", file});
  EXPECT_EQ(done.exit_code, 77);
  EXPECT_THAT(done.err, mentions("libsqlite3-dev"));
}

#endif

TEST(Trace, NoMutationCrashes) {
  std::mt19937 dice(7);
  const auto below = [&](std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(dice);
  };
  for (const char* name : {"onnxruntime_blocks.json", "pytorch.json"}) {
    const std::string original = text_of(name);
    for (int i = 0; i < 40; ++i) {
      std::string text = original;
      for (std::size_t changes = 1 + below(100); changes > 0; --changes) {
        const std::size_t at = below(text.size());
        // Digits keep most of the file readable.
        constexpr std::string_view junk = "0123456789";
        if (text[at] >= '0' && text[at] <= '9') text[at] = junk[below(junk.size())];
        if (below(50) == 0) text.insert(at, "99999999999");
        if (below(200) == 0) text[at] = "[]{}\",:"[below(7)];
      }
      if (below(4) == 0) text.erase(below(text.size()), below(300));
      try {
        const result::verbose_log log = trace_of(text);
        const result::verbose_step step = result::step_of(log);
        const logged_model model = tool::importer::logged_model_of(log, step);
        ASSERT_THAT(model.layers, SizeIs(step.calls.size()));
        const auto found = analysis::explain(log, step, model, {2, "avx512_core_amx"}, {});
        EXPECT_FALSE(analysis::text(found, 5).empty());
        EXPECT_TRUE(std::isfinite(found.remainder()));
      } catch (const bad_input&) {  // no event is left
      }
    }
  }
}

}  // namespace tools_log_test
}  // namespace layerbench
