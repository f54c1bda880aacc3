// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/analysis/scaling/contention.hpp>
#include <layerbench/analysis/validate/validation.hpp>
#include <layerbench/result/read_results.hpp>

#include "support/ranks.hpp"

// NCCL with a process for each GPU. The GPUs are in software, and so is NCCL between them.

namespace layerbench {
namespace bench_nccl_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using testing::texts;

const std::string moving = "all_gather,broadcast,all_to_all";
const std::string all_kinds = "all_reduce,reduce_scatter," + moving;

/// mpirun's environment where each of its hosts has `gpus` GPUs.
testing::environment with_gpus(int gpus, const testing::environment& changes = {}) {
  testing::environment all = testing::launcher;
  all["LD_LIBRARY_PATH"] = LAYERBENCH_SOFTWARE_GPU;
  all["SOFTWARE_GPUS"] = std::to_string(gpus);
  all.insert(changes.begin(), changes.end());
  return all;
}

/// Arguments that measure and verify a small model, before those of `arguments`.
texts shortly(const testing::tiny_directory& directory, const texts& arguments) {
  texts all{"--model=" + directory.model,          "--backend=nccl", "--benchmark_min_time=0.0001",
            "--benchmark_repetitions=1",           "--max-time=0",   "--verify",
            "--benchmark_out=" + directory.results};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

class NcclRanks : public ::testing::TestWithParam<int> {
 protected:
  testing::outcome run(const texts& arguments, const testing::environment& changes = {}) {
    return testing::run(LAYERBENCH_MPIEXEC,
                        testing::started(GetParam(), shortly(directory_, arguments)),
                        with_gpus(GetParam(), changes));
  }
  /// What they measure, with each element of each rank verified.
  result::results measured(const texts& arguments, const testing::environment& changes = {}) {
    std::filesystem::remove(directory_.results);
    const testing::outcome done = run(arguments, changes);
    EXPECT_EQ(done.exit_code, 0) << done.err;
    result::results found = result::read(directory_.results);
    EXPECT_FALSE(found.rows.empty());
    for (const result::measurement& row : found.rows) {
      EXPECT_EQ(row.error, "");
      EXPECT_EQ(row.counters.at("verified"), 1);
      EXPECT_GT(row.seconds, 0);
      EXPECT_THAT(row.name.text(), HasSubstr(fmt::format("/ranks:{}", GetParam())));
    }
    return found;
  }
  /// The stand-in refuses calls that are not as it insists on.
  void expect_refused(const texts& arguments, const testing::environment& insisting,
                      const std::string& reason) {
    const testing::outcome done = run(arguments, insisting);
    EXPECT_NE(done.exit_code, 0);
    EXPECT_THAT(done.err, HasSubstr(reason));
  }
  /// What happens where one of the ranks, the leader or the last worker, has a variable that makes
  /// its GPU or its NCCL fail.
  testing::outcome failing(bool leader, const std::string& variable, const texts& arguments,
                           const std::string& program) const {
    const auto started = [&](bool fails, int ranks) {
      texts all;
      if (fails) all = {"-x", variable};
      const texts programs = testing::started(ranks, arguments, program);
      all.insert(all.end(), programs.begin(), programs.end());
      return all;
    };
    const int others = GetParam() - 1;
    texts all{"--timeout", "120"};
    const texts first = leader ? started(true, 1) : started(false, others);
    const texts last = leader ? started(false, others) : started(true, 1);
    all.insert(all.end(), first.begin(), first.end());
    all.emplace_back(":");
    all.insert(all.end(), last.begin(), last.end());
    return testing::run(LAYERBENCH_MPIEXEC, all, with_gpus(GetParam()));
  }
  /// The leader loses its GPU while the workers wait in NCCL for a call that it does not make.
  void expect_end_of_all(const texts& arguments, const std::string& program) const {
    // 402 events calibrate the stopwatch, then come those of rows or chains. After an even number
    // the next one begins a timing, when the workers are in NCCL already.
    const testing::outcome done = failing(true, "SOFTWARE_GPU_EVENTS=600", arguments, program);
    EXPECT_NE(done.exit_code, 0);
    EXPECT_THAT(done.err, HasSubstr("layerbench: rank 0: "));
    EXPECT_TRUE(result::read(directory_.results).interrupted());
  }
  testing::tiny_directory directory_;
};

TEST_P(NcclRanks, AgreeInEveryElementOfEveryCollective) {
  for (const auto& [kinds, types] : std::vector<std::pair<std::string, std::string>>{
           {all_kinds, "f32,f16,bf16"}, {moving, "s8,u8,f8_e4m3"}}) {
    for (const bool in_place : {true, false}) {
      texts arguments{"--collectives=" + kinds, "--dtype=" + types};
      if (!in_place) arguments.emplace_back("--out-of-place");
      const result::results found = measured(arguments);
      const auto count = static_cast<std::size_t>(std::ranges::count(kinds, ',') + 1);
      EXPECT_THAT(found.rows, SizeIs(count * 3 * 3)) << "three types, three sizes";
      for (const result::measurement& row : found.rows) {
        const bool never =
            row.name.layer.starts_with("broadcast") || row.name.layer.starts_with("all_to_all");
        EXPECT_EQ(row.label.algorithm.ends_with(":in_place"), in_place && !never)
            << row.label.algorithm;
        EXPECT_THAT(row.name.text(), HasSubstr("/nccl/"));
      }
    }
  }
}

TEST_P(NcclRanks, AgreeInPiecesOfAMessage) {
  const result::results found =
      measured({"--collectives=all_gather,reduce_scatter", "--model=sweep",
                "--benchmark_filter=bytes_(16777216|16777248)/"});
  EXPECT_THAT(found.rows, SizeIs(2));
}

TEST_P(NcclRanks, AreTimedInEachWayUnderNamesThatSaySo) {
  for (const std::string mode : {"single", "stream", "graph"}) {
    const result::results found =
        measured({"--collectives=" + all_kinds, "--timing=" + mode, "--benchmark_min_time=0.002"});
    for (const result::measurement& row : found.rows) {
      const auto named = HasSubstr("/timing:" + mode);
      if (mode == "stream") {
        EXPECT_THAT(row.name.text(), Not(named)) << "the default";
      } else {
        EXPECT_THAT(row.name.text(), named);
      }
    }
  }
}

TEST_P(NcclRanks, ReplayGraphsOnEachGpu) {
  // No copy into place, and no broadcast: none of these is warmed up, so all calls are recorded.
  const texts arguments{"--collectives=all_reduce,all_gather,reduce_scatter,all_to_all",
                        "--out-of-place"};
  const testing::environment insisting{{"SOFTWARE_NCCL", "graph"}};
  texts recorded = arguments;
  recorded.emplace_back("--timing=graph");
  measured(recorded, insisting);
  expect_refused(arguments, insisting, "a call is not recorded");
}

TEST_P(NcclRanks, RegisterTheArraysOfEachGpu) {
  const testing::environment insisting{{"SOFTWARE_NCCL", "registered"}};
  const texts arguments{"--collectives=" + all_kinds, "--dtype=f32,bf16"};
  texts registered = arguments;
  registered.emplace_back("--registered");
  const result::results found = measured(registered, insisting);
  EXPECT_EQ(found.context.at("registered"), "true");
  for (const result::measurement& row : found.rows) {
    EXPECT_THAT(row.label.algorithm, ::testing::EndsWith(":registered"));
  }
  registered.emplace_back("--timing=graph");
  measured(registered, insisting);
  expect_refused(arguments, insisting, "an array is not registered");
}

TEST_P(NcclRanks, AreMeasuredBesideThoseOfMpi) {
  const result::results found = measured({"--backend=mpi,nccl", "--collectives=" + all_kinds});
  std::set<std::string> backends;
  for (const result::measurement& row : found.rows) {
    backends.insert(row.name.model_case.backend);
  }
  EXPECT_THAT(backends, ::testing::ElementsAre("mpi", "nccl"));
  const std::string ranks = std::to_string(GetParam());
  EXPECT_EQ(found.context.at("nccl_ranks"), ranks);
  EXPECT_EQ(found.context.at("nccl_processes"), ranks);
  EXPECT_EQ(found.context.at("nccl_hosts"), "1");
}

TEST_P(NcclRanks, NeedAGpuEach) {
  const int gpus = GetParam() - 1;
  const testing::outcome refused = testing::run(
      LAYERBENCH_MPIEXEC, testing::started(GetParam(), shortly(directory_, {})), with_gpus(gpus));
  EXPECT_EQ(refused.exit_code, 77) << refused.err;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("backend nccl cannot run here"),
                                 HasSubstr(fmt::format("{} ranks", GetParam())),
                                 HasSubstr(fmt::format("at most {}", gpus))));
  EXPECT_FALSE(std::filesystem::exists(directory_.results));
}

