// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/base/json.hpp>

#include "support/mentions.hpp"
#include "support/program.hpp"
#include "support/temporary_directory.hpp"

namespace layerbench {
namespace tools_memory_test {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using testing::mentions;
using ::testing::StartsWith;

testing::outcome memory(std::vector<std::string> words) {
  words.insert(words.begin(), "memory");
  return testing::run(LAYERBENCH_TOOL, words);
}

json::value json_of(std::vector<std::string> words) {
  words.insert(words.end(), {"--format", "json"});
  const testing::outcome done = memory(words);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  return json::value::parse(done.out);
}

std::int64_t bytes_of(const json::value& of, const std::string& policy) {
  for (const json::value& one : of.at("policies")) {
    if (one.at("policy") == policy) return one.at("bytes");
  }
  ADD_FAILURE() << "no policy " << policy;
  return 0;
}

TEST(Memory, HasPoliciesAndTheCallsOfAStep) {
  const std::vector<std::string> training{"resnet50", "--phase", "training", "--batch", "8"};
  const json::value shown = json_of(training);
  EXPECT_EQ(shown.at("batch"), 8);
  EXPECT_EQ(shown.at("optimizer"), "momentum");
  EXPECT_LT(shown.at("peak").at("bytes"), bytes_of(shown, "pytorch"));
  EXPECT_LT(bytes_of(shown, "reused"), bytes_of(shown, "kept"));
  std::int64_t most = 0;
  for (const json::value& call : shown.at("calls")) {
    most = std::max<std::int64_t>(most, call.at("bytes"));
  }
  EXPECT_EQ(shown.at("peak").at("bytes"), most);
  EXPECT_EQ(shown.at("policies").at(0).at("state_bytes"), 4 * 25557032);
  EXPECT_TRUE(shown.at("policies").at(0).at("scratch_bytes").is_null());
  const testing::outcome text = memory(training);
  EXPECT_THAT(text.out, StartsWith("resnet50 training, f32, batch 8, momentum\n"));
  EXPECT_THAT(text.out, mentions("optimizer state", "gradients", "scratch", "\u2588"));
  EXPECT_THAT(memory({"resnet50", "--format", "csv"}).out,
              StartsWith("layer,pass,part,bytes,input_bytes,weights_bytes,"));
}

TEST(Memory, FindsTheLargestBatch) {
  const json::value shown =
      json_of({"alexnet", "--phase", "training", "--fits", "2GB", "--policy", "kept,pytorch"});
  EXPECT_EQ(shown.at("limit_bytes"), 2'000'000'000);
  for (const json::value& one : shown.at("policies")) {
    const std::int64_t batch = one.at("largest_batch");
    for (const std::int64_t more : {0, 1}) {
      const json::value at =
          json_of({"alexnet", "--phase", "training", "--batch", std::to_string(batch + more)});
      EXPECT_EQ(bytes_of(at, one.at("policy")) <= 2'000'000'000, more == 0);
    }
  }
  EXPECT_THAT(memory({"alexnet", "--fits", "1GiB", "--contexts", "500MB"}).out,
              mentions("largest batch within 1.07 GB", "contexts", "500 MB"));
}

TEST(Memory, HasTheCachesOfALanguageModel) {
  const json::value shown = json_of({"gpt2", "--tokens", "1", "--context", "511"});
  constexpr std::int64_t of_a_token = 12 * 2 * 768 * 4;
  EXPECT_EQ(shown.at("cache_bytes_per_token"), of_a_token);
  EXPECT_EQ(shown.at("peak").at("cache_bytes"), 512 * of_a_token);
}

TEST(Memory, HasTheCachesOfAModelWithFixedSizes) {
  testing::temporary_directory scratch;
  const std::string path = scratch
                               .write("fixed.json", R"({"name": "fixed", "parameters": {"batch": 2},
    "layers": [
      {"name": "key", "op": "gemm", "shape": {"m": "batch", "n": 8, "k": 8}},
      {"name": "cache", "op": "append",
       "shape": {"n": "batch", "tokens": 1, "context": 7, "columns": 8}}]})")
                               .string();
  const json::value shown = json_of({path});
  EXPECT_EQ(shown.at("cache_bytes_per_token"), 8 * 4);
  EXPECT_EQ(shown.at("peak").at("cache_bytes"), 2 * 8 * 8 * 4);
}

TEST(Memory, AddsTheScratchMemoryOfResultFiles) {
  const std::string file =
      std::string(LAYERBENCH_SOURCE_DIR) + "/results/quickstart_2cpu_zen4.json";
  const json::value with = json_of({"resnet50", "--batch", "1", "--scratch", file});
  const json::value without = json_of({"resnet50", "--batch", "1"});
  const std::int64_t scratch = with.at("policies").at(0).at("scratch_bytes");
  EXPECT_GT(scratch, 0);
  EXPECT_EQ(bytes_of(with, "kept"), bytes_of(without, "kept") + scratch);
  const auto predicted = [&](const char* format) {
    return testing::run(LAYERBENCH_TOOL,
                        {"predict", file, "--model", "resnet50", "--format", format})
        .out;
  };
  const json::value beside = json::value::parse(predicted("json")).at("predictions").at(0);
  std::string cells;
  for (const char* policy : {"kept", "reused", "pytorch"}) {
    EXPECT_EQ(beside.at("memory_bytes").at(policy), bytes_of(with, policy)) << policy;
    cells += std::to_string(bytes_of(with, policy)) + ",";
  }
  EXPECT_THAT(predicted("csv"), HasSubstr(cells));
  EXPECT_THAT(predicted("text"),
              ContainsRegex("memory: kept 2.. MB, reused 1.. MB, pytorch 1.. MB"));
  EXPECT_EQ(memory({"resnet50", "--batch", "7", "--scratch", file}).exit_code, 5);
  EXPECT_EQ(memory({"resnet50", "--fusion", "openvino", "--scratch", file}).exit_code, 5);
}

TEST(Memory, RefusesWhatItCannotAnswer) {
  struct refusal {
    std::vector<std::string> words;
    int exit_code;
    std::string named;
  };
  for (const refusal& one :
       std::vector<refusal>{{{"resnet5"}, 5, "resnet50"},
                            {{"resnet50", "--batch", "0"}, 2, "--batch"},
                            {{"resnet50", "--fits", "1MB"}, 5, "--fits"},
                            {{"resnet50", "--fits", "lots"}, 2, "--fits"},
                            {{"resnet50", "--fits", "-5"}, 2, "16GB"},
                            {{"resnet50", "--fits", "0"}, 2, "16GB"},
                            {{"resnet50", "--fits", "1.5GB"}, 2, "16GB"},
                            {{"resnet50", "--fits", "9EB"}, 2, "16GB"},
                            {{"resnet50", "--contexts", "-5MB"}, 2, "16GB"},
                            {{"resnet50", "--contexts", "1.5"}, 2, "16GB"},
                            {{"resnet50", "--policy", "magic"}, 2, "pytorch"},
                            {{"deepbench_training"}, 2, "sweep"},
                            {{"resnet50", "--dtype", "s8", "--phase", "training"}, 2, "s8"}}) {
    const testing::outcome done = memory(one.words);
    EXPECT_EQ(done.exit_code, one.exit_code) << one.named;
    EXPECT_THAT(done.err, mentions(one.named));
    EXPECT_EQ(done.out, "");
  }
}

}  // namespace tools_memory_test
}  // namespace layerbench
