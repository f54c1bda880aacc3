// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>

#include "support/golden.hpp"
#include "support/mentions.hpp"
#include "support/program.hpp"

namespace layerbench {
namespace tools_validate_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::mentions;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string& golden = testing::chain_file;

testing::outcome tool(const std::vector<std::string>& arguments) {
  return testing::run(LAYERBENCH_TOOL, arguments);
}

/// The example file with only those rows whose names begin with one of `names`.
json::value file_of(const std::vector<std::string>& names) {
  json::value file = json::value::parse(json::read_text(golden));
  json::value kept = json::value::array();
  for (const json::value& row : file["benchmarks"]) {
    for (const std::string& name : names) {
      if (row.at("name").get<std::string>().starts_with(name)) kept.push_back(row);
    }
  }
  file["benchmarks"] = kept;
  return file;
}

const std::vector<std::string> layers{"conv/", "activation/", "reorder/"};

TEST(Validate, ComparesPredictionsWithMeasuredSteps) {
  const testing::temporary_directory scratch;
  std::vector<std::string> names = layers;
  names.insert(names.end(), {"chain/inference/reference/f32/tiny/batch:2",
                             "chain/inference/reference/f32/small"});
  const std::string path = scratch.write("r.json", file_of(names).dump()).string();
  const testing::outcome text = tool({"validate", path});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(StartsWith("inference, reference f32"),
                              mentions("tiny", "small", "3.100", "3.125"),
                              mentions("-0.8 %", "-24.8 %", "~-30 %"), Not(HasSubstr("batch:4"))));
  const json::value form = json::value::parse(tool({"validate", path, "--format", "json"}).out);
  EXPECT_THAT(form.at("cases"), SizeIs(2));
  EXPECT_NEAR(form.at("mean_abs_error"), 0.154, 5e-4);
  EXPECT_NEAR(form.at("naive_mean_abs_error"), 0.274, 5e-4);
  EXPECT_THAT(tool({"validate", path, "--format", "csv"}).out, StartsWith("model,phase,"));
  const testing::outcome hot = tool({"validate", path, "--cache", "hot", "--format", "json"});
  EXPECT_NEAR(json::value::parse(hot.out).at("cases").at(0).at("error"), -0.248, 1e-9);
}

TEST(Validate, ExitsIncompleteAndNamesMissingLayers) {
  for (const std::string format : {"text", "json", "csv"}) {
    const testing::outcome done = tool({"validate", golden, "--format", format});
    EXPECT_EQ(done.exit_code, 4);
    EXPECT_THAT(done.err, mentions("inference/reference/f32/tiny/batch:4", "relu1"));
    EXPECT_THAT(done.out, mentions("inference/reference/f32/tiny/batch:4", "relu1"));
  }
}

TEST(Validate, NamesTheOptionThatMeasuresChains) {
  const testing::temporary_directory scratch;
  const std::string path = scratch.write("r.json", file_of(layers).dump()).string();
  const testing::outcome done = tool({"validate", path});
  EXPECT_EQ(done.exit_code, 5);
  EXPECT_THAT(done.err, mentions("bench_model", "--chain"));
}

TEST(Validate, RefusesAWrongCommandLine) {
  EXPECT_EQ(tool({"validate"}).exit_code, 2);
  EXPECT_EQ(tool({"validate", golden, "--model", "alexnet"}).exit_code, 5) << "no chain of it";
  EXPECT_EQ(tool({"validate", golden, "--model", "unheard_of"}).exit_code, 5);
  EXPECT_EQ(tool({"validate", golden, "--cache", "cold"}).exit_code, 2);
  EXPECT_EQ(tool({"validate", "/nowhere.json"}).exit_code, 3);
  EXPECT_THAT(tool({"validate", "--help"}).out,
              mentions("layerbench validate", "--cache", "--model"));
}