/// Slurm may show each task its own GPU alone, as number 0.
TEST_P(NcclRanks, MayEachSeeTheirOwnGpuAlone) {
  texts all;
  for (int rank = 0; rank < GetParam(); ++rank) {
    if (rank > 0) all.emplace_back(":");
    all.insert(all.end(), {"-x", "SOFTWARE_FIRST_GPU=" + std::to_string(rank)});
    const texts one = testing::started(1, shortly(directory_, {"--collectives=" + all_kinds}));
    all.insert(all.end(), one.begin(), one.end());
  }
  const testing::outcome done = testing::run(LAYERBENCH_MPIEXEC, all, with_gpus(1));
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(result::read(directory_.results).rows, SizeIs(15));
}

TEST_P(NcclRanks, EndTogetherWhereTheLeaderLosesItsGpu) {
  expect_end_of_all(shortly(directory_, {"--benchmark_repetitions=50"}), "bench_allreduce");
}

/// Models that ranks with a GPU each train together.
class NcclTrainingRanks : public NcclRanks {
 protected:
  texts training(const texts& arguments) const {
    texts all{"--model=" + directory_.model,
              "--phase=training",
              "--ranks",
              "--batch=2",
              "--backend=cudnn",
              "--benchmark_min_time=0.001",
              "--benchmark_repetitions=1",
              "--max-time=0",
              "--verify",
              "--chain=layers",
              "--benchmark_out=" + directory_.results};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
  }
  testing::outcome train(const texts& arguments, int gpus) {
    return testing::run(LAYERBENCH_MPIEXEC,
                        testing::started(GetParam(), training(arguments), "bench_model"),
                        with_gpus(gpus));
  }
};

