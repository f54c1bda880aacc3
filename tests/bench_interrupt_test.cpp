// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <ranges>
#include <string>
#include <thread>

#include <gmock/gmock.h>

#include "support/bench.hpp"

/// Runs that do not come to their end, and what is left of them.
namespace layerbench {
namespace bench_interrupt_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::rounds_of;
using ::testing::SizeIs;
using testing::texts;
using ::testing::UnorderedElementsAre;

/// Measuring that would take minutes, stopped by a signal once `file` has rows.
testing::outcome stopped(const testing::tiny_directory& directory, int signal,
                         const std::string& file, const texts& arguments = {}) {
  texts all{"--benchmark_min_time=0.01", "--benchmark_repetitions=10000",
            "--benchmark_out=" + directory.results};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const auto written = [&] {
    std::error_code absent;
    const auto time = std::filesystem::last_write_time(file, absent);
    return absent ? std::filesystem::file_time_type::min() : time;
  };
  // The first write follows the first pass, the third at least one whole round.
  constexpr int enough = 3;
  int writes = 0;
  auto before = written();
  testing::child running(testing::bench_path("bench_model"),
                         testing::shortly(directory.model, all));
  for (int i = 0; i < 30'000 && writes < enough; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const auto now = written();
    if (now != before) ++writes;
    before = now;
  }
  running.signal(signal);
  return running.wait();
}

std::size_t rounds_in(const result::results& results) {
  std::int64_t last = -1;
  for (const result::measurement& row : results.rows) last = std::max(last, row.round);
  return static_cast<std::size_t>(last + 1);
}

/// Rounds of the row that has the fewest.
std::size_t fewest_rounds(const result::results& results) {
  std::map<std::string, std::size_t> counts;
  for (const auto& [which, row] : rounds_of(results)) ++counts[which.first];
  EXPECT_THAT(counts, SizeIs(6));
  return std::ranges::min(counts | std::views::values);
}

class Interrupt : public ::testing::TestWithParam<int> {
 protected:
  result::results interrupted() {
    const testing::outcome done = stopped(directory_, GetParam(), directory_.results);
    EXPECT_EQ(done.exit_code, 130);
    EXPECT_THAT(done.err,
                AllOf(HasSubstr("interrupted"), HasSubstr("--resume=" + directory_.results)));
    EXPECT_THAT(done.out, HasSubstr("\nconv/conv1 "));
    return result::read(directory_.results);
  }