/// The example's steps as those of an engine, of a batch.
std::string engine_rows(const std::string& engine, int batch) {
  json::value file = file_of({"chain/inference/reference/f32/tiny/batch:2"});
  file["context"].erase("manifest");
  for (json::value& row : file["benchmarks"]) {
    for (const char* field : {"name", "run_name"}) {
      row[field] = "chain/inference/" + engine + "/f32/tiny/batch:" + std::to_string(batch);
    }
  }
  file["engine_layers"]["inference/torch/f32/tiny/batch:2"] = {
      {{"name", "a"}, {"type", "Conv"}, {"layers", {"conv1", "relu1"}}, {"seconds", 0.003}},
      {{"name", "b"}, {"type", "Relu"}, {"layers", {"other"}}, {"seconds", 0.0005}},
      {{"name", "c"}, {"type", "Reorder"}, {"layers", json::value::array()}, {"seconds", 0.0001}}};
  return file.dump();
}

TEST(Validate, HoldsPredictionsAgainstEngines) {
  const testing::temporary_directory scratch;
  const std::string ours = scratch.write("r.json", file_of(layers).dump()).string();
  const std::string torch = scratch.write("torch.json", engine_rows("torch", 2)).string();
  const std::string openvino = scratch.write("openvino.json", engine_rows("openvino", 2)).string();
  const std::vector<std::string> both{"validate", ours,  "--engine", torch + "," + openvino,
                                      "--model",  "tiny"};
  const testing::outcome text = tool(both);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out,
              mentions("torch ms", "openvino ms", "difference", "3.100", "3.125", "-0.8 %"));
  EXPECT_THAT(text.out, ::testing::Not(HasSubstr("mean error"))) << "the table has its only case";
  std::vector<std::string> arguments = both;
  arguments.insert(arguments.end(), {"--format", "json"});
  const json::value all = json::value::parse(tool(arguments).out);
  EXPECT_THAT(all.at("cases"), SizeIs(0));
  ASSERT_THAT(all.at("engines"), SizeIs(2));
  const json::value& first = all.at("engines").at(0);
  EXPECT_EQ(first.at("engine"), "torch");
  EXPECT_NEAR(first.at("bias"), -0.008, 1e-9);
  const json::value& pair = first.at("cases").at(0);
  EXPECT_EQ(pair.at("model"), "tiny");
  EXPECT_EQ(pair.at("batch"), 2);
  EXPECT_EQ(pair.at("threads"), 1);
  EXPECT_EQ(pair.at("backend"), "reference");
  EXPECT_DOUBLE_EQ(pair.at("measured_seconds"), 3.125e-3);
  EXPECT_NEAR(pair.at("error"), -0.008, 1e-9);
  arguments.back() = "csv";
  EXPECT_THAT(tool(arguments).out, AllOf(HasSubstr(",unvalidated,engine"), HasSubstr(",openvino")));
}

TEST(Validate, HoldsLayersAgainstTheProfileOfAnEngine) {
  const testing::temporary_directory scratch;
  json::value file = file_of(layers);
  const std::string unnamed = scratch.write("unnamed.json", file.dump()).string();
  json::value manifest = json::value::parse(file["context"]["manifest"].get<std::string>());
  json::value& calls = manifest["inference/reference/f32/tiny/batch:2"];
  calls[0][5]["layers"] = {"conv1", "conv2"};
  calls[1][5]["layers"] = {"relu1", "relu2", "relu3"};
  file["context"]["manifest"] = manifest.dump();
  const std::string ours = scratch.write("r.json", file.dump()).string();
  const std::string torch = scratch.write("torch.json", engine_rows("torch", 2)).string();
  const std::string other = scratch.write("other.json", engine_rows("openvino", 2)).string();
  const json::value all = json::value::parse(
      tool({"validate", ours, "--engine", torch + "," + other, "--format", "json"}).out);
  const json::value& pair = all.at("engines").at(0).at("cases").at(0);
  EXPECT_DOUBLE_EQ(pair.at("profile_seconds"), 0.0036);
  const json::value& conv = pair.at("ops").at(0);
  EXPECT_EQ(conv.at("op"), "conv");
  EXPECT_DOUBLE_EQ(conv.at("predicted_seconds"), 0.0024);
  EXPECT_DOUBLE_EQ(conv.at("engine_seconds"), 0.003);
  EXPECT_NEAR(conv.at("error"), -0.2, 1e-9);
  const json::value& layer = pair.at("layers").at(0);
  EXPECT_EQ(layer.at("kernel"), "conv");
  EXPECT_EQ(layer.at("calls"), 2);
  EXPECT_DOUBLE_EQ(layer.at("engine_seconds"), 0.003);
  const json::value& relu = pair.at("ops").at(1);
  EXPECT_EQ(relu.at("engine_seconds"), 0) << "the engine joins it to the convolution";
  EXPECT_TRUE(relu.at("error").is_null());
  EXPECT_THAT(pair.at("in_no_layer"), SizeIs(2));
  EXPECT_EQ(pair.at("in_no_layer").at(1).at("type"), "Reorder");
  EXPECT_FALSE(all.at("engines").at(1).at("cases").at(0).contains("ops")) << "no profile of it";
  EXPECT_THAT(tool({"validate", ours, "--engine", torch}).out,
              mentions("conv 2.400 / 3.000", "Reorder 0.1000", "by the profile of torch"));
  EXPECT_THAT(tool({"validate", unnamed, "--engine", torch}).out, mentions("no times by layer"));
}