TEST_P(NcclTrainingRanks, AreMeasuredAloneAndBesideAllReduces) {
  const testing::outcome done = train({"--during=allreduce", "--dtype=bf16"}, GetParam());
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const std::vector<result::results> measured{result::read(directory_.results)};
  const result::results& file = measured.front();
  EXPECT_TRUE(file.context.contains("nccl_version"));
  EXPECT_EQ(file.context.at("mpi_ranks"), std::to_string(GetParam()));
  std::set<std::string> alone;
  std::set<std::string> beside;
  std::size_t allreduces = 0;
  for (const result::measurement& row : file.rows) {
    EXPECT_EQ(row.error, "") << row.name.text();
    EXPECT_GT(row.seconds, 0);
    if (row.name.op == "allreduce") {
      ++allreduces;
      EXPECT_EQ(row.label.algorithm, "nccl:allreduce:in_place");
    }
    if (!row.name.pass.starts_with("bwd")) continue;
    (row.name.model_case.contended() ? beside : alone).insert(row.name.layer);
  }
  EXPECT_EQ(allreduces, 1) << "a bucket";
  EXPECT_EQ(alone, beside);
  EXPECT_THAT(file.chains, SizeIs(2)) << "without and beside them";
  const auto contentions = analysis::contentions(measured);
  ASSERT_THAT(contentions, SizeIs(1));
  EXPECT_TRUE(contentions.front().sending_known);
  const analysis::validation held = analysis::validate(measured, {.models = {directory_.model}});
  EXPECT_THAT(held.left_out, ::testing::IsEmpty());
  EXPECT_THAT(held.cases, SizeIs(2));
}

