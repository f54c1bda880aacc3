// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "support/bench.hpp"

// The program that measures all-reduces, as one process; bench_mpi_test starts several.

namespace layerbench {
namespace bench_allreduce_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using testing::texts;

const std::string own_backend = testing::has_mpi ? "mpi" : "reference";

/// `arguments`, after those that measure the model shortly.
texts shortly(const testing::tiny_directory& directory, const texts& arguments) {
  texts all{"--model=" + directory.model, "--benchmark_min_time=0.001", "--benchmark_repetitions=3",
            "--max-time=0", "--benchmark_out=" + directory.results};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

TEST(AllReduce, HasRowsOfModelsAndOfAllSizes) {
  const testing::outcome done = testing::bench("bench_allreduce", {"--benchmark_list_tests"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  std::set<std::string> rows;
  for (const std::string& name : testing::lines(done.out)) {
    const auto parsed = result::parse_row(name);
    ASSERT_TRUE(parsed) << name;
    EXPECT_EQ(parsed->op, "allreduce");
    EXPECT_EQ(parsed->model_case.backend, own_backend);
    EXPECT_EQ(parsed->cache, "hot");
    EXPECT_TRUE(rows.insert(parsed->model_case.model + "/" + parsed->layer).second) << name;
  }
  EXPECT_THAT(rows, IsSupersetOf({"resnet50/gradients", "resnet50/bucket5", "resnet50/conv1",
                                  "vgg16/bucket1", "alexnet/bucket4", "sweep/bytes_4",
                                  "sweep/bytes_1048576"}));
  const testing::outcome one =
      testing::bench("bench_allreduce", {"--benchmark_list_tests", "--benchmark_filter=resnet50"});
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_THAT(testing::lines(one.out), AllOf(Not(IsEmpty()), Each(HasSubstr("/resnet50/"))));
}

TEST(Collectives, HaveRowsOfTheirKinds) {
  const texts names = testing::lines(
      testing::bench("bench_allreduce",
                     {"--benchmark_list_tests", "--backend=reference", "--ranks=4",
                      "--model=lenet5,sweep", "--collectives=all_gather,broadcast,all_gather"})
          .out);
  std::set<std::string> rows;
  for (const std::string& name : names) {
    const auto parsed = result::parse_row(name);
    ASSERT_TRUE(parsed) << name;
    EXPECT_EQ(parsed->op, "collective");
    EXPECT_TRUE(rows.insert(parsed->model_case.model + "/" + parsed->layer).second) << name;
  }
  EXPECT_THAT(rows, IsSupersetOf({"lenet5/all_gather_gradients", "lenet5/broadcast_bucket2",
                                  "sweep/all_gather_bytes_16", "sweep/broadcast_bytes_4"}));
  EXPECT_THAT(rows, Not(Contains("sweep/all_gather_bytes_8"))) << "four blocks of four bytes";
  EXPECT_THAT(names, Contains("collective/fwd/reference/f32/sweep/all_gather_bytes_1024/batch:1/"
                              "cache:hot/ranks:4"));
  const testing::outcome unknown =
      testing::bench("bench_allreduce", {"--list", "--collectives=gather"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("--collectives"), HasSubstr("all_gather")));
}

TEST(Collectives, OfRanksInOneProgramAreTheReference) {
  const testing::tiny_directory directory;
  const testing::outcome done = testing::bench(
      "bench_allreduce",
      shortly(directory, {"--backend=reference", "--ranks=3", "--verify", "--dtype=bf16",
                          "--collectives=all_reduce,all_gather,reduce_scatter,broadcast,"
                          "all_to_all"}));
  EXPECT_EQ(done.exit_code, 0) << done.err;
  std::set<std::string> rows;
  for (const result::measurement& row : result::read(directory.results).rows) {
    EXPECT_EQ(row.error, "");
    EXPECT_EQ(row.counters.at("verified"), 1);
    rows.insert(row.name.op + "/" + row.name.layer);
  }
  EXPECT_THAT(rows, IsSupersetOf({"allreduce/fc1", "collective/all_gather_fc1",
                                  "collective/reduce_scatter_fc1", "collective/broadcast_fc1",
                                  "collective/all_to_all_fc1"}));
}

TEST(AllReduce, RefusesTwoModelsOfOneName) {
  const testing::tiny_directory directory;
  const testing::tiny_directory there;
  const testing::outcome done = testing::bench(
      "bench_allreduce", {"--list", "--model=" + directory.model + ',' + there.model});
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_THAT(done.err, AllOf(HasSubstr("--model"), HasSubstr("tiny")));
}

TEST(AllReduce, AloneSaysThatNothingIsCommunicated) {
  const testing::tiny_directory directory;
  if (testing::has_mpi) {
    const testing::outcome refused = testing::bench("bench_allreduce", shortly(directory, {}));
    EXPECT_EQ(refused.exit_code, 77);
    EXPECT_THAT(refused.err, AllOf(HasSubstr("mpirun"), HasSubstr("--yes")));
    EXPECT_FALSE(std::filesystem::exists(directory.results));
  }
  const testing::outcome done = testing::bench("bench_allreduce", shortly(directory, {"--yes"}));
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.err,
              HasSubstr(testing::has_mpi ? "mpi: one rank, so nothing is communicated"
                                         : "reference: all ranks are in this program, so nothing"));
  const result::results measured = result::read(directory.results);
  const std::string ranks = testing::has_mpi ? "1" : "2";
  EXPECT_THAT(measured.rows, Not(IsEmpty()));
  for (const result::measurement& row : measured.rows) {
    EXPECT_THAT(row.label.key, HasSubstr(",ranks:" + ranks + ",in_place:1"));
  }
  EXPECT_TRUE(measured.manifest.empty()) << "all-reduces are no model to be predicted";
  EXPECT_EQ(measured.context.contains("mpi_version"), testing::has_mpi);
}

TEST(AllReduce, OfRanksInOneProgramIsTheReference) {
  const testing::tiny_directory directory;
  const testing::outcome done = testing::bench(
      "bench_allreduce",
      shortly(directory, {"--backend=reference", "--ranks=4", "--verify", "--out-of-place"}));
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.err, AllOf(HasSubstr("reference"), HasSubstr("communicat")));
  EXPECT_THAT(done.out, HasSubstr(" GB/s "));
  std::set<std::string> rows;
  for (const result::measurement& row : result::read(directory.results).rows) {
    EXPECT_EQ(row.error, "");
    EXPECT_THAT(row.name.text(), HasSubstr("/batch:1/cache:hot/ranks:4"));
    EXPECT_EQ(row.counters.at("verified"), 1);
    EXPECT_THAT(row.label.key, Not(HasSubstr("in_place")));
    const double bandwidth = row.counters.at("algorithm_bandwidth");
    EXPECT_NEAR(row.counters.at("bus_bandwidth") / bandwidth, 2 * 3 / 4.0, 1e-6);
    rows.insert(row.name.layer);
    if (row.name.layer == "fc1") {
      EXPECT_NEAR(bandwidth * row.seconds, 4 * 10 * 64, 1);
    }
  }
  EXPECT_THAT(rows, ElementsAre("conv2", "fc1", "gradients")) << "equal sizes are one row";
}

TEST(AllReduce, RefusesWhatItHasNotGot) {
  const testing::outcome other = testing::bench("bench_allreduce", {"--backend=onednn"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err,
              AllOf(HasSubstr("--backend"), HasSubstr("onednn"), HasSubstr("reference")));
  const testing::outcome batch = testing::bench("bench_allreduce", {"--batch=3"});
  EXPECT_EQ(batch.exit_code, 2) << "gradients are of the weights' size";
  const testing::outcome model = testing::bench("bench_allreduce", {"--model=absent"});
  EXPECT_EQ(model.exit_code, 5);
  EXPECT_THAT(model.err, HasSubstr("absent"));
}

TEST(AllReduce, SaysWhichBackendsThereAre) {
  const texts lines = testing::lines(testing::bench("bench_allreduce", {"--backends"}).out);
  EXPECT_THAT(lines, Contains("reference  available"));
  const std::string unbuilt =
      "mpi        no: not part of this build; configure with -DLAYERBENCH_MPI=ON";
  EXPECT_THAT(lines, Contains(testing::has_mpi ? "mpi        available" : unbuilt));
  const std::string others = testing::bench("bench_conv", {"--backends"}).out;
  EXPECT_THAT(others, Not(HasSubstr("mpi"))) << "it sends nothing";
}

TEST(AllReduce, WithoutMpiRefusesToRunOnIt) {
  const testing::outcome done = testing::bench(
      "bench_allreduce", {"--backend=mpi", "--yes", "--benchmark_filter=sweep/bytes_4/",
                          "--benchmark_min_time=0.001", "--max-time=0"});
  EXPECT_EQ(done.exit_code, testing::has_mpi ? 0 : 77) << done.err;
  EXPECT_EQ(done.err.find("LAYERBENCH_MPI=ON") == std::string::npos, testing::has_mpi);
}

}  // namespace bench_allreduce_test
}  // namespace layerbench
