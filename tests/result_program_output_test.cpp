// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/result/program_output.hpp>

#include "support/mentions.hpp"

namespace layerbench::result {
namespace result_program_output_test {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Field;
using testing::mentions;

std::string sample(const std::string& name) {
  return json::read_text(LAYERBENCH_SOURCE_DIR "/tests/data/program_output/" + name);
}

auto is_row(const std::string& name, double value) {
  return AllOf(Field(&metric::name, name), Field(&metric::value, DoubleNear(value, 1e-9 * value)));
}

/// What is thrown of a text; empty if it can be read.
std::string error_of(const std::string& text, const metric_choice& choice = {}) {
  try {
    static_cast<void>(read_metrics(text, "old command", choice));
  } catch (const bad_input& e) {
    return e.what();
  }
  return "";
}

TEST(Metrics, AreMediansOfRepetitionsOfGoogleBenchmark) {
  const metrics read = read_metrics(sample("google_benchmark.json"), "x");
  EXPECT_EQ(read.format, google_format);
  EXPECT_THAT(read.rows, ElementsAre(is_row("BM_sum/1024", 1.3514206155960824e-6),
                                     is_row("BM_sum/65536", 83.03865747882224e-6)))
      << "without the row that failed";
  EXPECT_EQ(read.rows.front().unit, "s");
}

TEST(Metrics, AreMediansInAFileOfAggregates) {
  const metrics read = read_metrics(sample("google_benchmark_aggregates.json"), "x");
  EXPECT_EQ(read.rows.size(), 2);
  EXPECT_EQ(read.rows.front().name, "BM_sum/1024");
}

TEST(Metrics, AreReadOfEveryFormat) {
  const metrics nvbench = read_metrics(sample("nvbench.json"), "x");
  EXPECT_EQ(nvbench.format, "nvbench JSON");
  EXPECT_THAT(nvbench.rows, ElementsAre(is_row("simple/Device=0", 0.0010034715849794225),
                                        is_row("copy_type_conversion_sweep/Device=0 In=I8 Out=I16",
                                               0.0006543757735841723)))
      << "without the skipped state";
  const metrics pytest = read_metrics(sample("pytest_benchmark.json"), "x");
  EXPECT_EQ(pytest.format, "pytest-benchmark JSON");
  EXPECT_THAT(pytest.rows,
              ElementsAre(is_row("test_speed.py::test_sum", 8.242997864726931e-06),
                          is_row("test_speed.py::test_sorted", 3.215005563106388e-06)));
  const metrics hyperfine = read_metrics(sample("hyperfine.json"), "x");
  EXPECT_EQ(hyperfine.format, "hyperfine JSON");
  EXPECT_THAT(hyperfine.rows,
              ElementsAre(is_row("true", 0.000606771), is_row("sleep 0.01", 0.011181398)));
  const metrics llama = read_metrics(sample("llama_bench.json"), "x");
  EXPECT_EQ(llama.format, "llama-bench JSON");
  EXPECT_THAT(llama.rows, ElementsAre(is_row("qwen2 7B Q4_K - Medium pp512", 71.7452e-3),
                                      is_row("qwen2 7B Q4_K - Medium tg128", 1.0753613)));
  const metrics benchdnn = read_metrics(sample("benchdnn.txt"), "x");
  EXPECT_EQ(benchdnn.format, "benchdnn's performance lines");
  ASSERT_EQ(benchdnn.rows.size(), 5);
  EXPECT_THAT(benchdnn.rows.front(),
              is_row("--conv g1mb256ic3ih227oc96oh55kh11sh4ph0n\"alexnet:conv1\"", 17.4285e-3));
}

TEST(Metrics, NameTheParametersOfLlamaBenchThatDiffer) {
  std::string text = sample("llama_bench.json");
  text.replace(text.rfind("\"n_threads\": 8"), 14, "\"n_threads\": 4");
  const metrics read = read_metrics(text, "x");
  EXPECT_EQ(read.rows[0].name, "qwen2 7B Q4_K - Medium pp512 n_threads=8");
  EXPECT_EQ(read.rows[1].name, "qwen2 7B Q4_K - Medium tg128 n_threads=4");
}

TEST(Metrics, NameOtherParametersOfLlamaBenchWhereTheyTellTestsApart) {
  const auto text_of = [](const std::string& poll) {
    return R"([{"model_type": "m", "n_prompt": 8, "n_gen": 0, "poll": 0, "avg_ns": 1000},
               {"model_type": "m", "n_prompt": 0, "n_gen": 8, "poll": 1, "avg_ns": 2000},
               {"model_type": "m", "n_prompt": 8, "n_gen": 0, "poll": )" +
           poll + R"(, "avg_ns": 3000}])";
  };
  EXPECT_THAT(read_metrics(text_of("50"), "x").rows,
              ElementsAre(is_row("m pp8 poll=0", 1e-6), is_row("m tg8", 2e-6),
                          is_row("m pp8 poll=50", 3e-6)));
  EXPECT_THAT(read_metrics(text_of("0"), "x").rows,
              ElementsAre(is_row("m pp8", 2e-6), is_row("m tg8", 2e-6)))
      << "repetitions of one test";
}

TEST(Metrics, AreOfProblemsOfBenchdnnThatRan) {
  // Since oneDNN 3.0 the lines have the time of creation, and problems may have commas.
  const metrics read = read_metrics(
      "Output template: "
      "perf,%engine%,%impl%,%name%,%prb%,%Gops%,%+ctime%,%-time%,%-Gflops%,%0time%,"
      "%0Gflops%\n"
      "perf,cpu,simple,,--sum --scales=1,2 16x32,0,47.5,0.0648,0,0.0682,0\n"
      "2:SKIPPED (Invalid case) (0 ms) __REPRO: --sum 16x2\n"
      "perf,cpu,,,--sum 16x2,0,0,0,0,0,0\n",
      "x");
  EXPECT_THAT(read.rows, ElementsAre(is_row("--sum --scales=1,2 16x32", 0.0648e-3)));
}

TEST(Metrics, AreColumnsOfCsv) {
  const metric_choice choice{.columns = {"op", "size", "time"}, .higher_is_better = true};
  const metrics read = read_metrics(
      "warming up\nsize,op,time\r\n64,\"a,b\",1.5\r\n8,\"c \"\"d\"\"\", 2e3\r\ntotal: 2\n9,e,x\n",
      "x", choice);
  EXPECT_THAT(read.rows, ElementsAre(is_row("a,b 64", 1.5), is_row("c \"d\" 8", 2000)));
  EXPECT_EQ(read.rows[0].unit, "");
  EXPECT_TRUE(read.rows[0].higher_is_better);
}

TEST(Metrics, AreASingleColumnOfCsv) {
  for (const std::string text : {"ms\n3\n5\n", "ms\r\n3\r\n5\r\n", "ms\n3\n5\n\ntotal\n"}) {
    EXPECT_THAT(read_metrics(text, "x", {.columns = {"ms"}}).rows, ElementsAre(is_row("", 4)));
  }
}

TEST(Metrics, AreWhatAPatternFinds) {
  const metric_choice choice{.pattern = "took ([0-9.]+) ms"};
  const metrics read = read_metrics("took 3 ms\nnothing\nit took 5 ms\ntook 9 ms", "x", choice);
  EXPECT_THAT(read.rows, ElementsAre(is_row(choice.pattern, 5))) << "the median";
}

TEST(Metrics, NameThePlaceOfAnError) {
  EXPECT_THAT(error_of("hello"), mentions("old command", "nvbench JSON", "--csv", "--metric"));
  EXPECT_THAT(error_of(""), mentions("old command", "no known format"));
  EXPECT_THAT(error_of("{\"a\": 1}"), mentions("old command", "unknown format", "hyperfine JSON"));
  EXPECT_THAT(error_of("{\"results\": ["), mentions("old command", "not valid JSON"));
  EXPECT_THAT(error_of("{\"results\": [{\"command\": \"x\"}]}"), mentions("/results/0", "median"));
  EXPECT_THAT(error_of("{\"results\": [{\"command\": \"x\", \"median\": 0}]}"),
              mentions("/results/0/median", "above 0"));
  EXPECT_THAT(error_of("{\"results\": []}"), mentions("no result of hyperfine JSON"));
  EXPECT_THAT(error_of("{\"context\": {}, \"benchmarks\": [{\"name\": \"x\", \"real_time\": 1, "
                       "\"time_unit\": \"h\"}]}"),
              mentions("/benchmarks/0/time_unit", "'h'"));
  EXPECT_THAT(error_of("Output template: perf,%prb%,%-time%\nperf,x\n"),
              mentions("line 2", "whole"));
  EXPECT_THAT(error_of("Output template: perf,%prb%\nperf,x\n"), mentions("line 2", "%-time%"));
  EXPECT_THAT(error_of("a,b\n1,x\n", {.columns = {"a", "b"}}), mentions("line 2", "b", "above 0"));
  EXPECT_THAT(error_of("a,b\n1,2\n", {.columns = {"a", "c"}}), mentions("no line names", "c"));
  EXPECT_THAT(error_of("a\n" + std::string(100000, 'a'), {.pattern = "(?:a|b)*([0-9])"}),
              mentions("line 2", "4096", "--metric"));
  EXPECT_THAT(error_of("took long", {.pattern = "took ([0-9]+)"}), mentions("no result"));
}

TEST(Metrics, HaveWeights) {
  EXPECT_THAT(read_weights("name,weight\nconv1,2\n\"a,b\",0.5\n", "w.csv"),
              ElementsAre(std::pair("a,b", 0.5), std::pair("conv1", 2.)));
  EXPECT_THROW(static_cast<void>(read_weights("name,count\nconv1,2\n", "w.csv")), bad_input);
}

}  // namespace result_program_output_test
}  // namespace layerbench::result
