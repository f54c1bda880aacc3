// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <list>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/analysis/scaling/contention.hpp>
#include <layerbench/analysis/validate/validation.hpp>
#include <layerbench/result/read_results.hpp>

#include "support/ranks.hpp"

// Several processes that work together, as mpirun starts them.

namespace layerbench {
namespace bench_mpi_test {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::launcher;
using ::testing::Not;
using ::testing::SizeIs;
using testing::started;
using testing::texts;

testing::child start(int ranks, const texts& arguments,
                     const std::string& program = "bench_allreduce") {
  return {LAYERBENCH_MPIEXEC, started(ranks, arguments, program), launcher};
}

testing::outcome run(int ranks, const texts& arguments,
                     const std::string& program = "bench_allreduce") {
  return start(ranks, arguments, program).wait();
}

class Ranks : public ::testing::TestWithParam<int> {
 protected:
  texts shortly(const texts& arguments) const {
    texts all{"--model=" + directory_.model, "--benchmark_min_time=0.001",
              "--benchmark_repetitions=3", "--max-time=0", "--benchmark_out=" + directory_.results};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
  }
  testing::tiny_directory directory_;
};

TEST_P(Ranks, AgreeWithTheSerialSumInEveryElement) {
  const std::string ranks = std::to_string(GetParam());
  for (const texts& how :
       {texts{}, texts{"--out-of-place"}, texts{"--dtype=f64"}, texts{"--seed=7"}}) {
    texts all = shortly({"--verify"});
    all.insert(all.end(), how.begin(), how.end());
    const testing::outcome done = run(GetParam(), all);
    EXPECT_EQ(done.exit_code, 0) << done.err;
    const result::results measured = result::read(directory_.results);
    EXPECT_THAT(measured.rows, SizeIs(9)) << "three sizes, three rounds";
    for (const result::measurement& row : measured.rows) {
      EXPECT_EQ(row.error, "");
      EXPECT_EQ(row.counters.at("verified"), 1);
      EXPECT_THAT(row.name.text(), HasSubstr("/ranks:" + ranks));
      EXPECT_THAT(row.label.key, HasSubstr(",ranks:" + ranks));
      EXPECT_GT(row.seconds, 0);
    }
    EXPECT_EQ(measured.context.at("mpi_ranks"), ranks);
    std::filesystem::remove(directory_.results);
  }
}

TEST_P(Ranks, AgreeInPiecesOfAMessage) {
  const testing::outcome done =
      run(GetParam(), {"--verify", "--model=sweep", "--benchmark_filter=bytes_(4|8388608)/",
                       "--benchmark_min_time=0.001", "--benchmark_repetitions=1", "--max-time=0"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
}

TEST_P(Ranks, HaveOneThatSpeaks) {
  const testing::outcome done = run(GetParam(), shortly({"--benchmark_format=json"}));
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_TRUE(json::value::parse(done.out).contains("benchmarks"));
  EXPECT_TRUE(directory_.written().contains("benchmarks"));
  EXPECT_THAT(directory_.files(), ::testing::UnorderedElementsAre("tiny.json", "results.json"));
  EXPECT_THAT(done.err, Not(HasSubstr("communicat")));

  const testing::outcome help = run(GetParam(), {"--help"});
  EXPECT_EQ(help.exit_code, 0);
  const std::size_t first = help.out.find("Usage:");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(help.out.find("Usage:", first + 1), std::string::npos) << "once";
}

INSTANTIATE_TEST_SUITE_P(Few, Ranks, ::testing::Values(2, 4));

/// Runs that fail. mpirun waits for seconds before it ends, so they run side by side.
class EndedTogether : public Ranks {};

TEST_P(EndedTogether, WithWhatTheFirstOneFinds) {
  testing::child unknown = start(GetParam(), {"--no-such-option"});
  testing::child unmatched = start(GetParam(), {"--benchmark_filter=nothing_like_it"});
  testing::child typed = start(GetParam(), shortly({"--dtype=bf16"}));
  EXPECT_EQ(unknown.wait().exit_code, 2);
  EXPECT_EQ(unmatched.wait().exit_code, 5);
  const testing::outcome done = typed.wait();
  EXPECT_EQ(done.exit_code, 4) << "every row failed";
  EXPECT_THAT(done.err, AllOf(HasSubstr("MPI"), HasSubstr("bf16")));
}

INSTANTIATE_TEST_SUITE_P(Few, EndedTogether, ::testing::Values(2, 4));

class EveryNumberOfRanks : public Ranks {
 protected:
  /// Measures these collectives, with each element verified.
  result::results measured(const std::string& kinds, const texts& how) {
    texts all =
        shortly({"--verify", "--yes", "--benchmark_repetitions=1", "--collectives=" + kinds});
    all.insert(all.end(), how.begin(), how.end());
    const testing::outcome done = run(GetParam(), all);
    EXPECT_EQ(done.exit_code, 0) << done.err;
    result::results found = result::read(directory_.results);
    std::filesystem::remove(directory_.results);
    for (const result::measurement& row : found.rows) {
      EXPECT_EQ(row.error, "");
      EXPECT_EQ(row.counters.at("verified"), 1);
    }
    return found;
  }
};

TEST_P(EveryNumberOfRanks, AgreesInEveryElementOfEveryCollective) {
  const std::string moved = "all_gather,broadcast,all_to_all";
  const std::string all = moved + ",reduce_scatter,all_reduce";
  for (const auto& [kinds, how] :
       std::vector<std::pair<std::string, texts>>{{all, {"--dtype=f32,f64"}},
                                                  {all, {"--dtype=f32,f64", "--out-of-place"}},
                                                  {moved, {"--dtype=f16,bf16,s8,u8,f8_e4m3"}},
                                                  {moved, {"--dtype=bf16,s8", "--out-of-place"}}}) {
    const result::results found = measured(kinds, how);
    const auto count = static_cast<std::size_t>(std::ranges::count(kinds, ',') + 1);
    const auto types = static_cast<std::size_t>(std::ranges::count(how.front(), ',') + 1);
    EXPECT_THAT(found.rows, SizeIs(count * types * 3)) << "three sizes";
    for (const result::measurement& row : found.rows) {
      const bool in_place = row.label.key.find("in_place:1") != std::string::npos;
      const bool never = row.label.key.find("kind:broadcast") != std::string::npos ||
                         row.label.key.find("kind:all_to_all") != std::string::npos;
      EXPECT_EQ(in_place, !never && how.size() == 1) << row.label.key;
    }
  }
}

TEST_P(EveryNumberOfRanks, HasTheBandwidthsOfNcclTests) {
  const double n = GetParam();
  const std::map<std::string, double> factors{{"allreduce", 2 * (n - 1) / n},
                                              {"all_gather", (n - 1) / n},
                                              {"reduce_scatter", (n - 1) / n},
                                              {"broadcast", 1},
                                              {"all_to_all", (n - 1) / n}};
  const result::results found =
      measured("all_reduce,all_gather,reduce_scatter,broadcast,all_to_all",
               {"--model=sweep", "--benchmark_filter=bytes_(1024|1056)/"});
  std::set<std::string> kinds;
  for (const result::measurement& row : found.rows) {
    const bool reduces = row.name.op == "allreduce";
    const std::string kind =
        reduces ? "allreduce" : row.name.layer.substr(0, row.name.layer.find("_bytes"));
    kinds.insert(kind);
    // Three equal blocks of multiples of 16 bytes are more than 1024 bytes.
    const bool blocks = kind != "allreduce" && kind != "broadcast";
    const double bytes = blocks && GetParam() == 3 ? 1056 : 1024;
    EXPECT_THAT(row.label.key, HasSubstr(fmt::format("bytes:{},ranks:{}", bytes, n)));
    const double sent = GetParam() == 1 ? 0 : bytes;
    EXPECT_NEAR(row.counters.at("algorithm_bandwidth") * row.seconds, sent, 1e-3);
    EXPECT_NEAR(row.counters.at("bus_bandwidth") * row.seconds, sent * factors.at(kind), 1e-3);
  }
  EXPECT_THAT(kinds, SizeIs(5));
}

TEST_P(EveryNumberOfRanks, AgreesInPiecesOfAMessage) {
  const result::results found =
      measured("all_gather,reduce_scatter,broadcast,all_to_all",
               {"--model=sweep", "--benchmark_filter=bytes_(16777216|16777248)/"});
  EXPECT_THAT(found.rows, SizeIs(4));
}

INSTANTIATE_TEST_SUITE_P(UpToFour, EveryNumberOfRanks, ::testing::Values(1, 2, 3, 4));

TEST(EveryNumber, RefusesSumsOfTypesThatMpiDoesNotAddUp) {
  const testing::tiny_directory directory;
  const texts sums{"--model=" + directory.model, "--yes", "--dtype=bf16",
                   "--collectives=reduce_scatter"};
  std::list<testing::child> side_by_side;
  for (const int ranks : {1, 2, 3, 4}) {
    side_by_side.emplace_back(LAYERBENCH_MPIEXEC, started(ranks, sums), launcher);
  }
  for (testing::child& of : side_by_side) {
    const testing::outcome done = of.wait();
    EXPECT_EQ(done.exit_code, 4) << "every row failed";
    EXPECT_THAT(done.err, AllOf(HasSubstr("MPI has no reduce_scatter"), HasSubstr("bf16")));
  }
}

/// Models that several ranks train together.
class TrainingRanks : public ::testing::Test {
 protected:
  testing::child start_training(int ranks, const texts& arguments) const {
    texts all{"--model=" + directory_.model,
              "--phase=training",
              "--ranks",
              "--threads=1",
              "--batch=2",
              "--backend=" + testing::usable_backend,
              "--benchmark_min_time=0.001",
              "--benchmark_repetitions=3",
              "--max-time=0",
              "--chain=layers",
              "--benchmark_out=" + directory_.results};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return start(ranks, all, "bench_model");
  }
  testing::outcome train(int ranks, const texts& arguments) const {
    return start_training(ranks, arguments).wait();
  }
  testing::tiny_directory directory_;
};

TEST_F(TrainingRanks, AreMeasuredWholeAndInParts) {
  for (const int ranks : {2, 3}) {
    const testing::outcome done = train(ranks, {"--verify"});
    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_THAT(directory_.files(), ::testing::UnorderedElementsAre("tiny.json", "results.json"));
    const result::results measured = result::read(directory_.results);
    const std::string suffix = "/ranks:" + std::to_string(ranks);
    std::size_t allreduce_seconds = 0;
    for (const result::measurement& row : measured.rows) {
      EXPECT_EQ(row.error, "") << row.name.text();
      EXPECT_THAT(row.name.text(), ::testing::EndsWith(suffix));
      if (row.name.op == "allreduce") ++allreduce_seconds;
    }
    EXPECT_EQ(allreduce_seconds, 3U) << "a bucket, three rounds";
    EXPECT_THAT(measured.chains, SizeIs(3));
    const analysis::validation held = analysis::validate(std::vector{measured});
    ASSERT_THAT(held.cases, SizeIs(1));
    const analysis::prediction& predicted = held.cases.front().predicted;
    EXPECT_EQ(predicted.coverage, 1);
    EXPECT_DOUBLE_EQ(predicted.images_per_second().value(),
                     2 * ranks / predicted.step.value().seconds);
    std::filesystem::remove(directory_.results);
  }
}

TEST_F(TrainingRanks, HaveOneThatSpeaks) {
  const testing::outcome done = train(2, {"--benchmark_format=json"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_TRUE(json::value::parse(done.out).contains("benchmarks"));
}

TEST_F(TrainingRanks, AreMeasuredBesideWhatTheySend) {
  const testing::outcome done = train(2, {"--during=allreduce"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, ContainsRegex("[0-9.]+ times[^\n]*gradients"));
  const std::vector<result::results> measured{result::read(directory_.results)};
  std::set<std::string> alone;
  std::set<std::string> beside;
  for (const result::measurement& row : measured.front().rows) {
    EXPECT_EQ(row.error, "") << row.name.text();
    const std::string& pass = row.name.pass;
    if (!pass.starts_with("bwd")) continue;
    (row.name.model_case.contended() ? beside : alone)
        .insert(model::call_name(row.name.layer, pass));
  }
  EXPECT_EQ(alone, beside);
  const std::vector<analysis::measured_contention> found = analysis::contentions(measured);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_GT(found.front().factors.usual.computing, 0);
  EXPECT_TRUE(found.front().sending_known);
  EXPECT_THAT(analysis::predict(measured), SizeIs(1));
  EXPECT_THAT(measured.front().chains, SizeIs(6)) << "a step without and one beside them";
  const analysis::validation held = analysis::validate(measured, {.models = {directory_.model}});
  EXPECT_THAT(held.left_out, IsEmpty());
  ASSERT_THAT(held.cases, SizeIs(2));
  EXPECT_TRUE(held.cases.back().predicted.model_case.contended());
}

TEST_F(TrainingRanks, HaveWallTimeWhereTheyWaitForEachOther) {
  EXPECT_EQ(train(2, {}).exit_code, 0);
  const result::results measured = result::read(directory_.results);
  std::size_t seen = 0;
  for (const result::measurement& row : measured.rows) {
    if (row.name.op != "allreduce" || row.counters.at("stalls") > 0) continue;
    ++seen;
    EXPECT_DOUBLE_EQ(row.mean_seconds(), row.counters.at("wall_s"));
  }
  EXPECT_GT(seen, 0U);
}

TEST_F(TrainingRanks, AreMeasuredBesideAllReducesAlone) {
  const testing::outcome done = train(
      2,
      {"--during=allreduce", "--benchmark_filter=during:allreduce", "--benchmark_repetitions=1"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const result::results measured = result::read(directory_.results);
  EXPECT_THAT(measured.rows, Not(IsEmpty()));
  for (const result::measurement& row : measured.rows) EXPECT_TRUE(row.name.model_case.contended());
}

class TrainingEnded : public TrainingRanks {};

TEST_F(TrainingEnded, ByATypeThatMpiDoesNotAddUp) {
  const testing::outcome done = train(2, {"--dtype=bf16"});
  EXPECT_EQ(done.exit_code, 4);
  EXPECT_THAT(done.err, AllOf(HasSubstr("MPI"), HasSubstr("bf16")));
}

TEST_F(TrainingEnded, WhereRanksAreNotStartedOrDoNotTrain) {
  testing::child unknown = start_training(2, {"--model=nowhere.json"});
  testing::child searched = start_training(2, {"--plans=measured"});
  const testing::outcome alone = directory_.bench("bench_model", {"--ranks", "--phase=training"});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.err, HasSubstr("mpirun -np N"));
  const testing::outcome idle = directory_.bench("bench_model", {"--ranks"});
  EXPECT_EQ(idle.exit_code, 2);
  EXPECT_THAT(idle.err, HasSubstr("--phase=training"));
  const testing::outcome none = directory_.bench("bench_model", {"--during=allreduce"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("--ranks"));
  EXPECT_EQ(unknown.wait().exit_code, 3);
  EXPECT_EQ(searched.wait().exit_code, 2);
}

/// Whole text of a file of /proc, empty where there is none.
std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The process that is that rank of the run that writes `results`; 0: there is none.
::pid_t process_of(int rank, const std::string& results) {
  using namespace std::string_literals;
  const std::string mark = "\0PMIX_RANK="s + std::to_string(rank) + "\0"s;
  std::error_code gone;
  for (const auto& item : std::filesystem::directory_iterator("/proc", gone)) {
    const std::string id = item.path().filename().string();
    if (id.find_first_not_of("0123456789") != std::string::npos) continue;
    if (text_of(item.path() / "cmdline").find(results) == std::string::npos) continue;
    if (("\0"s + text_of(item.path() / "environ")).find(mark) != std::string::npos) {
      return std::stoi(id);
    }
  }
  return 0;
}

/// A run that would take minutes.
struct long_run {
  std::string name;
  std::string program;
  texts options;
  /// Of training no more than there are processors: a step's ranks wait for each other all the
  /// time.
  int ranks;
};

texts training_with(const texts& options) {
  // The first of many short rounds is soon in the file.
  texts all{"--phase=training", "--ranks", "--threads=1", "--backend=" + testing::usable_backend,
            "--benchmark_min_time=0.001"};
  all.insert(all.end(), options.begin(), options.end());
  return all;
}

const std::vector<long_run> long_runs{
    {"allreduces", "bench_allreduce", {"--benchmark_min_time=0.01"}, 3},
    {"training", "bench_model", training_with({"--chain"}), 2},
    {"training_beside_allreduces", "bench_model", training_with({"--during=allreduce"}), 2},
    {"steps_beside_allreduces", "bench_model",
     training_with({"--chain", "--during=allreduce", "--benchmark_filter=bwd_weights"}), 2}};

/// One that has written rows.
class started_run {
 public:
  explicit started_run(const long_run& of)
      : launcher_(start(of.ranks, arguments(of.options), of.program)) {
    for (int i = 0; i < 3000 && !std::filesystem::exists(directory_.results); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  void signal_launcher(int number) const { launcher_.signal(number); }
  void signal(int rank, int number) const {
    const ::pid_t process = process_of(rank, directory_.results);
    ASSERT_NE(process, 0);
    ::kill(process, number);
  }
  /// Ends by itself, all ranks within two minutes, though a busy machine be slow; the launcher need
  /// not be the last. The rows so far are whole.
  testing::outcome ended() {
    const auto start = std::chrono::steady_clock::now();
    const auto late = [&] {
      return std::chrono::steady_clock::now() - start >= std::chrono::minutes(2);
    };
    const testing::outcome done = launcher_.wait();
    EXPECT_FALSE(late());
    while (process_of(1, directory_.results) != 0 && !late()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_EQ(process_of(1, directory_.results), 0) << "a rank is left";
    const result::results left = result::read(directory_.results);
    EXPECT_THAT(left.rows, Not(IsEmpty()));
    EXPECT_EQ(left.context.at("interrupted"), "1");
    return done;
  }

 private:
  texts arguments(const texts& more) const {
    texts all{"--model=" + directory_.model, "--benchmark_repetitions=10000",
              "--benchmark_out=" + directory_.results};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  testing::tiny_directory directory_;
  testing::child launcher_;
};

/// How each long run ends after `event`, by its name. mpirun takes seconds to end one: meanwhile
/// the next is started.
template <class Event>
std::map<std::string, testing::outcome> ends_after(Event&& event) {
  std::list<started_run> runs;
  std::map<std::string, std::future<testing::outcome>> ends;
  for (const long_run& of : long_runs) {
    SCOPED_TRACE(of.name);
    started_run& run = runs.emplace_back(of);
    event(run);
    ends[of.name] = std::async(std::launch::async, [&run] { return run.ended(); });
  }
  std::map<std::string, testing::outcome> all;
  for (auto& [name, end] : ends) {
    SCOPED_TRACE(name);
    all[name] = end.get();
  }
  return all;
}

TEST(LongRun, EndsWhenARankDies) {
  for (const auto& [name, done] :
       ends_after([](const started_run& run) { run.signal(1, SIGKILL); })) {
    EXPECT_NE(done.exit_code, 0) << name;
    EXPECT_THAT(done.err, AllOf(HasSubstr("rank 1"), HasSubstr("signal 9"))) << name;
  }
}

TEST(LongRun, EndsWhenTheFirstRankDies) {
  for (const auto& [name, done] :
       ends_after([](const started_run& run) { run.signal(0, SIGKILL); })) {
    EXPECT_NE(done.exit_code, 0) << name;
    EXPECT_THAT(done.err, AllOf(HasSubstr("rank 0"), HasSubstr("signal 9"))) << name;
  }
}

TEST(LongRun, KeepsWhatWasMeasuredWhenInterrupted) {
  // As a terminal does; mpirun passes it on as SIGTERM.
  for (const auto& [name, done] :
       ends_after([](const started_run& run) { run.signal_launcher(SIGINT); })) {
    EXPECT_NE(done.exit_code, 0) << name;
    EXPECT_THAT(done.err, HasSubstr("stopping after this call")) << name;
  }
}

TEST(LongRun, EndsWithTheCodeOfAnInterruptedRunWhereTheFirstRankIsInterrupted) {
  for (const auto& [name, done] :
       ends_after([](const started_run& run) { run.signal(0, SIGINT); })) {
    EXPECT_EQ(done.exit_code, 130) << name;
  }
}

}  // namespace bench_mpi_test
}  // namespace layerbench
