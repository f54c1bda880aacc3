// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/base/description.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/base/version.hpp>
#include <layerbench/result/field_dimensions.hpp>
#include <layerbench/result/read_results.hpp>

#include "support/bench.hpp"

namespace layerbench {
namespace bench_results_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::texts;

TEST(Results, HaveEveryRowAndRound) {
  const testing::tiny_directory directory;
  const result::results result = directory.measure({"--benchmark_repetitions=4"});
  std::map<std::string, std::set<std::int64_t>> rounds;
  for (const result::measurement& row : result.rows) {
    EXPECT_TRUE(rounds[row.name.layer].insert(row.round).second) << row.name.text();
    EXPECT_GT(row.seconds, 0);
    EXPECT_GT(row.calls, 0);
    EXPECT_EQ(row.error, "");
  }
  std::map<std::string, std::set<std::int64_t>> expected;
  for (const std::string& layer : testing::tiny_layers) expected[layer] = {0, 1, 2, 3};
  EXPECT_EQ(rounds, expected);
}

TEST(Results, LeaveNothingBesideThem) {
  const testing::tiny_directory directory;
  static_cast<void>(directory.measure());
  EXPECT_THAT(directory.files(), ::testing::UnorderedElementsAre("tiny.json", "results.json"));
}

TEST(Results, ReplaceAnOlderFile) {
  const testing::tiny_directory directory;
  static_cast<void>(directory.write("results.json", std::string(1 << 20, 'x')));
  EXPECT_THAT(directory.measure().rows, SizeIs(6 * 3));
}

TEST(Results, HaveEveryCounter) {
  const testing::tiny_directory directory;
  const std::set<std::string> always{
      "min_s",           "p95_s",       "mean_s",        "samples",         "calls_a_sample",
      "clock_s",         "cpu_s",       "wall_s",        "count",           "flops",
      "bytes",           "flops_exact", "ring_bytes",    "verified",        "disturbed",
      "retries",         "stalls",      "touched_bytes", "displaced_bytes", "footprint_bytes",
      "workspace_bytes", "slowed",      "all_slowed",    "turn_s",          "p99_s"};
  for (const result::measurement& row : directory.measure().rows) {
    std::set<std::string> expected = always;
    if (row.counters.at("samples") >= 6) expected.insert({"low_s", "high_s"});
    std::set<std::string> found;
    for (const auto& [name, value] : row.counters) found.insert(name);
    EXPECT_EQ(found, expected) << row.name.text();
    EXPECT_EQ(row.counters.at("verified"), 1);
    EXPECT_GE(row.counters.at("samples"), 1);
    EXPECT_GE(row.calls, row.counters.at("samples"));
    EXPECT_GT(row.counters.at("clock_s"), 0);
  }
}

TEST(Results, HaveNoIntervalBelowSixSamples) {
  const testing::tiny_directory directory;
  std::size_t short_rows = 0;
  for (const result::measurement& row : directory.measure({"--benchmark_min_time=0"}).rows) {
    const bool is_short = row.counters.at("samples") < 6;
    short_rows += is_short ? 1 : 0;
    EXPECT_EQ(row.counters.contains("low_s"), !is_short);
    EXPECT_EQ(row.counters.contains("high_s"), !is_short);
  }
  EXPECT_GT(short_rows, 0U);
}

TEST(Results, HaveTimesInOrder) {
  const testing::tiny_directory directory;
  for (const result::measurement& row : directory.measure({"--benchmark_min_time=0.02"}).rows) {
    const auto at = [&](const char* name) { return row.counters.at(name); };
    const double slack = 1e-9 * row.seconds;  // of the conversion to the file's unit
    EXPECT_LE(at("min_s"), at("low_s")) << row.name.text();
    EXPECT_LE(at("low_s"), row.seconds + slack) << row.name.text();
    EXPECT_LE(row.seconds, at("high_s") + slack) << row.name.text();
    EXPECT_LE(row.seconds, at("p95_s") + slack) << row.name.text();
    EXPECT_NEAR(at("cpu_s"), row.cpu_seconds, slack) << row.name.text();
  }
}

TEST(Results, HaveTheWorkOfEveryLayer) {
  const testing::tiny_directory directory;
  const std::map<std::string, std::vector<double>> expected{
      // count, flops, flops_exact, bytes
      {"conv1", {2, 18432, 15488, 2624}}, {"relu1", {2, 256, 256, 2048}},
      {"add1", {1, 256, 256, 3072}},      {"pool1", {1, 256, 256, 1280}},
      {"fc1", {1, 1280, 1280, 2856}},     {"prob", {1, 50, 50, 80}}};
  for (const result::measurement& row : directory.measure().rows) {
    const auto at = [&](const char* name) { return row.counters.at(name); };
    EXPECT_EQ((std::vector<double>{at("count"), at("flops"), at("flops_exact"), at("bytes")}),
              expected.at(row.name.layer))
        << row.name.text();
  }
}

TEST(Results, HaveLabelsWithKeyAndAlgorithm) {
  const testing::tiny_directory directory;
  const std::map<std::string, std::string> keys{
      {"conv1", "n:1,c:4,h:8,w:8,k:4,r:3,s:3,pad:1"},
      {"relu1", "kind:relu,dims:1x4x8x8"},
      {"add1", "dims:1x4x8x8"},
      {"pool1", "kind:max,n:1,c:4,h:8,w:8,r:2,s:2,stride:2"},
      {"fc1", "m:1,n:10,k:64"},
      {"prob", "dims:1x10"}};
  for (const result::measurement& row : directory.measure().rows) {
    EXPECT_EQ(row.label.key, keys.at(row.name.layer));
    EXPECT_NE(row.label.algorithm, "") << row.name.text();
    EXPECT_THAT(row.label.state, StartsWith("step:6.81kB,src:fresh"));
    EXPECT_FALSE(row.label.inserted);
  }
}

TEST(Results, SayWhereTheyComeFrom) {
  const testing::tiny_directory directory;
  result::results result = directory.measure({"--seed=77", "--benchmark_context=by=a=b"});
  EXPECT_EQ(result.context.at("layerbench_schema"), "1");
  EXPECT_EQ(result.context.at("layerbench_version"), LAYERBENCH_VERSION);
  EXPECT_EQ(result.context_value("layerbench_commit").value_or(""), commit());
  EXPECT_EQ(result.context.at("seed"), "77");
  EXPECT_EQ(result.context.at("by"), "a=b");
  EXPECT_EQ(result.context.contains("onednn_version"), testing::has_onednn);
  EXPECT_EQ(result.context.contains("onednn_compiled_version"), testing::has_onednn);
  for (const char* name : {"device", "threads", "clock", "l1d_bytes", "l2_bytes", "l3_bytes",
                           "kernel", "OMP_PROC_BIND", "date", "host_name"}) {
    EXPECT_NE(result.context[name], "") << name;
  }
}

TEST(Results, SayWhatTheirFieldsBelongTo) {
  const testing::tiny_directory directory;
  const result::results result = directory.measure({"--benchmark_context=by=a"});
  using enum field_dimension;
  const auto all = result.dimensions;
  EXPECT_EQ(all.at("layerbench_version"), version);
  EXPECT_EQ(all.at("topology"), device);
  EXPECT_EQ(all.at("kernel"), driver);
  EXPECT_EQ(all.at("seed"), setting);
  EXPECT_EQ(all.at("threads"), device_setting);
  EXPECT_EQ(all.at("command"), condition);
  EXPECT_FALSE(all.contains("by")) << "nobody knows";
  EXPECT_FALSE(result.context.contains("field_dimensions")) << "no condition of the run";
  for (const auto& [field, dimension] : all) {
    const auto known = result::known_dimensions().find(field);
    if (known != result::known_dimensions().end()) {
      EXPECT_EQ(dimension, known->second) << field << " of older files is compared otherwise";
    }
  }
}

TEST(Results, HaveSamplesAtAnySpeedOfTheProcessorsIfThatWasAskedFor) {
  const testing::tiny_directory directory;
  EXPECT_FALSE(directory.measure().context.contains("speed"));
  const result::results any = directory.measure({"--speed=any"});
  EXPECT_EQ(any.context.at("speed"), "any");
  EXPECT_THAT(any.context.at("machine_check"), Not(HasSubstr("speed")));
  for (const result::measurement& row : any.rows) {
    EXPECT_EQ(row.counters.at("slowed"), 0) << row.name.text();
  }
}

TEST(Results, SayWhichCommandMadeThem) {
  const testing::tiny_directory directory;
  const texts options{"--benchmark_filter=(conv|prob)", "--benchmark_context=who=it's me"};
  const result::results result = directory.measure(options);
  EXPECT_THAT(result.context.at("command"),
              AllOf(HasSubstr("bench_model "), HasSubstr(" '--benchmark_filter=(conv|prob)' "),
                    HasSubstr(R"( '--benchmark_context=who=it'\''s me' )"),
                    HasSubstr(" --benchmark_out=" + directory.results)));
  EXPECT_GE(std::stod(result.context.at("load_at_start")), 0);
  EXPECT_EQ(result.context.at("interrupted"), "0");
}

TEST(Results, HaveTheManifestOfTheWholeModelWhateverWasSelected) {
  const testing::tiny_directory directory;
  const result::results result = directory.measure({"--benchmark_filter=^softmax"});
  EXPECT_THAT(result.rows, SizeIs(3));
  ASSERT_THAT(result.manifest, SizeIs(1));
  std::map<std::string, std::int64_t> counts;
  for (const result::planned& planned : result.manifest.begin()->second) {
    counts[planned.layer] = planned.count;
  }
  const std::map<std::string, std::int64_t> expected{{"conv1", 2}, {"relu1", 2}, {"add1", 1},
                                                     {"pool1", 1}, {"fc1", 1},   {"prob", 1}};
  EXPECT_EQ(counts, expected);
}

TEST(Results, AggregatesAreThoseOfTheRounds) {
  const testing::tiny_directory directory;
  static_cast<void>(directory.measure());
  std::map<std::string, std::vector<double>> rounds;
  std::map<std::string, std::map<std::string, double>> aggregates;
  const json::value written = directory.written();
  for (const json::value& row : written.at("benchmarks")) {
    EXPECT_EQ(row.at("time_unit"), "ns");
    const std::string name = row.at("run_name");
    const double time = row.at("real_time");
    if (row.at("run_type") == "iteration") {
      EXPECT_EQ(row.at("name"), name);
      EXPECT_EQ(row.at("repetition_index"), rounds[name].size());
      EXPECT_EQ(row.at("repetitions"), 3);
      rounds[name].push_back(time);
    } else {
      const std::string kind = row.at("aggregate_name");
      EXPECT_EQ(row.at("name"), name + "_" + kind);
      aggregates[name][kind] = time;
    }
  }
  EXPECT_THAT(rounds, SizeIs(6));
  for (const auto& [name, times] : rounds) {
    const auto& found = aggregates[name];
    ASSERT_THAT(found, SizeIs(4)) << name;
    const double mean = stats::mean(times);
    EXPECT_NEAR(found.at("mean"), mean, 1e-9 * mean) << name;
    EXPECT_NEAR(found.at("median"), stats::median(times), 1e-9 * mean) << name;
    EXPECT_NEAR(found.at("stddev"), stats::stddev(times), 1e-9 * mean) << name;
    EXPECT_NEAR(found.at("cv"), stats::stddev(times) / mean, 1e-9) << name;
  }
}

TEST(Results, OfOneRoundHaveNoAggregates) {
  const testing::tiny_directory directory;
  EXPECT_THAT(directory.measure({"--benchmark_repetitions=1"}).rows, SizeIs(6));
  EXPECT_THAT(directory.written().at("benchmarks"), SizeIs(6));
}

TEST(Results, CanBeAggregatesOnly) {
  const testing::tiny_directory directory;
  const testing::outcome done = directory.bench(
      "bench_model",
      {"--benchmark_report_aggregates_only", "--benchmark_out=" + directory.results});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const json::value written = directory.written();
  EXPECT_THAT(written.at("benchmarks"), SizeIs(6 * 4));
  for (const json::value& row : written.at("benchmarks")) {
    EXPECT_EQ(row.at("run_type"), "aggregate");
  }
}

TEST(Results, EveryOutputIsVerifiedWhenAsked) {
  const testing::tiny_directory directory;
  EXPECT_THAT(directory.measure({"--verify"}).rows, SizeIs(6 * 3));
}

TEST(Results, PredictTheSameWithTheRowsOfChainsDeleted) {
  const testing::tiny_directory directory;
  EXPECT_THAT(
      directory.measure({"--chain", "--cache=model,hot", "--benchmark_repetitions=5"}).chains,
      SizeIs(5));
  const auto predicted = [&] {
    return testing::run(LAYERBENCH_TOOL, {"predict", directory.results, "--format", "json"});
  };
  const testing::outcome with_chains = predicted();
  json::value edited = directory.written();
  json::value kept = json::value::array();
  for (const json::value& row : edited["benchmarks"]) {
    if (!row.at("run_name").get<std::string>().starts_with("chain/")) kept.push_back(row);
  }
  EXPECT_LT(kept.size(), edited["benchmarks"].size());
  edited["benchmarks"] = kept;
  static_cast<void>(directory.write("results.json", edited.dump()));
  const testing::outcome without = predicted();
  EXPECT_EQ(with_chains.exit_code, 0) << with_chains.err;
  EXPECT_THAT(with_chains.out, HasSubstr("\"seconds_per_step\""));
  EXPECT_EQ(without.out, with_chains.out);
}

TEST(Results, OfOperandsBeyondTheMemorySayHowMuchIsNeeded) {
  const testing::temporary_directory directory;
  const std::string model = directory.write("vast.json", R"({"name": "vast", "layers": [
      {"name": "fc", "op": "gemm", "shape": {"m": 1, "n": 1000000, "k": 4000000}}]})");
  const testing::outcome done = testing::bench("bench_gemm", testing::shortly(model, {}));
  EXPECT_EQ(done.exit_code, 4);
  EXPECT_THAT(done.err, AllOf(AllOf(HasSubstr("not enough memory"), HasSubstr("32.0 TB")),
                              HasSubstr("--batch")))
      << "the weights, and their values to check the result";
}