TEST(Validate, SaysWhichLibrariesAnEngineUsesIfItsProfileNamesNoLayers) {
  const testing::temporary_directory scratch;
  const std::string ours = scratch.write("r.json", file_of(layers).dump()).string();
  json::value file = json::value::parse(engine_rows("torch", 2));
  const json::value none = json::value::array();
  file["engine_layers"]["inference/torch/f32/tiny/batch:2"] = {
      {{"name", "a"}, {"type", "oneDNN"}, {"layers", none}, {"seconds", 0.002}},
      {{"name", "b"}, {"type", "MKL"}, {"layers", none}, {"seconds", 0.0005}},
      {{"name", "c"}, {"type", "oneDNN"}, {"layers", none}, {"seconds", 0.0001}}};
  const std::string torch = scratch.write("torch.json", file.dump()).string();
  const json::value all =
      json::value::parse(tool({"validate", ours, "--engine", torch, "--format", "json"}).out);
  const json::value& pair = all.at("engines").at(0).at("cases").at(0);
  EXPECT_DOUBLE_EQ(pair.at("profile_seconds"), 0.0026);
  EXPECT_EQ(pair.at("in_no_layer").at(0).at("type"), "oneDNN");
  EXPECT_DOUBLE_EQ(pair.at("in_no_layer").at(0).at("seconds"), 0.0021);
  EXPECT_FALSE(pair.contains("ops")) << "they have no times";
  EXPECT_THAT(tool({"validate", ours, "--engine", torch}).out,
              mentions("oneDNN 2.100, MKL 0.5000", "83 % of its step"));
}

TEST(Validate, RefusesAWrongProfileOfAnEngine) {
  const testing::temporary_directory scratch;
  const std::string ours = scratch.write("r.json", file_of(layers).dump()).string();
  json::value file = json::value::parse(engine_rows("torch", 2));
  const std::string at = "/engine_layers/inference~1torch~1f32~1tiny~1batch:2";
  json::value& nodes = file["engine_layers"]["inference/torch/f32/tiny/batch:2"];
  const auto expect_refused = [&](const std::string& place) {
    const std::string path = scratch.write("torch.json", file.dump()).string();
    const testing::outcome done = tool({"validate", ours, "--engine", path});
    EXPECT_EQ(done.exit_code, 3);
    EXPECT_THAT(done.err, HasSubstr(place));
  };
  nodes[1].erase("seconds");
  expect_refused(at + "/1");
  nodes[1]["seconds"] = "long";
  expect_refused(at + "/1/seconds");
  nodes = 3;
  expect_refused(at);
  file["engine_layers"] = "none";
  expect_refused("/engine_layers");
}

TEST(Validate, KeepsTheOwnStepsBesideThoseOfEngines) {
  const testing::temporary_directory scratch;
  const std::string torch = scratch.write("torch.json", engine_rows("torch", 2)).string();
  const testing::outcome done = tool({"validate", golden, "--engine", torch, "--format", "json"});
  EXPECT_EQ(done.exit_code, 4) << "a chain of the example lacks layers";
  const json::value all = json::value::parse(done.out);
  json::value own = json::value::parse(tool({"validate", golden, "--format", "json"}).out);
  EXPECT_FALSE(own.contains("engines"));
  own["engines"] = all.at("engines");
  EXPECT_EQ(all, own);
}