/// Those of the processor sum by MPI, as without GPUs.
TEST_P(NcclTrainingRanks, TrainOnTheirProcessorsToo) {
  const testing::outcome done =
      train({"--backend=cudnn," + testing::usable_backend, "--timing=single", "--threads=1",
             "--benchmark_filter=bucket1|fc1:bwd|relu2:bwd", "--during=allreduce"},
            GetParam());
  ASSERT_EQ(done.exit_code, 0) << done.err;
  std::map<std::string, std::string> algorithms;
  for (const result::measurement& row : result::read(directory_.results).rows) {
    EXPECT_EQ(row.error, "") << row.name.text();
    if (row.name.op == "allreduce") {
      algorithms[row.name.model_case.backend] = row.label.algorithm;
    }
  }
  EXPECT_EQ(algorithms, (std::map<std::string, std::string>{
                            {"cudnn", "nccl:allreduce:in_place"},
                            {testing::usable_backend, "mpi:allreduce:in_place"}}));
}

TEST_P(NcclTrainingRanks, EndWhereNoCallReturnsAnError) {
  const testing::outcome done = failing(/*leader=*/false, "SOFTWARE_NCCL=broken",
                                        training({"--benchmark_filter=bucket1"}), "bench_model");
  EXPECT_EQ(done.exit_code, 1) << done.err;
  EXPECT_THAT(done.err, HasSubstr(": ncclCommGetAsyncError: "));
}

TEST_P(NcclTrainingRanks, EndTogetherWhereTheLeaderLosesItsGpu) {
  expect_end_of_all(training({"--benchmark_repetitions=50"}), "bench_model");
}

TEST_P(NcclTrainingRanks, EndTogetherWhereOneCannotTakePart) {
  const texts arguments = training({"--benchmark_filter=bucket1"});
  for (const bool leader : {true, false}) {
    const testing::outcome done = failing(leader, "SOFTWARE_NCCL=alone", arguments, "bench_model");
    EXPECT_NE(done.exit_code, 0);
    EXPECT_THAT(done.err, HasSubstr("ncclCommInitRank"));
  }
  const testing::outcome full =
      failing(/*leader=*/false, "SOFTWARE_GPU_BYTES=1000", arguments, "bench_model");
  EXPECT_NE(full.exit_code, 0);
  EXPECT_THAT(full.err, AllOf(HasSubstr(fmt::format("layerbench: rank {}: ", GetParam() - 1)),
                              HasSubstr("memory")));
}

/// The numbers behind `text` in `from`, in ascending order.
std::vector<int> numbers_behind(const std::string& text, const std::string& from) {
  std::vector<int> found;
  for (std::size_t at = from.find(text); at != from.npos; at = from.find(text, at + 1)) {
    found.push_back(std::stoi(from.substr(at + text.size())));
  }
  std::ranges::sort(found);
  return found;
}