TEST(Results, OfStepsBeyondTheMemorySayHowMuchIsNeeded) {
  const testing::tiny_directory directory;
  for (const std::string phase : {"inference", "training"}) {
    const testing::outcome done =
        directory.bench("bench_model", {"--chain", "--phase=" + phase, "--batch=1000000000,1",
                                        "--benchmark_out=" + directory.results});
    EXPECT_EQ(done.exit_code, 4);
    EXPECT_THAT(done.err,
                AllOf(HasSubstr("/tiny/batch:1000000000"), HasSubstr(": not enough memory: "),
                      HasSubstr(" TB"), HasSubstr("--batch")));
    const result::results result = result::read(directory.results);
    for (const result::measurement& row : result.rows) EXPECT_EQ(row.name.model_case.batch, 1);
    EXPECT_FALSE(result.rows.empty()) << "the case that fits is measured";
  }
}

TEST(Results, OfUnsupportedRowsHaveTheirReason) {
  const testing::tiny_directory directory;
  const testing::outcome done =
      directory.bench("bench_model", {"--dtype=f32,f64", "--benchmark_out=" + directory.results});
  std::map<std::string, std::size_t> measured;
  std::map<std::string, std::size_t> failed;
  for (const result::measurement& row : result::read(directory.results).rows) {
    ++(row.error.empty() ? measured : failed)[row.name.model_case.dtype];
  }
  EXPECT_EQ(measured["f32"], 6U * 3);
  if (!testing::has_onednn) {  // the reference has every type
    EXPECT_EQ(done.exit_code, 0);
    EXPECT_EQ(measured["f64"], 6U * 3);
    return;
  }
  EXPECT_EQ(done.exit_code, 4);
  EXPECT_EQ(failed["f64"], 6U);  // once, not in every round
  EXPECT_THAT(done.err, AllOf(HasSubstr("conv/fwd/onednn/f64/tiny/conv1/"), HasSubstr("no f64")));
}

}  // namespace bench_results_test
}  // namespace layerbench