TEST(Validate, ExitsIncompleteIfAnEngineHasNoPrediction) {
  const testing::temporary_directory scratch;
  const std::string ours = scratch.write("r.json", file_of(layers).dump()).string();
  const std::string other = scratch.write("torch.json", engine_rows("torch", 3)).string();
  const testing::outcome done = tool({"validate", ours, "--engine", other});
  EXPECT_EQ(done.exit_code, 4);
  EXPECT_THAT(done.err, mentions("inference/torch/f32/tiny/batch:3", "no prediction"));
  json::value elsewhere = json::value::parse(engine_rows("torch", 2));
  elsewhere["context"]["device"] = "another";
  const std::string file = scratch.write("elsewhere.json", elsewhere.dump()).string();
  EXPECT_EQ(tool({"validate", ours, "--engine", file}).exit_code, 4);
  EXPECT_EQ(tool({"validate", ours, "--engine", ours}).exit_code, 5) << "no chain";
  EXPECT_EQ(tool({"validate", ours, "--engine", "/nowhere.json"}).exit_code, 3);
}

TEST(Predict, NeverReadsChains) {
  const testing::temporary_directory scratch;
  const auto predicted = [&](const json::value& file) {
    const std::string path = scratch.write("r.json", file.dump()).string();
    const testing::outcome done = tool({"predict", path, "--format", "json"});
    EXPECT_EQ(done.exit_code, 4);
    return done.out;
  };
  const json::value whole = json::value::parse(json::read_text(golden));
  EXPECT_EQ(predicted(whole), predicted(file_of(layers)));
}

TEST(Predict, SelectsThePhase) {
  EXPECT_EQ(tool({"predict", golden, "--model", "tiny", "--phase", "inference"}).out,
            tool({"predict", golden, "--model", "tiny"}).out);
  const testing::outcome none = tool({"predict", golden, "--phase", "training"});
  EXPECT_EQ(none.exit_code, 5);
  EXPECT_THAT(none.err, mentions("inference/reference/f32/small/batch:2"));
}

TEST(Predict, PrintsThePredictionAndTheNaiveHotSum) {
  const testing::outcome done = tool({"predict", golden, "--model", "tiny"});
  EXPECT_THAT(done.out, AllOf(mentions("3.100 ms", "95 %", "2.350 ms", "24.2 %"), HasSubstr("+-"),
                              HasSubstr("sum of cache:model timings")));
  const testing::outcome hot = tool({"predict", golden, "--model", "tiny", "--cache", "hot"});
  EXPECT_THAT(hot.out,
              AllOf(mentions("2.350 ms"), HasSubstr("naive hot sum"), Not(HasSubstr("24.2 %"))));
}

/// A file with the overhead of an engine for the example's cases.
json::value overhead_file(const std::string& engine, const std::string& cache = "model") {
  json::value file = file_of({});
  file["context"].erase("manifest");
  file["engine_overheads"] = {{{"engine", engine},
                               {"backend", "reference"},
                               {"dtype", "f32"},
                               {"threads", 1},
                               {"parameters", json::value::object()},
                               {"cache", cache},
                               {"call_seconds", 1e-4},
                               {"step_seconds", 0.002}}};
  return file;
}