TEST_P(NcclTrainingRanks, OverlapChainsInAStreamForCommunication) {
  const testing::environment reports{{"SOFTWARE_NCCL", "streams"}, {"SOFTWARE_GPU_REPORT", "1"}};
  const auto report_of = [&](const std::string& filter) {
    const texts arguments = training({"--during=allreduce", "--benchmark_filter=" + filter});
    const testing::outcome done =
        testing::run(LAYERBENCH_MPIEXEC, testing::started(GetParam(), arguments, "bench_model"),
                     with_gpus(GetParam(), reports));
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return done.err;
  };
  const auto ranks = static_cast<std::size_t>(GetParam());
  const std::string alone = report_of("bucket1");
  EXPECT_THAT(numbers_behind("a stream had ", alone), SizeIs(ranks));
  EXPECT_THAT(numbers_behind("a stream waited ", alone), ::testing::IsEmpty());
  const std::string overlapped = report_of("loss:bwd|loss/.*during");
  EXPECT_THAT(numbers_behind("a stream had ", overlapped), Not(::testing::IsEmpty()));
  const std::vector<int> waits = numbers_behind("a stream waited ", overlapped);
  ASSERT_THAT(waits, SizeIs(2 * ranks)) << overlapped;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    EXPECT_EQ(waits[rank], waits.front()) << "for the gradients, once a step";
    EXPECT_EQ(waits[ranks + rank], 2 * waits.front()) << "before the update, and at the end";
  }
}

TEST_P(NcclTrainingRanks, NeedAGpuEach) {
  const testing::outcome refused = train({}, GetParam() - 1);
  EXPECT_EQ(refused.exit_code, 77) << refused.err;
  EXPECT_THAT(refused.err, AllOf(HasSubstr(fmt::format("{} ranks", GetParam())),
                                 HasSubstr(fmt::format("at most {}", GetParam() - 1))));
  EXPECT_FALSE(std::filesystem::exists(directory_.results));
}

TEST_P(NcclTrainingRanks, RefuseWhatTheyCannotDo) {
  for (const std::string option : {"--timing=graph", "--device=1", "--device=all"}) {
    const testing::outcome refused = train({option}, GetParam());
    EXPECT_EQ(refused.exit_code, 2) << refused.err;
    EXPECT_THAT(refused.err, AllOf(HasSubstr(option), HasSubstr("--ranks")));
  }
}

INSTANTIATE_TEST_SUITE_P(Few, NcclRanks, ::testing::Values(2, 3));
INSTANTIATE_TEST_SUITE_P(Two, NcclTrainingRanks, ::testing::Values(2));

/// Without a launcher, one process has all GPUs.
TEST(Nccl, OfOneProcessNeedsNoLauncher) {
  const testing::tiny_directory directory;
  const testing::environment gpu{{"LD_LIBRARY_PATH", LAYERBENCH_SOFTWARE_GPU}};
  texts arguments = shortly(directory, {"--collectives=" + all_kinds});
  const testing::outcome alone = testing::bench("bench_allreduce", arguments, gpu);
  EXPECT_EQ(alone.exit_code, 77) << "one rank sends nothing";
  EXPECT_THAT(alone.err, AllOf(HasSubstr("each GPU is a rank"), HasSubstr("mpirun -np N")));
  arguments.emplace_back("--yes");
  const testing::outcome done = testing::bench("bench_allreduce", arguments, gpu);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const result::results found = result::read(directory.results);
  EXPECT_THAT(found.rows, SizeIs(15));
  EXPECT_EQ(found.context.at("nccl_ranks"), "1");
  EXPECT_EQ(found.context.at("nccl_processes"), "1");
  for (const result::measurement& row : found.rows) EXPECT_EQ(row.error, "");
}

TEST(Nccl, AloneRegistersAndRecords) {
  for (const std::string option : {"--registered", "--timing=graph"}) {
    const testing::outcome done =
        testing::bench("bench_allreduce", {"--backend=mpi", "--yes", option});
    EXPECT_EQ(done.exit_code, 2) << done.err;
    EXPECT_THAT(done.err, AllOf(HasSubstr(option), HasSubstr("mpi")));
  }
}

}  // namespace bench_nccl_test
}  // namespace layerbench
