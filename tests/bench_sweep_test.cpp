// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "support/bench.hpp"

/// Sweeps in the benchmark programs: DeepBench's lists, and a small one that takes no time.
namespace layerbench {
namespace bench_sweep_test {

using testing::bench;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using testing::texts;

/// Two of its convolutions are the same work.
constexpr auto small_sweep = R"({
  "name": "small",
  "passes": {"conv": ["fwd", "bwd_data", "bwd_weights"], "gemm": ["fwd_training"],
             "rnn": ["fwd_training", "bwd"], "allreduce": ["fwd"], "collective": ["fwd"]},
  "layers": [
    {"name": "conv_1", "op": "conv", "after": [],
     "shape": {"n": 2, "c": 4, "h": 8, "w": 8, "k": 4, "r": 3, "s": 3, "pad": 1}},
    {"name": "conv_2", "op": "conv", "after": [],
     "shape": {"n": 3, "c": 4, "h": 8, "w": 8, "k": 4, "r": 3, "s": 3}},
    {"name": "conv_3", "op": "conv", "after": [],
     "shape": {"n": 2, "c": 4, "h": 8, "w": 8, "k": 4, "r": 3, "s": 3, "pad": 1}},
    {"name": "gemm_1", "op": "gemm", "after": [], "shape": {"m": 5, "n": 6, "k": 7}},
    {"name": "rnn_1", "op": "rnn", "after": [],
     "shape": {"kind": "gru", "batch": 4, "steps": 3, "inputs": 8, "hidden": 8, "biases": 2}},
    {"name": "allreduce_1", "op": "allreduce", "after": [], "shape": {"bytes": 400, "ranks": 2}},
    {"name": "gather_1", "op": "collective", "after": [],
     "shape": {"kind": "all_gather", "bytes": 400, "ranks": 2}}
  ]
})";

struct small_directory : testing::tiny_directory {
  std::string sweep = write("small.json", small_sweep).string();
};

texts listed(const std::string& program, texts arguments) {
  arguments.emplace_back("--benchmark_list_tests");
  const testing::outcome done = bench(program, arguments);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  return testing::lines(done.out);
}

TEST(Sweep, HasARowForEachPassOfEachRowOfTheList) {
  const std::vector<std::tuple<std::string, std::string, std::size_t>> expected{
      {"bench_conv", "deepbench_training", 3 * 94},
      {"bench_gemm", "deepbench_training", 160},
      {"bench_rnn", "deepbench_training", 2 * 53},
      {"bench_allreduce", "deepbench_training", 7},
      {"bench_conv", "deepbench_inference_server", 107},
      {"bench_gemm", "deepbench_inference_server", 75 + 24},
      {"bench_rnn", "deepbench_inference_server", 69},
      {"bench_conv", "deepbench_inference_device", 16},
      {"bench_gemm", "deepbench_inference_device", 13 + 8},
      {"bench_rnn", "deepbench_inference_device", 3},
      {"bench_model", "deepbench_inference_device", 16 + 13 + 8 + 3}};
  for (const auto& [program, sweep, count] : expected) {
    const texts names = listed(program, {"--model=" + sweep, "--backend=reference"});
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), count) << program << sweep;
    EXPECT_THAT(names, SizeIs(count)) << program << ' ' << sweep;
    for (const std::string& name : names) {
      const auto row = result::parse_row(name);
      ASSERT_TRUE(row) << name;
      EXPECT_EQ(row->model_case.model, sweep);
      EXPECT_EQ(row->cache, "hot");
    }
  }
}

TEST(Sweep, RowsHaveTheirOwnBatchAndNoPhase) {
  const small_directory directory;
  EXPECT_THAT(listed("bench_conv", {"--model=" + directory.sweep, "--backend=reference"}),
              ElementsAre("conv/fwd/reference/f32/small/conv_1/batch:2/cache:hot",
                          "conv/bwd_data/reference/f32/small/conv_1/batch:2/cache:hot",
                          "conv/bwd_weights/reference/f32/small/conv_1/batch:2/cache:hot",
                          "conv/fwd/reference/f32/small/conv_2/batch:3/cache:hot",
                          "conv/bwd_data/reference/f32/small/conv_2/batch:3/cache:hot",
                          "conv/bwd_weights/reference/f32/small/conv_2/batch:3/cache:hot",
                          "conv/fwd/reference/f32/small/conv_3/batch:2/cache:hot",
                          "conv/bwd_data/reference/f32/small/conv_3/batch:2/cache:hot",
                          "conv/bwd_weights/reference/f32/small/conv_3/batch:2/cache:hot"));
  EXPECT_THAT(listed("bench_rnn", {"--model=" + directory.sweep, "--backend=reference"}),
              ElementsAre("rnn/fwd_training/reference/f32/small/rnn_1/batch:4/cache:hot",
                          "rnn/bwd/reference/f32/small/rnn_1/batch:4/cache:hot"));
  EXPECT_THAT(listed("bench_gemm",
                     {"--model=" + directory.sweep + "," + directory.sweep, "--backend=reference"}),
              ElementsAre("gemm/fwd_training/reference/f32/small/gemm_1/batch:5/cache:hot"));
}

