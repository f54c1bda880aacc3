// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "support/golden.hpp"
#include "support/mentions.hpp"
#include "support/program.hpp"
#include "support/scaling.hpp"

namespace layerbench {
namespace tools_scaling_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::mentions;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// Result files of LeNet-5 training.
class PredictDevices : public ::testing::Test {
 protected:
  testing::temporary_directory scratch;
  std::string measured = scratch.write("r.json", testing::training_results({16, 8})).string();
};

/// `layerbench predict` with these arguments.
testing::outcome predict(std::vector<std::string> words) {
  words.insert(words.begin(), "predict");
  return testing::run(LAYERBENCH_TOOL, words);
}

/// Arguments for a given throughput, without result files, and further ones.
std::vector<std::string> given(const std::vector<std::string>& more) {
  std::vector<std::string> words{"--throughput", "219", "--model",   "resnet50",
                                 "--batch",      "64",  "--network", "dgx1_p100"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

json::value json_of(std::vector<std::string> words) {
  words.insert(words.end(), {"--format", "json"});
  const testing::outcome done = predict(words);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  return json::value::parse(done.out);
}

TEST_F(PredictDevices, KnowsWhatATrainingTakesAndCosts) {
  const std::vector<std::string> run{measured, "--epochs",         "3",  "--images",
                                     "100",    "--price-per-hour", "2.5"};
  const json::value all = json_of(run);
  ASSERT_EQ(all.at("training_runs").size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const json::value& item = all.at("training_runs")[i];
    const json::value& of = all.at("predictions")[i];
    EXPECT_EQ(item.at("steps"), i == 0 ? 3 * 7 : 3 * 13) << "the last batch of an epoch is a step";
    const double hours = item.at("hours").at("value");
    const double seconds = of.at("seconds_per_step");
    EXPECT_NEAR(hours, seconds * item.at("steps").get<double>() / 3600, 1e-12);
    EXPECT_LE(item.at("hours").at("low"), hours);
    EXPECT_GE(item.at("hours").at("high"), hours);
    EXPECT_NEAR(item.at("price").at("value"), 2.5 * hours, 1e-12);
  }
  EXPECT_THAT(predict(run).out, ::testing::HasSubstr("batch:16"));
  EXPECT_FALSE(json_of({measured}).contains("training_runs"));
}

TEST_F(PredictDevices, RefusesATrainingOfWhichTooLittleIsKnown) {
  EXPECT_EQ(predict({measured, "--epochs", "3"}).exit_code, 2);
  EXPECT_EQ(predict({measured, "--price-per-hour", "3"}).exit_code, 2);
  EXPECT_EQ(predict({measured, "--epochs", "0", "--images", "9"}).exit_code, 2);
  EXPECT_EQ(predict({measured, "--epochs", "1", "--images", "9", "--format", "csv"}).exit_code, 2);
  EXPECT_EQ(
      predict({testing::tiny_file, "--model", "small", "--epochs", "1", "--images", "9"}).exit_code,
      5)
      << "it has no training";
}

TEST_F(PredictDevices, NamesPartialModels) {
  json::value changed = json::value::parse(testing::training_results({16}));
  json::value steps =
      json::value::parse(changed["context"]["manifest"].get_ref<const std::string&>());
  for (json::value& step : steps) {
    json::value& first = step.at(0);
    if (first.size() < 6) first.push_back(json::value::object());
    first.at(5)["left_out"] = 0.1;
  }
  changed["context"]["manifest"] = steps.dump();
  const std::string partial = scratch.write("partial.json", changed.dump()).string();
  for (const char* trace : {"", "t.json"}) {
    std::vector<std::string> words{partial, "--devices", "2", "--network", "dgx1_p100"};
    if (*trace != 0) words.insert(words.end(), {"--trace", (scratch.path() / trace).string()});
    const testing::outcome done = predict(words);
    EXPECT_EQ(done.exit_code, 4);
    EXPECT_THAT(done.err, mentions("lenet5", "partial"));
  }
  const testing::outcome run = predict({partial, "--epochs", "1", "--images", "10"});
  EXPECT_THAT(run.out, HasSubstr("| not all layers |"));
}

TEST_F(PredictDevices, SaysWhatToMeasureWhereThereIsNoTraining) {
  const testing::outcome done =
      predict({testing::tiny_file, "--devices", "2", "--network", "ethernet_25"});
  EXPECT_EQ(done.exit_code, 5);
  EXPECT_THAT(done.err, mentions("--devices", "bench_model", "--phase=training"));
}

TEST_F(PredictDevices, AdvisesTheModelAsItWasGiven) {
  const std::string mine = scratch.path() / "mine.json";
  json::value graph =
      json::value::parse(json::read_text(LAYERBENCH_SHAPES_DIR "/models/lenet5.json"));
  std::ofstream(mine) << graph.dump();
  const testing::outcome done = predict({measured, "--model", mine, "--devices", "8", "--network",
                                         "ethernet_25", "--scaling", "strong"});
  EXPECT_EQ(done.exit_code, 4);
  EXPECT_THAT(done.err, HasSubstr("--model=" + mine));
}

TEST_F(PredictDevices, FindsTheShapeFileThatTheResultsName) {
  json::value graph =
      json::value::parse(json::read_text(LAYERBENCH_SHAPES_DIR "/models/lenet5.json"));
  graph["name"] = "mine";
  const std::string path = scratch.path() / "mine.json";
  std::ofstream(path) << graph.dump();
  std::string text = json::read_text(measured);
  for (std::size_t at = 0; (at = text.find("lenet5", at)) != std::string::npos;) {
    text.replace(at, 6, "mine");
  }
  json::value results = json::value::parse(text);
  const auto predicted = [&](const std::string& paths) {
    results["context"]["shape_files"] = paths;
    return predict({scratch.write("m.json", results.dump()).string(), "--devices", "2", "--network",
                    "ethernet_25"})
        .exit_code;
  };
  EXPECT_EQ(predicted(path), 0);
  EXPECT_EQ(predicted("/elsewhere/other.json," + path), 0);
  EXPECT_EQ(predicted("/elsewhere/mine.json"), 5);
}

std::vector<int> devices_of(const json::value& prediction) {
  std::vector<int> all;
  for (const json::value& value : prediction.at("data_parallel").at("steps")) {
    all.push_back(value.at("devices"));
  }
  return all;
}

TEST_F(PredictDevices, OfOneIsThePlainPrediction) {
  const json::value plain = json_of({measured}).at("predictions").at(0);
  const json::value all = json_of({measured, "--devices", "1,2,4", "--network", "ethernet_25"});
  ASSERT_THAT(all.at("predictions"), SizeIs(2));
  const json::value& result = all.at("predictions").at(0);
  EXPECT_EQ(result.at("seconds_per_step"), plain.at("seconds_per_step"));
  const json::value& steps = result.at("data_parallel").at("steps");
  ASSERT_THAT(steps, SizeIs(3));
  EXPECT_EQ(steps.at(0).at("seconds_per_step"), plain.at("seconds_per_step"));
  EXPECT_EQ(steps.at(0).at("seconds_low"), plain.at("seconds_low"));
  EXPECT_EQ(steps.at(0).at("efficiency"), 1);
  EXPECT_EQ(steps.at(2).at("global_batch"), 4 * result.at("batch").get<int>());
  EXPECT_GT(steps.at(1).at("exposed_seconds"), 0);
  EXPECT_LT(steps.at(1).at("efficiency"), 1);
  EXPECT_THAT(result.at("data_parallel").at("buckets"), SizeIs(2));
}

TEST_F(PredictDevices, DividesTheLargestBatchInStrongScaling) {
  const std::vector<std::string> words{measured, "--devices", "1,2",        "--scaling",
                                       "strong", "--network", "ethernet_25"};
  const json::value all = json_of(words);
  ASSERT_THAT(all.at("predictions"), SizeIs(1));
  const json::value& steps = all.at("predictions").at(0).at("data_parallel").at("steps");
  EXPECT_EQ(steps.at(0).at("batch"), 16);
  EXPECT_EQ(steps.at(1).at("batch"), 8);
  EXPECT_EQ(steps.at(1).at("global_batch"), 16);
}

TEST_F(PredictDevices, UsesMeasuredAllReducesAsANetwork) {
  const std::string two =
      scratch.write("n2.json", testing::reduced_text(2, {1'000, 10'000'000})).string();
  const std::string eight =
      scratch.write("n8.json", testing::reduced_text(8, {1'000, 10'000'000})).string();
  const json::value result =
      json_of({measured, "--devices", "2,4,8", "--network", two + ',' + eight})
          .at("predictions")
          .at(0);
  const json::value& steps = result.at("data_parallel").at("steps");
  double bytes = 0;
  for (const json::value& value : result.at("data_parallel").at("buckets")) {
    bytes += value.at("bytes").get<double>();
  }
  EXPECT_NEAR(steps.at(0).at("communication_seconds").get<double>(), 1e-8 * bytes, 1e-14 * bytes);
  EXPECT_FALSE(steps.at(0).at("extrapolated"));
  EXPECT_TRUE(steps.at(1).at("extrapolated"));
  EXPECT_FALSE(steps.at(2).at("extrapolated"));
  EXPECT_EQ(result.at("data_parallel").at("network").at("measured"), json::value::array({2, 8}));
}

TEST_F(PredictDevices, OfAThroughputNeedsNoResults) {
  const json::value result = json_of(given({"--devices", "8"})).at("predictions").at(0);
  EXPECT_EQ(result.at("backend"), "given");
  EXPECT_NEAR(result.at("images_per_second").get<double>(), 219, 1e-9);
  const json::value& step = result.at("data_parallel").at("steps").at(0);
  EXPECT_GT(step.at("images_per_second").get<double>(), 7 * 219);
  EXPECT_LE(step.at("images_per_second").get<double>(), 8 * 219);
  for (const char* bound : {"seconds_low", "seconds_high"}) {
    EXPECT_TRUE(step.at(bound).is_null()) << "a given throughput has no interval";
  }
}

TEST_F(PredictDevices, ContinuesListsByFactorsOrSteps) {
  const auto of = [](const std::string& text) {
    return devices_of(json_of({"--throughput", "1", "--model", "lenet5", "--network",
                               "infiniband_100", "--devices", text})
                          .at("predictions")
                          .at(0));
  };
  EXPECT_THAT(of("1,2,4,...,32"), ::testing::ElementsAre(1, 2, 4, 8, 16, 32));
  EXPECT_THAT(of("8,16,...,64"), ::testing::ElementsAre(8, 16, 32, 64));
  EXPECT_THAT(of("2,4,6,...,10,64"), ::testing::ElementsAre(2, 4, 6, 8, 10, 64));
  EXPECT_THAT(of("1,2,3,...,4096"), SizeIs(4096));
}

TEST_F(PredictDevices, HasTextAndCsv) {
  EXPECT_THAT(predict(given({"--devices", "1,8"})).out,
              AllOf(mentions("resnet50", "training", "given", "f32", "64", "219.0 images/s"),
                    mentions("dgx1_p100", "102 MB", "--contention"), HasSubstr("\n|       1 |"),
                    HasSubstr("\n|       8 |")));
  const std::string csv = predict(given({"--devices", "1,8", "--format", "csv"})).out;
  EXPECT_THAT(csv, StartsWith("model,backend,dtype,case,network,scaling,contention,devices,"));
  EXPECT_EQ(std::ranges::count(csv, '\n'), 3);
}

TEST_F(PredictDevices, ContentionSlowsTheStepDown) {
  const auto seconds = [](const std::vector<std::string>& more) -> double {
    return json_of(given(more))
        .at("predictions")
        .at(0)
        .at("data_parallel")
        .at("steps")
        .at(0)
        .at("seconds_per_step");
  };
  EXPECT_GT(seconds({"--devices", "8", "--contention", "1.2"}), seconds({"--devices", "8"}));
}

TEST_F(PredictDevices, WritesATimelineOfOneStep) {
  const std::string file = (scratch.path() / "t.json").string();
  ASSERT_EQ(predict(given({"--devices", "8", "--trace", file})).exit_code, 0);
  const json::value trace = json::value::parse(json::read_text(file));
  double end = 0;
  double sent = 0;
  for (const json::value& value : trace.at("traceEvents")) {
    if (value.at("ph") != "X") continue;
    EXPECT_GE(value.at("dur").get<double>(), 0);
    end = std::max(end, value.at("ts").get<double>() + value.at("dur").get<double>());
    if (value.at("cat") == "all-reduce") sent += value.at("args").at("bytes").get<double>();
  }
  const double seconds = trace.at("otherData").at("seconds_per_step");
  EXPECT_NEAR(end, 1e6 * seconds, 1e-6 * end);
  EXPECT_EQ(sent, 102'228'128);
}

struct wrong_line {
  std::vector<std::string> words;
  int code;
  std::vector<std::string> named;
};

TEST_F(PredictDevices, RefusesWrongOptions) {
  const std::string file = (scratch.path() / "t.json").string();
  const std::vector<wrong_line> wrong{
      {{measured, "--devices", "2"}, 2, {"--network", "dgx1_p100"}},
      {{measured, "--devices", "2", "--network", "nowhere"}, 5, {"nowhere", "dgx1_p100"}},
      {{measured, "--devices", "2", "--network", "/nowhere.json"}, 3, {"/nowhere.json"}},
      {{measured, "--devices", "2", "--network", measured}, 3, {measured}},
      {{measured, "--devices", "2", "--network", "dgx1_p100,dgx_a100"}, 3, {"dgx1_p100"}},
      {{measured, "--network", "dgx1_p100"}, 2, {"--devices"}},
      {{measured, "--devices", "2", "--network", "dgx1_p100", "--peaks", "/nowhere.json"},
       3,
       {"/nowhere.json"}},
      {given({"--devices", "2", "--peaks", measured}), 2, {"--peaks"}},
      {{measured, "--devices", "2", "--network", "dgx1_p100", "--phase", "inference"},
       2,
       {"--devices", "training"}},
      {{measured, "--devices", "4", "--network", "dgx1_p100", "--scaling", "strong"},
       4,
       {"--batch=4"}},
      {{measured, "--devices", "2", "--network", "dgx1_p100", "--throughput", "3"},
       2,
       {"--throughput"}},
      {given({"--devices", "9"}), 2, {"dgx1_p100", "8", "9"}},
      {given({"--devices", "0"}), 2, {"--devices", "0"}},
      {{measured, "--devices", "2", "--network", "dgx1_p100", "--all"}, 2, {"--all"}},
      {{measured, "--devices", "", "--network", "dgx1_p100"}, 2, {"--devices"}},
      {{"--throughput", "1e-300", "--model", "lenet5", "--network", "pcie3", "--devices", "2"},
       2,
       {"--throughput", "1e-9"}},
      {given({"--devices", "1,,2"}), 2, {"--devices", "1,,2"}},
      {given({"--devices", "1,...,8"}), 2, {"--devices", "1,...,8"}},
      {given({"--devices", "1,2,...,7"}), 2, {"--devices", "1,2,...,7"}},
      {given({"--devices", "2,3,...,7"}), 2, {"--devices", "2,3,...,7"}},
      {given({"--devices", "1,2,..."}), 2, {"--devices", "1,2,..."}},
      {given({"--devices", "8", "--contention", "0.9"}), 2, {"--contention", "0.9"}},
      {given({"--devices", "8", "--dtype", "f31"}), 2, {"f31"}},
      {given({"--devices", "8", "--scaling", "strong"}), 2, {"--scaling", "--throughput"}},
      {given({"--devices", "8", "--dtype", "s8"}), 2, {"--dtype", "s8"}},
      {given({"--devices", "8", "--format", "bmf"}), 2, {"text", "json", "csv"}},
      {given({"--devices", "4,8", "--trace", file}), 2, {"--trace"}}};
  for (const auto& [words, code, named] : wrong) {
    const testing::outcome done = predict(words);
    EXPECT_EQ(done.exit_code, code) << ::testing::PrintToString(words) << done.err;
    EXPECT_EQ(done.out, "");
    for (const std::string& word : named) EXPECT_THAT(done.err, mentions(word));
  }
  EXPECT_FALSE(std::filesystem::exists(file));
}

/// Cells of a line of a Markdown table; nothing for other lines.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream rest(line);
  std::string cell;
  while (std::getline(rest, cell, '|')) {
    const std::size_t first = cell.find_first_not_of(' ');
    cells.push_back(first == std::string::npos
                        ? ""
                        : cell.substr(first, cell.find_last_not_of(' ') + 1 - first));
  }
  return cells;
}

TEST(PublishedEfficiencies, AreThoseOfTheDocumentation) {
  std::istringstream text(json::read_text(LAYERBENCH_SOURCE_DIR "/docs/scaling_validation.md"));
  int rows = 0;
  for (std::string line; std::getline(text, line);) {
    // | system | framework | model | batch | one | network | devices | all | published | predicted
    // | no overlap | error |
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() != 13 || cells[3] == "model" || cells[3] == "---") continue;
    const json::value result = json_of({"--throughput", cells[5], "--model", cells[3], "--batch",
                                        cells[4], "--network", cells[6], "--devices", cells[7]})
                                   .at("predictions")
                                   .at(0);
    const json::value& step = result.at("data_parallel").at("steps").at(0);
    const double efficiency = 100 * step.at("efficiency").get<double>();
    const double published =
        100 * std::stod(cells[8]) / (std::stod(cells[7]) * std::stod(cells[5]));
    const double no_overlap = 100 * result.at("seconds_per_step").get<double>() /
                              step.at("no_overlap_seconds").get<double>();
    EXPECT_EQ(cells[9], fmt::format("{:.1f}", published)) << line;
    EXPECT_EQ(cells[10], fmt::format("{:.1f}", efficiency)) << line;
    EXPECT_EQ(cells[11], fmt::format("{:.1f}", no_overlap)) << line;
    EXPECT_EQ(cells[12], fmt::format("{:+.1f}", efficiency - published)) << line;
    ++rows;
  }
  EXPECT_GE(rows, 30);
}

TEST(ListNetworks, HasTheShippedOnesWithTheirNumbers) {
  const testing::outcome done = testing::run(LAYERBENCH_TOOL, {"list", "--networks"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("| dgx1_p100"), mentions("72.0 GB/s")));
}

}  // namespace tools_scaling_test
}  // namespace layerbench
