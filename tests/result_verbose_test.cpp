// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/base/error.hpp>
#include <layerbench/result/verbose_log.hpp>

/// The logs of tests/data/verbose, whose README.md says how they were made.
namespace layerbench::result {
namespace result_verbose_test {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

std::filesystem::path data() { return LAYERBENCH_SOURCE_DIR "/tests/data/verbose"; }

std::string text_of(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(data() / name).rdbuf();
  return std::move(text).str();
}

verbose_log read_text(const std::string& text) {
  std::istringstream stream(text);
  return read_verbose(stream, "log");
}

/// Milliseconds behind the last comma of each line of a call.
double milliseconds_in(const std::string& text) {
  std::istringstream lines(text);
  double sum = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(",exec,") != std::string::npos)
      sum += std::stod(line.substr(line.rfind(',') + 1));
  }
  return sum;
}

TEST(VerboseLog, EveryLineOfRealLogsIsRead) {
  std::size_t logs = 0;
  for (const auto& file : std::filesystem::directory_iterator(data())) {
    if (file.path().extension() != ".log") continue;
    SCOPED_TRACE(file.path().string());
    ++logs;
    const std::string text = text_of(file.path().filename().string());
    const verbose_log log = read_verbose(file.path());
    EXPECT_EQ(log.damaged, 0);
    EXPECT_EQ(log.processes, 1);
    EXPECT_FALSE(log.isa.empty());
    EXPECT_GE(log.threads, 1);
    // Each call is in a step, before or behind the steps.
    const verbose_step step = step_of(log);
    double sum = 0;
    for (const verbose_record& call : log.records) sum += call.seconds;
    EXPECT_THAT(sum * 1e3, DoubleNear(milliseconds_in(text), 1e-6));
    EXPECT_GE(step.place.steps, 2);
    EXPECT_LT(log.records.size() - step.place.first - step.place.steps * step.place.period,
              step.place.period);
  }
  EXPECT_GE(logs, 13);
}

TEST(VerboseLog, FormatsOfAllVersionsSayTheSame) {
  for (const auto& [name, version] :
       {std::pair("version_2_6.log", "2.6.3"), std::pair("version_3_2.log", "3.2.0")}) {
    const verbose_log log = read_verbose(data() / name);
    EXPECT_EQ(log.version, version);
    EXPECT_EQ(log.isa, "Intel AVX-512 with Intel DL Boost and bfloat16 support");
    const verbose_primitive& first = log.primitives[0];
    EXPECT_EQ(first.kind, "convolution");
    EXPECT_EQ(first.implementation, "brgconv:avx512_core");
    EXPECT_EQ(first.tensor("src").tag, "acdb");
    EXPECT_EQ(first.tensor("wei").tag, "Acdb64a");
    EXPECT_EQ(first.tensor("bia").type, "undef");
    EXPECT_EQ(first.setting("alg"), "convolution_direct");
    EXPECT_EQ(problem_sizes(first.problem).of("oc"), 64);
    EXPECT_EQ(step_of(log).calls.size(), 3);
  }
  const verbose_log newest = read_verbose(data() / "alexnet.log");
  EXPECT_EQ(newest.version, "3.13.3");
  EXPECT_EQ(newest.primitives[0].tensor("wei").tag, "Acdb16a");
  EXPECT_TRUE(newest.records.front().at_seconds);
  EXPECT_GT(newest.records.front().created, 0);
  EXPECT_GT(newest.records.front().creation, 0);
  EXPECT_EQ(newest.records.back().anew, 0);
}

TEST(VerboseLog, SizesThatAreTooLargeAreTheLargest) {
  const problem_sizes sizes("mb1_ic9223372036854775800oc99999999999999999999_ih7");
  EXPECT_EQ(sizes.of("ic"), max_size);
  EXPECT_EQ(sizes.of("oc"), max_size);
  EXPECT_EQ(sizes.of("ih"), 7);
  EXPECT_EQ(sizes.of("iw", 3), 3);
  EXPECT_FALSE(extents_of("2x9223372036854775800"));
}