TEST(Sweep, HasTheCollectivesThatTheUserNames) {
  const small_directory directory;
  const texts how{"--model=" + directory.sweep, "--backend=reference", "--ranks=4"};
  EXPECT_THAT(
      listed("bench_allreduce", how),
      ElementsAre("allreduce/fwd/reference/f32/small/allreduce_1/batch:1/cache:hot/ranks:4"));
  texts named = how;
  named.emplace_back("--collectives=broadcast,all_gather");
  EXPECT_THAT(listed("bench_allreduce", named),
              ElementsAre("collective/fwd/reference/f32/small/gather_1/batch:1/cache:hot/ranks:4"));
}

TEST(Sweep, IsHotUnlessTheUserSaysOtherwise) {
  const small_directory directory;
  const std::string both = "--model=" + directory.model + "," + directory.sweep;
  for (const std::string& name : listed("bench_conv", {both})) {
    const auto row = result::parse_row(name);
    ASSERT_TRUE(row) << name;
    EXPECT_EQ(row->cache, row->model_case.model == "small" ? "hot" : "model") << name;
  }
  EXPECT_THAT(listed("bench_conv", {"--model=" + directory.sweep, "--cache=model", "--threads=1"}),
              Each(HasSubstr("/cache:model")));
}

TEST(Sweep, RefusesWhatOnlyModelsHave) {
  const small_directory directory;
  const std::vector<std::pair<std::string, texts>> wrong{{"bench_conv", {"--batch=4"}},
                                                         {"bench_conv", {"--phase=training"}},
                                                         {"bench_model", {"--chain"}},
                                                         {"bench_model", {"--chain=layers"}}};
  for (const auto& [program, options] : wrong) {
    texts arguments{"--model=" + directory.sweep, "--list"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const testing::outcome done = bench(program, arguments);
    EXPECT_EQ(done.exit_code, 2) << options.front();
    EXPECT_THAT(done.err, HasSubstr(options.front().substr(0, options.front().find('='))));
    EXPECT_THAT(done.err, HasSubstr("small"));
  }
  EXPECT_EQ(bench("bench_pool", {"--model=" + directory.sweep, "--list"}).exit_code, 5);
}

TEST(Sweep, IsMeasuredAndReportedButNotPredicted) {
  const small_directory directory;
  const testing::outcome done = directory.bench(
      "bench_model", {"--model=" + directory.sweep, "--benchmark_out=" + directory.results});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const result::results results = result::read(directory.results);
  EXPECT_TRUE(results.manifest.empty());
  std::map<std::string, int> rounds;
  for (const result::measurement& row : results.rows) ++rounds[row.name.layer + row.name.pass];
  EXPECT_THAT(rounds, SizeIs(3 * 3 + 1 + 2));
  for (const auto& [row, count] : rounds) EXPECT_EQ(count, 3) << row;

  const testing::outcome predicted =
      testing::run(LAYERBENCH_TOOL, {"predict", directory.results, "--model", directory.sweep});
  EXPECT_EQ(predicted.exit_code, 2);
  EXPECT_THAT(predicted.err, HasSubstr("small"));
  const testing::outcome report = testing::run(
      LAYERBENCH_TOOL,
      {"deepbench", directory.results, "--model", directory.sweep, "--format", "json"});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  const json::value printed = json::value::parse(report.out);
  const json::value& only = printed.at("results").at(0);
  EXPECT_EQ(only.at("rows").size(), 5U);
  EXPECT_EQ(only.at("unmeasured"), json::value::array({"allreduce_1", "gather_1"}));
}

TEST(Sweep, OfCollectivesIsReportedForTheRanksThatRan) {
  const small_directory directory;
  const testing::outcome done =
      bench("bench_allreduce",
            {"--model=" + directory.sweep, "--backend=reference", "--ranks=4", "--yes",
             "--collectives=all_reduce,all_gather", "--benchmark_out=" + directory.results});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const testing::outcome report = testing::run(
      LAYERBENCH_TOOL,
      {"deepbench", directory.results, "--model", directory.sweep, "--format", "json"});
  const json::value only = json::value::parse(report.out).at("results").at(0);
  ASSERT_EQ(only.at("rows").size(), 2U);
  EXPECT_THAT(only.at("unmeasured"), Not(::testing::Contains("gather_1")));
  // The file says 400 bytes and 2 ranks: blocks of 100 bytes are rounded up to 112.
  const json::value& gather = only.at("rows").at(1);
  EXPECT_EQ(gather.at("sizes"), (json::value{{"kind", "all_gather"}, {"bytes", 448}}));
  EXPECT_EQ(gather.at("ranks"), 4);
  const double seconds = gather.at("times").at(0).at("seconds");
  EXPECT_NEAR(gather.at("bandwidth").get<double>() * seconds, 4 * 448, 1e-6);
}

TEST(Sweep, OfCollectivesEndsWithoutRowsOfTheKindsThatTheUserNames) {
  const small_directory directory;
  const testing::outcome done =
      bench("bench_allreduce", {"--model=" + directory.sweep, "--backend=reference", "--ranks=2",
                                "--collectives=broadcast", "--list"});
  EXPECT_EQ(done.exit_code, 5) << done.out << done.err;
}

TEST(Sweep, IsResumed) {
  const small_directory directory;
  const texts arguments{"--model=" + directory.sweep, "--benchmark_out=" + directory.results};
  ASSERT_EQ(directory.bench("bench_gemm", arguments).exit_code, 0);
  const result::results before = result::read(directory.results);
  const testing::outcome done = directory.bench(
      "bench_conv", {"--model=" + directory.sweep, "--resume=" + directory.results});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  testing::expect_kept(before, result::read(directory.results));
}

}  // namespace bench_sweep_test
}  // namespace layerbench
