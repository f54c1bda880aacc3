// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "support/bench.hpp"

/// bench_model --streams: instances of a model side by side.
namespace layerbench {
namespace bench_streams_test {

using ::testing::HasSubstr;
using testing::texts;

class Streams : public ::testing::Test {
 protected:
  [[nodiscard]] testing::outcome bench(const texts& arguments) const {
    return directory_.bench("bench_model", arguments);
  }
  testing::tiny_directory directory_;
};

json::value json_of(const texts& command) {
  const testing::outcome done = testing::run(LAYERBENCH_TOOL, command);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  return json::value::parse(done.out);
}

TEST_F(Streams, AreCasesWithTheirOwnRowsAndSteps) {
  const result::results found = directory_.measure(
      {"--threads=2", "--streams=1,2,4", "--chain", "--cache=model", "--benchmark_repetitions=1"});
  std::map<std::int64_t, int> rows;
  for (const result::measurement& row : found.rows) {
    EXPECT_EQ(row.error, "");
    ++rows[row.name.model_case.streams()];
  }
  EXPECT_EQ(rows[1], rows[2]);
  EXPECT_EQ(rows[1], rows[4]);
  for (const result::measurement& chain : found.chains) {
    EXPECT_EQ(chain.error, "");
    const bool several = chain.name.model_case.streams() > 1;
    EXPECT_EQ(chain.counters.contains("latency_p99_s"), several) << chain.name.text();
    if (!several) continue;
    EXPECT_LE(chain.counters.at("latency_p50_s"), chain.counters.at("latency_p99_s"));
    EXPECT_GE(chain.counters.at("latencies"), 1);
  }
}

TEST_F(Streams, GiveTheThroughputAndTheLatencyOfAll) {
  static_cast<void>(directory_.measure({"--threads=2", "--streams=2", "--batch=3", "--chain",
                                        "--cache=model", "--benchmark_repetitions=1"}));
  const json::value predicted =
      json_of({"predict", directory_.results, "--format=json"})["predictions"].at(0);
  EXPECT_NEAR(predicted.at("images_per_second").get<double>(),
              2 * 3 / predicted.at("seconds_per_step").get<double>(), 1e-6);
  EXPECT_LE(predicted.at("latency_seconds").at("p50"), predicted.at("latency_seconds").at("p99"));
  const json::value validated =
      json_of({"validate", directory_.results, "--format=json"})["cases"].at(0);
  EXPECT_EQ(validated.at("predicted_latency_seconds"), predicted.at("latency_seconds"));
  EXPECT_GT(validated.at("measured_latency_seconds").at("p99"), 0);
}

TEST_F(Streams, HaveCurvesOfWhichTheBestIsNamed) {
  const testing::outcome done = bench({"--threads=2", "--streams=1,2", "--batch=1..8", "--curve",
                                       "--budget=2", "--benchmark_out=" + directory_.results});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("best of all curves"));
  const json::value found = json_of({"curve", directory_.results, "--format=json"});
  ASSERT_EQ(found["curves"].size(), 2U);
  ASSERT_EQ(found["best"].size(), 1U);
  double most = 0;
  for (const json::value& curve : found["curves"]) {
    for (const json::value& point : curve["points"]) {
      most = std::max(most, point["items_per_second"].get<double>());
    }
  }
  EXPECT_EQ(found["best"][0]["point"]["items_per_second"], most);
  const json::value none =
      json_of({"curve", directory_.results, "--format=json", "--latency-limit=1e-6"});
  EXPECT_EQ(none["best"][0]["point"], nullptr);
}

/// Processes of bench_model that run, and their parents.
std::map<::pid_t, ::pid_t> programs() {
  std::map<::pid_t, ::pid_t> found;
  for (const auto& item : std::filesystem::directory_iterator("/proc")) {
    std::ifstream status(item.path() / "stat");
    ::pid_t id = 0;
    std::string program;
    std::string state;
    ::pid_t parent = 0;
    if (!(status >> id >> program >> state >> parent)) continue;
    if (program.starts_with("(bench_model") && state != "Z") found[id] = parent;
  }
  return found;
}

std::set<::pid_t> children_of(::pid_t of) {
  std::set<::pid_t> found;
  for (const auto& [id, parent] : programs()) {
    if (parent == of) found.insert(id);
  }
  return found;
}

/// Waits until `done()`, for a minute.
template <class Done>
bool comes(Done&& done) {
  for (int i = 0; i < 6000; ++i) {
    if (done()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST_F(Streams, ThatEndAreStartedAgainAndEndWithTheProgram) {
  std::set<::pid_t> others;
  {
    testing::child running(
        testing::bench_path("bench_model"),
        testing::shortly(directory_.model, {"--threads=2", "--streams=4", "--cache=model",
                                            "--benchmark_repetitions=100000"}));
    ASSERT_TRUE(comes([&] { return children_of(running.id()).size() == 3; }));
    const ::pid_t first = *children_of(running.id()).begin();
    ::kill(first, SIGKILL);
    ASSERT_TRUE(comes([&] {
      others = children_of(running.id());
      return others.size() == 3 && !others.contains(first);
    }));
  }
  EXPECT_TRUE(comes([&] {
    const auto left = programs();
    return std::ranges::none_of(others, [&](::pid_t one) { return left.contains(one); });
  }));
}

TEST_F(Streams, ThatMakeNoSenseAreAWrongCommand) {
  for (const auto& [arguments, named] :
       std::vector<std::pair<texts, std::string>>{{{"--streams=3", "--threads=2"}, "evenly"},
                                                  {{"--streams=2", "--plans=measured"}, "--plans"},
                                                  {{"--streams=2", "--energy"}, "--energy"},
                                                  {{"--streams=0"}, "0"}}) {
    const testing::outcome done = bench(arguments);
    EXPECT_EQ(done.exit_code, 2) << named;
    EXPECT_THAT(done.err, HasSubstr(named));
  }
}

}  // namespace bench_streams_test
}  // namespace layerbench