TEST(VerboseLog, LongRunsTakeLinearTime) {
  // A line of markers, and a run of reorders, took minutes when each was looked at from each.
  std::string markers;
  for (int i = 0; i < 300'000; ++i) markers += "onednn_verbose,";
  EXPECT_EQ(read_text(markers + "\n").damaged, 300'000);
  const std::string reorder =
      "onednn_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:ab:f0 "
      "dst_f32::blocked:ba:f0,,,2x3,1\n";
  std::string reorders;
  for (int i = 0; i < 300'000; ++i) reorders += reorder;
  EXPECT_EQ(step_of(read_text(reorders), true).calls.size(), 300'000);
}

TEST(VerboseLog, RefusalsBelongToThePrimitiveThatIsCreatedNext) {
  const std::string begin = "onednn_verbose,v1,primitive,create";
  const std::string problem = "cpu,matmul,ref:any,undef,src:f16::blocked:ab::f0,,,4x5:5x6";
  const verbose_log log = read_text(
      begin +
      ":dispatch,matmul,cpu,matmul,brg_matmul:avx512_core,undef,src:f16::blocked:ab::f0,,,"
      "4x5:5x6,unsupported datatype, as f16,src/cpu/x64/matmul/brgemm_matmul.cpp:103\n" +
      begin + ":dispatch,matmul,unsupported isa,src/cpu/x64/a.cpp:7\n" +  //
      begin + ":cache_miss," + problem + ",0.5\nonednn_verbose,v1,primitive,exec," + problem +
      ",2.5\n");
  ASSERT_EQ(log.primitives.size(), 1);
  EXPECT_TRUE(log.primitives[0].is_reference());
  EXPECT_THAT(
      log.primitives[0].refusals,
      ElementsAre("brg_matmul:avx512_core: unsupported datatype, as f16", "unsupported isa"));
  const verbose_log groups = read_verbose(data() / "groups.log");
  EXPECT_FALSE(groups.primitives[0].refusals.empty());
}

TEST(VerboseLog, FindsTheStepBehindAWarmUpAndBeforeACutEnd) {
  const auto found = [](const std::vector<std::size_t>& sequence) {
    const repeated_step step = find_step(sequence);
    return std::vector{step.first, step.period, step.steps};
  };
  EXPECT_THAT(found({}), ElementsAre(0, 0, 1));
  EXPECT_THAT(found({7}), ElementsAre(0, 1, 1));
  EXPECT_THAT(found({1, 2, 3, 4, 5}), ElementsAre(0, 5, 1));
  EXPECT_THAT(found({1, 1, 1, 1}), ElementsAre(0, 1, 4));
  EXPECT_THAT(found({1, 2, 1, 3, 1, 2, 1, 3, 1, 2}), ElementsAre(0, 4, 2));
  EXPECT_THAT(found({8, 9, 1, 2, 1, 3, 1, 2, 1, 3}), ElementsAre(2, 4, 2));
  // Layers repeat within a step, twelve times.
  std::vector<std::size_t> steps{50, 51};
  for (int step = 0; step < 6; ++step) {
    steps.push_back(1);
    for (int i = 0; i < 12; ++i) steps.insert(steps.end(), {2, 3, 2, 4});
    steps.push_back(5);
  }
  EXPECT_THAT(found(steps), ElementsAre(2, 50, 6));
  // A log with a warm-up may begin within a step: the last step is whole.
  steps.resize(steps.size() - 7);
  EXPECT_THAT(found(steps), ElementsAre(45, 50, 5));
  steps.erase(steps.begin(), steps.begin() + 2);
  EXPECT_THAT(found(steps), ElementsAre(0, 50, 5));
  // Calls behind the last step need not begin one.
  steps.insert(steps.end(), {60, 61, 62});
  EXPECT_THAT(found(steps), ElementsAre(0, 50, 5));
  EXPECT_THAT(found({1, 2, 1, 2, 7, 8, 9, 6}), ElementsAre(0, 2, 2));
  EXPECT_THAT(found({1, 2, 1, 2, 7, 8, 9, 6, 5}), ElementsAre(0, 9, 1));
}

TEST(VerboseLog, CutLinesAreCounted) {
  const std::string call = "onednn_verbose,exec,cpu,sum,jit,undef,src_f32 dst_f32,,,2x3:2x3,";
  const verbose_log log =
      read_text("Epoch 1\n\n" + call + "1\n" + "loss 0.5 " + call + "2\r\n" +  //
                call.substr(0, 40) + call + "3\n" +                            // one inside another
                call + "x\n" + call.substr(0, 50) + "\nonednn_verbose,\nonednn_verbose,exec,\n" +
                call + "-1\n" + call + "nan");
  EXPECT_EQ(log.records.size(), 3);
  EXPECT_EQ(log.primitives.size(), 1);
  EXPECT_EQ(log.damaged, 7);
}

TEST(VerboseLog, FileWithoutCallsIsBadInput) {
  EXPECT_THROW(static_cast<void>(read_verbose(data() / "README.md")), bad_input);
  EXPECT_THROW(static_cast<void>(read_verbose(data() / "none.log")), bad_input);
  EXPECT_THROW(static_cast<void>(read_verbose(data())), bad_input);
}

TEST(VerboseLog, MillionLinesAreReadAndTheirStepIsFound) {
  const std::string text = text_of("resnet18.log");
  std::ostringstream all;
  for (std::size_t lines = 0; lines < 1'000'000; lines += 240) all << text;
  const verbose_log log = read_text(std::move(all).str());
  EXPECT_GE(log.records.size(), 900'000);
  EXPECT_EQ(step_of(log).place.period, 40);
}

TEST(VerboseLog, NoMutationOfALogCrashes) {
  std::mt19937 dice(11);
  const auto below = [&](std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(dice);
  };
  for (const char* name : {"version_2_6.log", "others.log", "creation.log", "groups.log"}) {
    const std::string original = text_of(name);
    for (int i = 0; i < 60; ++i) {
      std::string text = original;
      for (std::size_t changes = 1 + below(60); changes > 0; --changes) {
        const std::size_t at = below(text.size());
        constexpr std::string_view junk = ",:x_\n0129 +\xff";
        switch (below(4)) {
          case 0: text.erase(at, below(80)); break;
          case 1: text.insert(at, text.substr(below(text.size()), below(200))); break;
          case 2: text[at] = junk[below(junk.size())]; break;
          default: text.insert(at, "999999999999999999"); break;
        }
      }
      const verbose_log log = read_text(text);
      const verbose_step step = step_of(log);
      for (const verbose_primitive& one : log.primitives) {
        static_cast<void>(one.tensors());
        static_cast<void>(extents_of(one.problem));
      }
      EXPECT_LE(step.place.first + step.place.period * step.place.steps, log.records.size());
    }
  }
}

}  // namespace result_verbose_test
}  // namespace layerbench::result
