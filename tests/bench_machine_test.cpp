// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gmock/gmock.h>

#include <layerbench/topology/this_machine.hpp>

#include "support/bench.hpp"

/// Whether this machine is fit to measure: what is found depends on it, what is said does not.
namespace layerbench {
namespace bench_machine_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::texts;

TEST(CheckMachine, TellsEveryFactAndAVerdict) {
  const testing::tiny_directory directory;
  for (const char* program : {"bench_model", "bench_batchnorm"}) {  // the latter has no row there
    const testing::outcome done = directory.bench(program, {"--check-machine"});
    const texts lines = testing::lines(done.out);
    ASSERT_FALSE(lines.empty()) << done.err;
    EXPECT_LE(lines.size(), 30U) << done.out;
    for (const char* name :
         {"load", "steal", "speed", "frequency", "topology", "cores", "binding", "nodes", "quota",
          "machine", "memory", "clock", "huge pages", "reference"}) {
      EXPECT_THAT(lines, Contains(ContainsRegex("^(ok  |note|BAD )  " + std::string(name) + " ")));
    }
    const bool fit = lines.back() == "fit to measure";
    EXPECT_EQ(done.exit_code, fit ? 0 : 4) << done.out;
    EXPECT_EQ(done.out.find("\nBAD ") == std::string::npos, fit) << done.out;
  }
}

TEST(CheckMachine, IsForTheModelsAndThreadsThatAreAskedFor) {
  const testing::tiny_directory directory;
  const testing::outcome large =
      directory.bench("bench_model", {"--check-machine", "--batch=2000000000"});
  EXPECT_EQ(large.exit_code, 4) << large.err;
  EXPECT_THAT(large.out, AllOf(HasSubstr("BAD   memory"), HasSubstr("--batch")));
  if (!testing::has_onednn) return;  // the reference has one thread
  const testing::outcome crowd =
      directory.bench("bench_model", {"--check-machine", "--threads=4096"});
  EXPECT_EQ(crowd.exit_code, 4);
  EXPECT_THAT(crowd.out, AllOf(HasSubstr("BAD   binding"), HasSubstr("remedy: --threads=")));
}

TEST(CheckMachine, RefusesWhatMeasuringWouldRefuse) {
  EXPECT_EQ(testing::bench("bench_model", {"--check-machine", "--model=resnet51"}).exit_code, 5);
}

TEST(Results, SayWhetherTheMachineWasFit) {
  const testing::tiny_directory directory;
  EXPECT_THAT(directory.measure().context.at("machine_check"),
              ::testing::MatchesRegex("fit|[a-z]+( [a-z]+)*"));
}

TEST(Results, SayWhereThreadsAndMemoryAre) {
  const testing::tiny_directory directory;
  const auto context = directory.measure({"--numa=interleave"}).context;
  EXPECT_THAT(context.at("topology"), ContainsRegex("[0-9]+ cores?.*, [0-9]+ processors?"));
  EXPECT_EQ(context.at("numa"), "interleave");
  EXPECT_THAT(context.at("places"),
              testing::has_onednn ? ::testing::StartsWith("{") : ::testing::StartsWith("none"));
}

TEST(Places, AreThoseThatTheUserGives) {
  if (!testing::has_onednn) return;  // no OpenMP
  const testing::tiny_directory directory;
  const std::string first =
      "{" + std::to_string(machine::processors_of_this_thread().front()) + "}";
  const std::string given = "--places=" + first;
  EXPECT_EQ(directory.measure({given}).context.at("places"), first);
  for (const auto& changes : {testing::environment{{"OMP_PROC_BIND", "close"}},
                              testing::environment{{"OMP_PROC_BIND", "false"}},
                              testing::environment{{"OMP_PLACES", "threads"}}}) {
    const testing::outcome done =
        directory.bench("bench_model", {given, "--check-machine"}, changes);
    EXPECT_THAT(done.out, HasSubstr("at " + first + "\n")) << "they replace others";
  }
}

TEST(Places, MustBeThoseOfOpenMp) {
  const testing::tiny_directory directory;
  for (const char* places : {"nowhere", "{0", "{65535}", "0,1", "{0}x"}) {
    const testing::outcome refused =
        directory.bench("bench_model", {std::string("--places=") + places, "--list"});
    EXPECT_EQ(refused.exit_code, 2) << places;
    EXPECT_THAT(refused.err, AllOf(HasSubstr("--places"), HasSubstr(places)));
  }
  EXPECT_EQ(directory.bench("bench_model", {"--numa=somewhere"}).exit_code, 2);
}

TEST(Processors, AreAllLeftWhereTheUserBindsThreads) {
  if (!testing::has_onednn) return;  // the reference has one thread
  const testing::tiny_directory directory;
  const std::string all = std::to_string(machine::processors_of_this_thread().size());
  for (const char* value : {"close", "spread", "false"}) {
    const testing::outcome done = directory.bench(
        "bench_model", {"--check-machine", "--threads=" + all}, {{"OMP_PROC_BIND", value}});
    EXPECT_THAT(done.out, HasSubstr(" on " + all + " of ")) << value;
  }
}

TEST(Results, OfAnUnfitMachineCanBeResumed) {
  const testing::tiny_directory directory;
  static_cast<void>(directory.measure({"--benchmark_filter=conv1"}));
  json::value edited = directory.written();
  edited["context"]["machine_check"] = "steal";
  const std::string path = directory.write("edited.json", edited.dump()).string();
  EXPECT_EQ(directory.bench("bench_model", {"--resume=" + path}).exit_code, 0);
  EXPECT_THAT(testing::rounds_of(result::read(path)), ::testing::Not(SizeIs(0)));
}

}  // namespace bench_machine_test
}  // namespace layerbench