TEST(Validate, AddsTheOverheadsOfEngines) {
  const testing::temporary_directory scratch;
  const std::string ours = scratch.write("r.json", file_of(layers).dump()).string();
  const std::string torch = scratch.write("torch.json", engine_rows("torch", 2)).string();
  const std::string overhead = scratch.write("o.json", overhead_file("torch").dump()).string();
  const testing::outcome done = tool(
      {"validate", ours, "--engine", torch, "--engine-overhead", overhead, "--format", "json"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const json::value engines = json::value::parse(done.out).at("engines");
  const json::value& pair = engines.at(0).at("cases").at(0);
  EXPECT_NEAR(pair.at("predicted_seconds"), 5.6e-3, 1e-9);
  EXPECT_NEAR(pair.at("overhead_seconds"), 2.5e-3, 1e-9);
  EXPECT_NEAR(pair.at("error"), 5.6 / 3.125 - 1, 1e-9);
  const std::string openvino = scratch.write("openvino.json", engine_rows("openvino", 2)).string();
  const testing::outcome other =
      tool({"validate", ours, "--engine", openvino, "--engine-overhead", overhead});
  EXPECT_EQ(other.exit_code, 4);
  EXPECT_THAT(other.err, HasSubstr("no overhead of openvino for reference/f32/threads:1"));
  EXPECT_EQ(tool({"validate", ours, "--engine-overhead", overhead}).exit_code, 2);
}

TEST(Predict, AddsTheOverheadOfAnEngine) {
  const testing::temporary_directory scratch;
  const std::string overhead = scratch.write("o.json", overhead_file("openvino").dump()).string();
  const std::vector<std::string> arguments{"predict", golden,     "--model",           "tiny",
                                           "--as",    "openvino", "--engine-overhead", overhead};
  EXPECT_THAT(tool(arguments).out,
              mentions("5.600 ms", "layers: 3.100 ms", "openvino: 5 calls, 100.00 us", "2000.00"));
  std::vector<std::string> as_json = arguments;
  as_json.insert(as_json.end(), {"--format", "json"});
  const json::value all = json::value::parse(tool(as_json).out);
  const json::value& one = all.at("predictions").at(0);
  EXPECT_NEAR(one.at("overhead_seconds"), 2.5e-3, 1e-9);
  EXPECT_EQ(one.at("engine").at("name"), "openvino");
  EXPECT_EQ(one.at("engine").at("calls"), 5);
}

TEST(Predict, AddsTheTimeOfNewMemoryForLargeResults) {
  const testing::temporary_directory scratch;
  json::value ours = file_of(layers);
  json::value manifest = json::value::parse(ours["context"]["manifest"].get<std::string>());
  manifest.erase("inference/reference/f32/tiny/batch:4");  // not measured as a whole
  json::value& step = manifest["inference/reference/f32/tiny/batch:2"];
  // Operands: bytes, distance, whether written. The convolution, of two calls, has a large result;
  // the relu is in place, and the reorder was inserted.
  step[0][5]["moves"] = {{1536, 0, 0}, {432, 0, 0}, {2048, 0, 1}};
  step[1][5]["moves"] = json::value::array({{2048, 0, 1}});
  step[2][5]["moves"] = {{2048, 0, 0}, {2048, 0, 1}};
  json::value overhead = overhead_file("torch");
  json::value& known = overhead["engine_overheads"][0];
  known["large_byte_seconds"] = 1e-6;
  const std::string torch = scratch.write("torch.json", engine_rows("torch", 2)).string();
  const auto with_overhead = [&](std::vector<std::string> arguments) {
    ours["context"]["manifest"] = manifest.dump();
    arguments.push_back(scratch.write("r.json", ours.dump()).string());
    arguments.insert(arguments.end(), {"--model", "tiny", "--engine-overhead"});
    arguments.push_back(scratch.write("o.json", overhead.dump()).string());
    return tool(arguments);
  };
  const auto predicted = [&](std::int64_t large_bytes) {
    known["large_bytes"] = large_bytes;
    return with_overhead({"predict", "--as", "torch", "--format", "json"});
  };
  const auto overhead_of = [](const testing::outcome& done, const char* list) {
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return json::value::parse(done.out).at(list).at(0);
  };
  constexpr double tiny = 2.5e-3;
  constexpr double large = 2 * 2048e-6;
  EXPECT_NEAR(overhead_of(predicted(2049), "predictions").at("overhead_seconds"), tiny, 1e-9);
  const json::value one = overhead_of(predicted(2048), "predictions");
  EXPECT_EQ(one.at("engine").at("large_result_bytes"), 2 * 2048);
  EXPECT_NEAR(one.at("overhead_seconds"), tiny + large, 1e-9);
  EXPECT_THAT(with_overhead({"predict", "--as", "torch"}).out, mentions("4.096 ms", "4.10 kB"));
  const json::value pair =
      overhead_of(with_overhead({"validate", "--engine", torch, "--format", "json"}), "engines");
  EXPECT_NEAR(pair.at("cases").at(0).at("overhead_seconds"), tiny + large, 1e-9);

  step[1][3] = "kind:gelu,dims:2x4x8x8";  // PyTorch has none in place
  for (json::value& row : ours["benchmarks"]) {
    std::string label = row.at("label");
    const std::size_t relu = label.find("kind:relu,dims:2x4x8x8");
    if (relu != std::string::npos) row["label"] = label.replace(relu, 9, "kind:gelu");
  }
  EXPECT_EQ(overhead_of(predicted(2048), "predictions").at("engine").at("large_result_bytes"),
            (2 + 3) * 2048);
  step[1][5].erase("moves");
  const testing::outcome unknown = predicted(2048);
  EXPECT_EQ(unknown.exit_code, 5);
  EXPECT_THAT(unknown.err, HasSubstr("how large"));

  EXPECT_EQ(predicted(-1).exit_code, 3);
  known.erase("large_byte_seconds");
  EXPECT_EQ(predicted(2048).exit_code, 3);
}

TEST(Predict, AddsWhatTheKernelsOfAnEngineTakeLonger) {
  const testing::temporary_directory scratch;
  json::value file = overhead_file("torch");
  json::value& factors = file["engine_overheads"][0]["kernel_factors"];
  factors = {{"activation_relu", 4}, {"conv", 0.5}, {"pool_max", 9}};
  const auto predicted = [&](const char* format) {
    return tool({"predict", golden, "--model", "tiny", "--as", "torch", "--engine-overhead",
                 scratch.write("o.json", file.dump()).string(), "--format", format});
  };
  const json::value one = json::value::parse(predicted("json").out).at("predictions").at(0);
  // Two convolutions take 2.4 ms, three activations 0.6 ms.
  const json::value& kernels = one.at("engine").at("kernel_seconds");
  EXPECT_THAT(kernels, SizeIs(2)) << kernels;
  EXPECT_NEAR(kernels.at("activation_relu"), 3 * 0.6e-3, 1e-9);
  EXPECT_NEAR(kernels.at("conv"), -0.5 * 2.4e-3, 1e-9);
  EXPECT_NEAR(one.at("overhead_seconds"), 2.5e-3 + 1.8e-3 - 1.2e-3, 1e-9);
  EXPECT_THAT(predicted("text").out,
              AllOf(HasSubstr("activation_relu +1.800"), HasSubstr("conv -1.200")));

  for (const json::value& wrong : {json::value(0), json::value("fast"), json::value(-1)}) {
    factors["pool_max"] = wrong;
    EXPECT_EQ(predicted("text").exit_code, 3) << wrong;
  }
  factors = json::value::array({1.5});
  EXPECT_EQ(predicted("text").exit_code, 3);
}

TEST(Predict, HasNoFactorsForCallsOfALibraryThatTheFusionPlanNames) {
  const testing::temporary_directory scratch;
  json::value file = overhead_file("torch");
  file["engine_overheads"][0]["kernel_factors"] = {{"activation_relu", 4}, {"conv", 0.5}};
  std::string ours = file_of(layers).dump();
  constexpr std::string_view key = "n:2,c:3,h:8,w:8,k:4,r:3,s:3,pad:1";
  for (std::size_t at = 0; (at = ours.find(key, at)) != std::string::npos; at += key.size())
    ours.insert(at + key.size(), ",backend:mkl");
  const testing::outcome done =
      tool({"predict", scratch.write("r.json", ours).string(), "--model", "tiny", "--as", "torch",
            "--engine-overhead", scratch.write("o.json", file.dump()).string(), "--format=json"});
  const json::value one = json::value::parse(done.out).at("predictions").at(0);
  EXPECT_EQ(testing::keys(one.at("engine").at("kernel_seconds")),
            std::set<std::string>{"activation_relu"});
}

TEST(Predict, SaysWhereAnEngineHasAnotherOneDnn) {
  const testing::temporary_directory scratch;
  json::value timed = file_of(layers);
  timed["context"]["onednn_version"] = "3.2.1";
  const std::string ours = scratch.write("r.json", timed.dump()).string();
  const auto file_with = [&](json::value engine, const char* own) {
    engine["context"].update({{"torch_version", "2.15.0"}, {"torch_onednn_version", own}});
    return scratch.write("e.json", engine.dump()).string();
  };
  const auto says = [&](const char* own, const char* engine = "torch") {
    const testing::outcome done =
        tool({"predict", ours, "--model", "small", "--as", engine, "--engine-overhead",
              file_with(overhead_file(engine, "hot"), own)});
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return done.err;
  };
  EXPECT_THAT(says("3.13.3"), mentions("torch 2.15.0", "3.13.3", "3.2.1"));
  EXPECT_THAT(says("3.2.1"), Not(HasSubstr("3.2.1")));
  EXPECT_THAT(says("3.13.3", "openvino"), Not(HasSubstr("3.2.1"))) << "of another engine";
  const auto validated = [&](const char* own) {
    const testing::outcome done =
        tool({"validate", ours, "--engine",
              file_with(json::value::parse(engine_rows("torch", 2)), own)});
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return done.err;
  };
  EXPECT_THAT(validated("3.13.3"), mentions("torch 2.15.0", "3.13.3", "3.2.1"));
  EXPECT_THAT(validated("3.2.1"), Not(HasSubstr("3.2.1")));
}

TEST(Predict, RefusesOverheadsOfOtherConditions) {
  const testing::temporary_directory scratch;
  const std::string ours = scratch.write("r.json", file_of(layers).dump()).string();
  const auto predicted = [&](const json::value& file) {
    const std::string path = scratch.write("o.json", file.dump()).string();
    return tool(
        {"predict", ours, "--model", "small", "--as", "openvino", "--engine-overhead", path});
  };
  EXPECT_EQ(predicted(overhead_file("openvino", "hot")).exit_code, 0);
  const testing::outcome other = predicted(overhead_file("torch", "hot"));
  EXPECT_EQ(other.exit_code, 5);
  EXPECT_THAT(other.err, HasSubstr("torch reference/f32/threads:1/cache:hot on example CPU"));
  json::value file = overhead_file("openvino", "hot");
  file["context"]["device"] = "another";
  EXPECT_EQ(predicted(file).exit_code, 5);
  const auto with = [&](const char* field, const json::value& value) {
    json::value changed = overhead_file("openvino", "hot");
    changed["engine_overheads"][0][field] = value;
    return predicted(changed);
  };
  EXPECT_THAT(with("parameters", {{"memory", "reused"}}).err, HasSubstr("memory:reused"));
  EXPECT_EQ(with("parameters", {{"memory", "reused"}}).exit_code, 5);
  EXPECT_EQ(with("cache", "model").exit_code, 5);
  EXPECT_EQ(with("threads", 2).exit_code, 5);
  EXPECT_EQ(with("parameters", {{"memroy", "reused"}}).exit_code, 3);
  for (const json::value& wrong : {json::value(1.5), json::value(0), json::value(1e300)}) {
    EXPECT_EQ(with("threads", wrong).exit_code, 3) << wrong;
  }
  file = overhead_file("openvino", "hot");
  file["engine_overheads"][0].erase("call_seconds");
  EXPECT_EQ(predicted(file).exit_code, 3);
  file.erase("engine_overheads");
  EXPECT_EQ(predicted(file).exit_code, 3);
  EXPECT_EQ(tool({"predict", golden, "--as", "openvino"}).exit_code, 2);
  EXPECT_EQ(tool({"predict", golden, "--engine-overhead", "o.json"}).exit_code, 2);
}

TEST(Predict, AddsAFrameworksOverheadAsASeparateTerm) {
  const std::vector<std::string> costs{"--overhead-per-layer=1e-4", "--overhead-per-step=0.002"};
  std::vector<std::string> arguments{"predict", golden, "--model", "tiny"};
  arguments.insert(arguments.end(), costs.begin(), costs.end());
  EXPECT_THAT(tool(arguments).out, mentions("5.600 ms", "3.100 ms", "2.500 ms"));
  arguments.insert(arguments.end(), {"--format", "json"});
  const json::value tiny = json::value::parse(tool(arguments).out).at("predictions").at(0);
  EXPECT_DOUBLE_EQ(tiny.at("overhead_seconds"), 2.5e-3);
  EXPECT_DOUBLE_EQ(tiny.at("layers_seconds"), 3.1e-3);
  EXPECT_DOUBLE_EQ(tiny.at("seconds_per_step"), 5.6e-3);
  for (const std::string wrong : {"-1", "nan", "inf", "2ms", "", "1e7"}) {
    const testing::outcome done = tool({"predict", golden, "--overhead-per-step=" + wrong});
    EXPECT_EQ(done.exit_code, 2) << wrong;
    EXPECT_THAT(done.err, HasSubstr("--overhead-per-step"));
  }
}

}  // namespace tools_validate_test
}  // namespace layerbench
