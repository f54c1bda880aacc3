// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include "support/golden.hpp"
#include "support/mentions.hpp"
#include "support/program.hpp"
#include "support/temporary_directory.hpp"

/// `layerbench deepbench`, and the sweeps in `list` and `show`.
namespace layerbench {
namespace tools_deepbench_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::mentions;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

testing::outcome tool(const std::vector<std::string>& arguments) {
  return testing::run(LAYERBENCH_TOOL, arguments);
}

json::value json_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--format", "json"});
  const testing::outcome done = tool(arguments);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  return json::value::parse(done.out);
}

/// One round of a row, in nanoseconds.
std::string timing(const std::string& name, const std::string& key, int round, double nanoseconds) {
  return fmt::format(
      R"({{"name": "{0}", "run_name": "{0}", "run_type": "iteration", "repetition_index": {2},)"
      R"( "iterations": 1, "real_time": {3}, "cpu_time": {3}, "time_unit": "ns",)"
      R"( "label": "key={1};algo=a;state="}})",
      name, key, round, nanoseconds);
}

/// Convolution 5 of the training list (n 4, c 32, 79x341, k 32, 5x10, stride 2: 38x166 outputs),
/// GEMM 1 (1760x16x1760), all-reduce 1 and the first recurrent layer, in two rounds.
std::string results(const std::string& cache = "hot") {
  const std::string conv = "onednn/f32/deepbench_training/conv_005_n4_c32_h79_w341_k32_r5_s10";
  const std::string conv_key = "n:4,c:32,h:79,w:341,k:32,r:5,s:10,stride:2";
  std::vector<std::string> rows;
  for (int round = 0; round < 2; ++round) {
    const double slower = round == 0 ? 0.9 : 1.1;
    const auto add = [&](const std::string& begin, const std::string& key, const std::string& end,
                         double nanoseconds) {
      rows.push_back(timing(begin + end + "/cache:" + cache, key, round, slower * nanoseconds));
    };
    add("conv/fwd/" + conv, conv_key, "/batch:4", 1e6);
    add("conv/bwd_data/" + conv, conv_key, "/batch:4", 2e6);
    add("conv/bwd_weights/" + conv, conv_key, "/batch:4", 4e6);
    add("gemm/fwd_training/onednn/f32/deepbench_training/gemm_001_1760x16x1760",
        "m:16,n:1760,k:1760", "/batch:16", 1e6);
    add("rnn/fwd_training/onednn/f32/deepbench_training/rnn_001_vanilla_h1760_n16_t50",
        "kind:vanilla,batch:16,steps:50,inputs:1760,hidden:1760", "/batch:16", 5e6);
    // Not the sizes of the list.
    add("gemm/fwd_training/onednn/f32/deepbench_training/gemm_002_1760x32x1760", "m:1,n:1,k:1",
        "/batch:32", 1e6);
    // Another program's row.
    add("gemm/fwd/onednn/f32/resnet50/fc", "m:1,n:1000,k:2048", "/batch:1", 1e6);
    rows.push_back(
        timing("allreduce/fwd/mpi/f32/deepbench_training/allreduce_001_100000_floats/"
               "batch:1/cache:" +
                   cache + "/ranks:4",
               "bytes:400000,ranks:4,in_place:1", round, slower * 1e6));
  }
  return fmt::format(R"({{"context": {{"layerbench_schema": "1", "threads": "2"}},)"
                     R"( "benchmarks": [{}]}})",
                     fmt::join(rows, ","));
}

struct results_file : testing::temporary_directory {
  std::string path_of(const std::string& text) const { return write("r.json", text).string(); }
};

TEST(DeepBenchReport, HasTimesAndFlopsOfEachPass) {
  const results_file folder;
  const json::value all = json_of({"deepbench", folder.path_of(results())}).at("results");
  ASSERT_EQ(all.size(), 2U);  // oneDNN's, and MPI's
  const json::value& computed = all.at(1).at("backend") == "onednn" ? all.at(1) : all.at(0);
  EXPECT_EQ(computed.at("model"), "deepbench_training");
  EXPECT_EQ(computed.at("dtype"), "f32");
  EXPECT_EQ(computed.at("threads"), 2);
  ASSERT_EQ(computed.at("rows").size(), 3U);
  EXPECT_EQ(computed.at("unmeasured").size(), 94U + 160 + 53 + 7 - 3);

  const json::value& conv = computed.at("rows").at(0);
  EXPECT_EQ(conv.at("sizes"), json::value::parse(R"({"w": 341, "h": 79, "c": 32, "n": 4, "k": 32,
      "f_w": 10, "f_h": 5, "pad_w": 0, "pad_h": 0, "stride_w": 2, "stride_h": 2})"));
  const double flops = 2.0 * 4 * 32 * 32 * 5 * 10 * 38 * 166;
  const std::map<std::string, double> seconds{
      {"fwd", 1e-3}, {"bwd_data", 2e-3}, {"bwd_weights", 4e-3}};
  EXPECT_EQ(conv.at("times").size(), seconds.size());
  for (const json::value& time : conv.at("times")) {
    const double expected = seconds.at(time.at("pass"));
    EXPECT_DOUBLE_EQ(time.at("seconds"), expected);
    EXPECT_DOUBLE_EQ(time.at("flops"), flops);
    EXPECT_DOUBLE_EQ(time.at("tflops"), flops / expected * 1e-12);
  }
  EXPECT_DOUBLE_EQ(conv.at("total_seconds"), 7e-3);

  const json::value& gemm = computed.at("rows").at(1);
  EXPECT_EQ(gemm.at("sizes"),
            json::value::parse(R"({"m": 1760, "n": 16, "k": 1760, "a_t": "n", "b_t": "n"})"));
  EXPECT_DOUBLE_EQ(gemm.at("times").at(0).at("flops"), 2.0 * 1760 * 16 * 1760);

  const json::value& rnn = computed.at("rows").at(2);
  EXPECT_EQ(rnn.at("times").size(), 1U);
  EXPECT_TRUE(rnn.at("total_seconds").is_null());  // without the backward pass
}

