// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "support/bench.hpp"

namespace layerbench {
namespace bench_curve_test {

using ::testing::AllOf;
using ::testing::Contains;
using testing::expect_kept;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::texts;

std::set<std::int64_t> batches_in(const std::string& file) {
  std::set<std::int64_t> batches;
  for (const result::measurement& row : testing::rows_in(file)) {
    batches.insert(row.name.model_case.batch);
  }
  return batches;
}

json::value curve_in(const std::string& file, texts options = {}) {
  options.insert(options.begin(), {"curve", file, "--format=json"});
  const testing::outcome done = testing::run(LAYERBENCH_TOOL, options);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  return json::value::parse(done.out)["curves"].at(0);
}

TEST(Curve, PredictsAllBatchesFromSome) {
  const testing::tiny_directory directory;
  const texts command{"--curve", "--batch=1..40", "--budget=4",
                      "--benchmark_out=" + directory.results};
  const testing::outcome done = directory.bench("bench_model", command);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("over batch"), HasSubstr("highest throughput: batch ")));
  const std::set<std::int64_t> measured = batches_in(directory.results);
  EXPECT_THAT(measured, Contains(1));
  EXPECT_GE(measured.size(), 2U);
  EXPECT_LT(measured.size(), 40U);
  const json::value found = curve_in(directory.results, {"--sizes=1..40"});
  EXPECT_THAT(found["points"], SizeIs(40));
  EXPECT_EQ(found["measured"].size(), measured.size());
}

TEST(Curve, AddsPointsToItsFile) {
  const testing::tiny_directory directory;
  const result::results before = directory.measure({"--batch=1,2"});
  const testing::outcome done = directory.bench(
      "bench_model", {"--curve", "--batch=1..40", "--budget=3", "--resume=" + directory.results});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_GT(batches_in(directory.results).size(), 2U);
  const result::results after = result::read(directory.results);
  expect_kept(before, after);
  std::set<result::case_name> chains;
  for (const result::measurement& chain : after.chains) chains.insert(chain.name.model_case);
  EXPECT_GE(chains.size(), 1U);
  EXPECT_LE(chains.size(), 3U);
  EXPECT_EQ(curve_in(directory.results)["anchors"].size(), chains.size());
}

TEST(Curve, OfAFileTakesChosenSizes) {
  const testing::tiny_directory directory;
  static_cast<void>(directory.measure({"--batch=2,8"}));
  const json::value found =
      curve_in(directory.results, {"--sizes=1..4,16", "--latency-limit=1e6", "--over=batch"});
  std::set<std::int64_t> sizes;
  for (const json::value& one : found["points"]) sizes.insert(one["size"].get<std::int64_t>());
  EXPECT_EQ(sizes, (std::set<std::int64_t>{2, 3, 4, 16})) << "nothing is known below 2";
  EXPECT_EQ(found["points"][3]["from"], "extrapolated");
  const testing::outcome csv =
      testing::run(LAYERBENCH_TOOL, {"curve", directory.results, "--format=csv"});
  EXPECT_THAT(testing::lines(csv.out), SizeIs(1 + 7));
  const testing::outcome alone =
      testing::run(LAYERBENCH_TOOL, {"curve", directory.results, "--over=context"});
  EXPECT_EQ(alone.exit_code, 5) << alone.err;
  for (const char* limit : {"--latency-limit=nan", "--latency-limit=0"}) {
    const testing::outcome wrong =
        testing::run(LAYERBENCH_TOOL, {"curve", directory.results, limit});
    EXPECT_EQ(wrong.exit_code, 2);
    EXPECT_LT(wrong.err.size(), 300U);
  }
}

TEST(Curve, RefusesWhatItCannotDo) {
  const testing::tiny_directory directory;
  const std::string out = "--benchmark_out=" + directory.results;
  for (const auto& [options, word] : std::vector<std::pair<texts, std::string>>{
           {{"--curve", "--batch=1..4"}, "--benchmark_out"},
           {{"--curve", out}, "--batch"},
           {{"--curve", "--batch=1..4", "--benchmark_filter=conv", out}, "--benchmark_filter"},
           {{"--batch=4..1"}, "4..1"},
           {{"--batch=1..x"}, "1..x"},
           {{"--batch=1..60000,100001..160000"}, "100000"}}) {
    const testing::outcome done = directory.bench("bench_model", options);
    EXPECT_EQ(done.exit_code, 2) << done.out;
    EXPECT_THAT(done.err, HasSubstr(word));
  }
}

TEST(Ranges, AreAllNumbersBetween) {
  const testing::tiny_directory directory;
  const testing::outcome done = directory.bench(
      "bench_model", {"--batch=2..3,7,3", "--benchmark_list_tests", "--benchmark_filter=fc1"});
  EXPECT_THAT(testing::lines(done.out), SizeIs(3));
  EXPECT_THAT(done.out, AllOf(HasSubstr("batch:2/"), HasSubstr("batch:3/"), HasSubstr("batch:7/")));
}

}  // namespace bench_curve_test
}  // namespace layerbench
