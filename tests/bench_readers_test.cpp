// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "support/bench.hpp"

/// Result files in the hands of other programs: our tool and Google Benchmark's compare.py.
namespace layerbench {
namespace bench_readers_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::texts;

testing::outcome predict(texts arguments) {
  arguments.insert(arguments.begin(), "predict");
  return testing::run(LAYERBENCH_TOOL, arguments);
}

/// The line that has the throughput.
std::string throughput_of(const std::string& text) {
  for (const std::string& line : testing::lines(text)) {
    if (line.find(" images/s, ") != std::string::npos) return line;
  }
  return "no throughput in: " + text;
}

TEST(Predict, AgreesWithTheProgramThatMeasured) {
  const testing::tiny_directory directory;
  const testing::outcome measured =
      directory.bench("bench_model", {"--benchmark_out=" + directory.results, "--batch=3"});
  ASSERT_EQ(measured.exit_code, 0) << measured.err;
  const testing::outcome text = predict({directory.results});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(throughput_of(text.out), HasSubstr(" ms per step"));
  EXPECT_EQ(throughput_of(text.out), throughput_of(measured.out));
}

TEST(Predict, KnowsASumAsWellAsTheProgramThatMeasured) {
  const testing::tiny_directory directory;
  const result::results measured =
      directory.measure({"--benchmark_repetitions=7", "--cache=model,hot"});
  const json::value all = json::value::parse(predict({directory.results, "--format", "json"}).out);
  const json::value& found = all.at("predictions").at(0);
  const double half_width =
      (found.at("seconds_high").get<double>() - found.at("seconds_low").get<double>()) / 2 /
      found.at("seconds_per_step").get<double>();
  const std::string expected =
      half_width > 1 ? "not known" : fmt::format("known to {:.1f} %", 100 * half_width);
  EXPECT_THAT(measured.context_value("stopped").value_or(""), HasSubstr(expected));
}

TEST(Predict, AddsUpTheRoundsMedianMeans) {
  const testing::tiny_directory directory;
  // Rounds in which the processors are slow would count less.
  static_cast<void>(directory.measure({"--batch=3", "--speed=any"}));
  double seconds = 0;
  const json::value written = directory.written();
  for (const json::value& row : written.at("benchmarks")) {
    if (!row.at("name").get<std::string>().ends_with("_median")) continue;
    seconds += row.at("count").get<double>() * row.at("mean_s").get<double>();
  }
  const json::value all = json::value::parse(predict({directory.results, "--format", "json"}).out);
  ASSERT_THAT(all.at("predictions"), SizeIs(1));
  const json::value& found = all.at("predictions").at(0);
  EXPECT_EQ(found.at("model"), "tiny");
  EXPECT_EQ(found.at("backend"), testing::usable_backend);
  EXPECT_EQ(found.at("batch"), 3);
  EXPECT_EQ(found.at("threads"), 1);
  EXPECT_EQ(found.at("coverage"), 1.0);
  EXPECT_NEAR(found.at("seconds_per_step").get<double>(), seconds, 1e-9 * seconds);
  EXPECT_NEAR(found.at("images_per_second").get<double>(), 3 / seconds, 3e-9 / seconds);
}

TEST(Validate, HoldsPredictionsAgainstChains) {
  const testing::tiny_directory directory;
  const result::results result = directory.measure({"--chain", "--cache=model,hot", "--batch=1,2"});
  EXPECT_THAT(result.rows, SizeIs(2 * 2 * 6 * 3));
  ASSERT_THAT(result.chains, SizeIs(2 * 3));
  for (const result::measurement& chain : result.chains) EXPECT_GT(chain.seconds, 0);
  const testing::outcome done =
      testing::run(LAYERBENCH_TOOL, {"validate", directory.results, "--format", "json"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const json::value found = json::value::parse(done.out);
  ASSERT_THAT(found.at("cases"), SizeIs(2));
  for (const json::value& value : found.at("cases")) {
    EXPECT_GT(value.at("predicted_seconds"), 0);
    EXPECT_GT(value.at("measured_seconds"), 0);
    EXPECT_GT(value.at("naive_seconds"), 0);
  }
}

TEST(Validate, ShowsWhereErrorsComeFromByClocksInTheChain) {
  const testing::tiny_directory directory;
  const result::results result =
      directory.measure({"--chain=layers", "--benchmark_min_time=0.005"});
  EXPECT_THAT(result.chains, SizeIs(3));
  EXPECT_THAT(result.rows, SizeIs(6 * 3)) << "times from inside a chain are no rows";
  double inside = 0;
  for (const auto& [model_case, step] : result.manifest) {
    for (const result::planned& planned : step) {
      ASSERT_TRUE(planned.chain_seconds) << planned.layer;
      EXPECT_GT(*planned.chain_seconds, 0) << planned.layer;
      inside += static_cast<double>(planned.count) * *planned.chain_seconds;
    }
  }
  const testing::outcome done =
      testing::run(LAYERBENCH_TOOL, {"validate", directory.results, "--format", "json"});
  const json::value found = json::value::parse(done.out).at("cases").at(0);
  double ops = 0;
  for (const json::value& value : found.at("ops")) ops += value.at("chain_seconds").get<double>();
  EXPECT_NEAR(ops, inside, 1e-9 * inside);
  EXPECT_THAT(found.at("ops"), SizeIs(6));
  EXPECT_THAT(found.at("layers"), SizeIs(6));
  const testing::outcome text = testing::run(LAYERBENCH_TOOL, {"validate", directory.results});
  EXPECT_THAT(text.out, AllOf(HasSubstr("by op: conv "), HasSubstr("furthest off: ")));
}

TEST(Chain, KeepsTheClocksOfAResumedRun) {
  const testing::tiny_directory directory;
  static_cast<void>(directory.measure({"--chain=layers"}));
  const result::results again = directory.measure({"--resume=" + directory.results});
  for (const auto& [model_case, step] : again.manifest) {
    for (const result::planned& planned : step) EXPECT_TRUE(planned.chain_seconds) << planned.layer;
  }
}

TEST(Predict, ServesAModelOfTheSameStatesFromTheTimingsOfAnother) {
  const testing::tiny_directory directory;
  static_cast<void>(directory.measure());
  std::string twin = testing::tiny_model;
  twin.replace(twin.find("\"tiny\""), 6, "\"twin\"");
  const std::string path = directory.write("twin.json", twin).string();
  const auto first_of = [](const testing::outcome& done) {
    return json::value::parse(done.out).at("predictions").at(0);
  };
  const json::value own = first_of(predict({directory.results, "--format=json"}));
  const json::value other =
      first_of(predict({directory.results, "--format=json", "--model=" + path}));
  EXPECT_EQ(other.at("derived"), true);
  EXPECT_EQ(other.at("cache"), "model");
  EXPECT_EQ(other.at("seconds_per_step"), own.at("seconds_per_step"));
  // In a step of many times the memory the same layers are in another state.
  twin.insert(twin.find("{\"name\": \"prob\""),
              R"({"name": "wide", "op": "gemm", "shape": {"m": "batch", "n": 10000, "k": 10}},
                 {"name": "back", "op": "gemm", "shape": {"m": "batch", "n": 10, "k": 10000}},)");
  static_cast<void>(directory.write("twin.json", twin));
  const testing::outcome refused = predict({directory.results, "--format=json", "--model=" + path});
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_EQ(first_of(refused).at("cache"), "hot");
}

TEST(InPlace, IsAChoiceOfRowsAndChains) {
  const testing::tiny_directory directory;
  const auto in_place = [&](const std::string& ops) {
    texts layers;
    const result::results result = directory.measure({"--chain", "--in-place=" + ops});
    EXPECT_EQ(result.context.at("in_place"), ops);
    for (const auto& [model_case, step] : result.manifest) {
      for (const result::planned& planned : step) {
        if (planned.state.ends_with(",in_place")) layers.push_back(planned.layer);
      }
    }
    EXPECT_THAT(result.chains, SizeIs(3));
    return layers;
  };
  EXPECT_THAT(in_place("none"), IsEmpty());
  EXPECT_THAT(in_place("activation"), ElementsAre("relu1"));
  EXPECT_THAT(in_place("activation,add"), ElementsAre("relu1"))
      << "the first source of the add has another reader";
}

TEST(Predict, RefusesAThroughputWithoutALayer) {
  const testing::tiny_directory directory;
  static_cast<void>(directory.measure());
  json::value edited = directory.written();
  json::value& rows = edited["benchmarks"];
  for (std::size_t i = rows.size(); i-- > 0;) {
    if (rows.at(i).at("name").get<std::string>().find("/fc1/") != std::string::npos) rows.erase(i);
  }
  ASSERT_THAT(rows, SizeIs(5 * (3 + 4)));
  const testing::outcome done = predict({directory.write("edited.json", edited.dump()).string()});
  EXPECT_EQ(done.exit_code, 4);
  EXPECT_THAT(done.out, HasSubstr("not measured: fc1\n"));
}

testing::outcome compare(texts arguments) {
  arguments.insert(arguments.begin(), {LAYERBENCH_COMPARE, "--no-color"});
  return testing::run(LAYERBENCH_PYTHON, arguments);
}

TEST(Compare, PairsTheRowsOfTwoFiles) {
  const testing::tiny_directory directory;
  const result::results result = directory.measure();
  const testing::outcome done = compare({"benchmarks", directory.results, directory.results});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const texts lines = testing::lines(done.out);
  for (const result::measurement& row : result.rows) {
    EXPECT_THAT(lines, Contains(AllOf(StartsWith(row.name.text() + " "), HasSubstr("+0.0000"))))
        << row.name.text();
  }
}

TEST(Compare, PairsRowsOfOneFileByFilters) {
  const testing::tiny_directory directory;
  static_cast<void>(directory.measure({"--dtype=f32", "--batch=1,2"}));
  const testing::outcome done = compare({"filters", directory.results, "batch:1/", "batch:2/"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  for (const std::string& layer : testing::tiny_layers) {
    EXPECT_THAT(testing::lines(done.out),
                Contains(HasSubstr("/tiny/" + layer + "/[batch:1/ vs. batch:2/]cache:model")));
  }
}

}  // namespace bench_readers_test
}  // namespace layerbench