/// DeepBench's bandwidth: the bytes of all ranks by the time.
TEST(DeepBenchReport, HasTheBandwidthOfAllReduces) {
  const results_file folder;
  const json::value all = json_of({"deepbench", folder.path_of(results())}).at("results");
  const json::value& reduced = all.at(0).at("backend") == "mpi" ? all.at(0) : all.at(1);
  EXPECT_EQ(reduced.at("ranks"), 4);
  const json::value& row = reduced.at("rows").at(0);
  EXPECT_EQ(row.at("sizes"), json::value::parse(R"({"floats": 100000, "bytes": 400000})"));
  EXPECT_DOUBLE_EQ(row.at("bandwidth"), 4 * 400000 / 1e-3);
}

TEST(DeepBenchReport, HasATableForEachKindAndARecordForEachPass) {
  const results_file folder;
  const std::string file = folder.path_of(results());
  const testing::outcome shown = tool({"deepbench", file});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  for (const char* title :
       {"f_w", "stride_h", "fwd_time (usec)", "bwd_inputs_time (usec)", "bwd_params_time (usec)",
        "total_time (usec)", "a_t", "precision", "hidden", "timesteps", "GB/s", "tflops"}) {
    EXPECT_THAT(shown.out, HasSubstr(title));
  }
  EXPECT_THAT(shown.out, Not(HasSubstr("resnet50")));
  EXPECT_THAT(shown.out, Not(HasSubstr("gemm_002")));
  const testing::outcome records = tool({"deepbench", file, "--format", "csv"});
  std::istringstream stream(records.out);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  EXPECT_THAT(lines, SizeIs(1 + 3 + 1 + 1 + 1));
  EXPECT_THAT(lines.front(), StartsWith("model,backend,"));
}

TEST(DeepBenchReport, RefusesWhatHasNoSweep) {
  const results_file folder;
  EXPECT_EQ(tool({"deepbench"}).exit_code, 2);
  EXPECT_EQ(tool({"deepbench", testing::tiny_file}).exit_code, 5);
  EXPECT_EQ(tool({"deepbench", folder.path_of(results("model"))}).exit_code, 5);
  const std::string file = folder.path_of(results());
  EXPECT_EQ(tool({"deepbench", file, "--model", "resnet50"}).exit_code, 2);
  EXPECT_EQ(tool({"deepbench", file, "--model", "deepbench_inference_device"}).exit_code, 5);
  EXPECT_EQ(tool({"deepbench", file, "--model", "no_such_sweep"}).exit_code, 5);
}

TEST(Tool, PredictsNoSweep) {
  const results_file folder;
  const std::string file = folder.path_of(results());
  const testing::outcome predicted = tool({"predict", file, "--model", "deepbench_training"});
  EXPECT_EQ(predicted.exit_code, 2);
  EXPECT_THAT(predicted.err, mentions("deepbench_training", "sweep"));
  EXPECT_EQ(tool({"report", file, "--model", "deepbench_training"}).exit_code, 2);
  EXPECT_EQ(tool({"predict", "--throughput", "100", "--model", "deepbench_training", "--devices",
                  "2", "--network", "dgx1_v100"})
                .exit_code,
            2);
}

TEST(Tool, ListsSweeps) {
  std::set<std::string> names;
  const json::value sweeps = json_of({"list", "--sweeps"});
  for (const json::value& sweep : sweeps.at("sweeps")) {
    names.insert(sweep.at("name"));
    EXPECT_THAT(sweep.at("source"), HasSubstr("da81ba7"));
    EXPECT_GT(sweep.at("rows"), 0);
  }
  EXPECT_THAT(names, ElementsAre("deepbench_inference_device", "deepbench_inference_server",
                                 "deepbench_training"));
  const json::value models = json_of({"list"});
  for (const json::value& model : models.at("models")) {
    EXPECT_FALSE(names.contains(model.at("name")));
  }
}

TEST(Tool, ShowsASweep) {
  const json::value shown = json_of({"show", "deepbench_inference_device"});
  EXPECT_EQ(shown.at("layers").size(), 16U + 13 + 8 + 3);
  EXPECT_TRUE(shown.at("batch").is_null());
  EXPECT_TRUE(shown.at("phase").is_null());
  EXPECT_EQ(tool({"show", "deepbench_training"}).exit_code, 0);
  EXPECT_EQ(tool({"show", "deepbench_training", "--batch", "4"}).exit_code, 2);
  EXPECT_EQ(tool({"show", "deepbench_training", "--phase", "training"}).exit_code, 2);
}

}  // namespace tools_deepbench_test
}  // namespace layerbench