  testing::tiny_directory directory_;
};

TEST_P(Interrupt, KeepsWhatWasMeasured) {
  const result::results left = interrupted();
  const auto rounds = rounds_of(left);
  EXPECT_GE(rounds.size(), 6U);
  EXPECT_LT(rounds.size(), 6U * 10000);
  EXPECT_EQ(left.context.at("interrupted"), "1");
  EXPECT_THAT(directory_.files(), UnorderedElementsAre("tiny.json", "results.json"));
}

TEST_P(Interrupt, CanBeResumed) {
  const result::results before = interrupted();
  const std::size_t wanted = rounds_in(before) + 2;
  const testing::outcome done = directory_.bench(
      "bench_model", {"--resume=" + directory_.results, "--benchmark_min_time=0.001",
                      "--benchmark_repetitions=" + std::to_string(wanted)});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const result::results after = result::read(directory_.results);
  EXPECT_GE(fewest_rounds(after), wanted);
  EXPECT_EQ(after.context.at("interrupted"), "0");
  testing::expect_kept(before, after);
}

INSTANTIATE_TEST_SUITE_P(Signals, Interrupt, ::testing::Values(SIGINT, SIGTERM),
                         [](const auto& instance) {
                           return instance.param == SIGINT ? "Int" : "Term";
                         });

TEST(Turns, StopBeforeEachRound) {
  const testing::tiny_directory directory;
  testing::child running(
      testing::bench_path("bench_model"),
      testing::shortly(directory.model, {"--turns", "--benchmark_out=" + directory.results}));
  int stops = 0;
  for (; running.wait_for_stop(); ++stops) running.signal(SIGCONT);
  EXPECT_EQ(running.wait().exit_code, 0);
  EXPECT_EQ(stops, 3) << "the number of rounds";
  const result::results measured = result::read(directory.results);
  EXPECT_THAT(rounds_of(measured), SizeIs(3 * 6));
  EXPECT_EQ(measured.context.at("turns"), "true");
}

TEST(Turns, CanBeInterrupted) {
  const testing::tiny_directory directory;
  testing::child running(
      testing::bench_path("bench_model"),
      testing::shortly(directory.model, {"--turns", "--benchmark_out=" + directory.results}));
  ASSERT_TRUE(running.wait_for_stop());
  running.signal(SIGCONT);
  ASSERT_TRUE(running.wait_for_stop());
  running.signal(SIGINT);
  running.signal(SIGCONT);
  EXPECT_EQ(running.wait().exit_code, 130);
  EXPECT_THAT(rounds_of(result::read(directory.results)), SizeIs(6)) << "of the first round";
}

/// Where whole results are already.
class OlderFile : public ::testing::Test {
 protected:
  testing::tiny_directory directory_;
  std::string partial_ = directory_.results + ".partial";
};

TEST_F(OlderFile, StaysWhenANewRunIsInterrupted) {
  static_cast<void>(directory_.write("results.json", "old"));
  const testing::outcome done = stopped(directory_, SIGINT, partial_);
  EXPECT_EQ(done.exit_code, 130);
  const std::string again = "--resume=" + partial_ + " --benchmark_out=" + directory_.results;
  EXPECT_THAT(done.err, HasSubstr(again));
  EXPECT_EQ(json::read_text(directory_.results), "old");
  EXPECT_EQ(result::read(partial_).context.at("interrupted"), "1");
}

TEST_F(OlderFile, IsReplacedWhenTheRunWasResumedToItsEnd) {
  static_cast<void>(directory_.write("results.json", "old"));
  static_cast<void>(stopped(directory_, SIGINT, partial_));
  const result::results before = result::read(partial_);
  const std::size_t wanted = rounds_in(before) + 1;
  const testing::outcome done = directory_.bench(
      "bench_model", {"--resume=" + partial_, "--benchmark_out=" + directory_.results,
                      "--benchmark_repetitions=" + std::to_string(wanted)});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const result::results after = result::read(directory_.results);
  EXPECT_GE(fewest_rounds(after), wanted);
  testing::expect_kept(before, after);
  EXPECT_THAT(directory_.files(), UnorderedElementsAre("tiny.json", "results.json"));
}

TEST_F(OlderFile, IsNotToLoseTheRowsOfTheRunThatWasInterrupted) {
  static_cast<void>(directory_.write("results.json", "old"));
  static_cast<void>(stopped(directory_, SIGINT, partial_));
  const std::string left = json::read_text(partial_);
  const testing::outcome done =
      directory_.bench("bench_model", {"--benchmark_out=" + directory_.results});
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_EQ(done.out, "");
  EXPECT_THAT(done.err,
              AllOf(HasSubstr("--resume=" + partial_ + " --benchmark_out=" + directory_.results),
                    HasSubstr("or remove it")));
  EXPECT_EQ(json::read_text(partial_), left);
  EXPECT_EQ(json::read_text(directory_.results), "old");

  std::filesystem::remove(partial_);
  EXPECT_EQ(directory_.bench("bench_model", {"--benchmark_out=" + directory_.results}).exit_code,
            0);
  EXPECT_EQ(result::read(directory_.results).context.at("interrupted"), "0");
}

TEST_F(OlderFile, IsNotToLoseThemToARunThatResumesAnotherFile) {
  static_cast<void>(directory_.measure());
  const std::string other =
      directory_.write("other.json", json::read_text(directory_.results)).string();
  static_cast<void>(directory_.write("results.json.partial", "rows"));
  const testing::outcome done = directory_.bench(
      "bench_model", {"--resume=" + other, "--benchmark_out=" + directory_.results});
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_THAT(done.err, HasSubstr(partial_));
  EXPECT_EQ(json::read_text(partial_), "rows");
}

TEST_F(OlderFile, StaysWhenANewRunIsKilled) {
  static_cast<void>(directory_.write("results.json", "old"));
  EXPECT_EQ(stopped(directory_, SIGKILL, partial_).exit_code, 128 + SIGKILL);
  EXPECT_EQ(json::read_text(directory_.results), "old");
  EXPECT_THAT(rounds_of(result::read(partial_)), Not(SizeIs(0)));
}

TEST_F(OlderFile, IsReplacedByAWholeRunWhichSaysSo) {
  static_cast<void>(directory_.write("results.json", "old"));
  const testing::outcome done =
      directory_.bench("bench_model", {"--benchmark_out=" + directory_.results});
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_THAT(done.err, HasSubstr(partial_));
  EXPECT_EQ(result::read(directory_.results).context.at("interrupted"), "0");
  EXPECT_THAT(directory_.files(), UnorderedElementsAre("tiny.json", "results.json"));
}

TEST_F(OlderFile, GrowsWhenItIsTheOneThatIsResumed) {
  const result::results before = directory_.measure();
  const testing::outcome done =
      stopped(directory_, SIGINT, directory_.results, {"--resume=" + directory_.results});
  EXPECT_EQ(done.exit_code, 130);
  const result::results after = result::read(directory_.results);
  EXPECT_GT(after.rows.size(), before.rows.size());
  testing::expect_kept(before, after);
  EXPECT_THAT(directory_.files(), UnorderedElementsAre("tiny.json", "results.json"));
}

TEST_F(OlderFile, ThatIsEmptyHasNothingToKeep) {
  static_cast<void>(directory_.write("results.json", ""));
  EXPECT_EQ(stopped(directory_, SIGINT, directory_.results).exit_code, 130);
  EXPECT_THAT(rounds_of(result::read(directory_.results)), Not(SizeIs(0)));
  EXPECT_THAT(directory_.files(), UnorderedElementsAre("tiny.json", "results.json"));
}

TEST_F(OlderFile, IsNotToBeResumedFromAFormWithoutItsRows) {
  static_cast<void>(directory_.write("results.json", "old"));
  const testing::outcome done =
      stopped(directory_, SIGINT, partial_, {"--benchmark_out_format=csv"});
  EXPECT_EQ(done.exit_code, 130);
  EXPECT_THAT(done.err, AllOf(HasSubstr(partial_), Not(HasSubstr("--resume"))));
}

}  // namespace bench_interrupt_test
}  // namespace layerbench
