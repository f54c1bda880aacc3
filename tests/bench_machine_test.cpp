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

TEST(Places, ReplaceAVariableThatBindsNothing) {
  if (!testing::has_onednn) return;  // no OpenMP
  const testing::tiny_directory directory;
  const machine::processor_list all = machine::processors_of_this_thread();
  const std::string first = "{" + std::to_string(all.front()) + "}";
  for (const auto& [name, value] :
       testing::environment{{"OMP_PROC_BIND", "False"}, {"KMP_AFFINITY", "compact"}}) {
    const testing::outcome done =
        directory.bench("bench_model", {"--places=" + first, "--check-machine"}, {{name, value}});
    EXPECT_THAT(done.out, HasSubstr("at " + first + "\n")) << name;
  }
  const testing::outcome other =
      directory.bench("bench_model", {"--check-machine"}, {{"KMP_AFFINITY", "compact"}});
  EXPECT_THAT(other.out, ContainsRegex("binding .*, at [{]")) << "OpenMP does not read it";
}

TEST(Places, AreAsManyAsThreadsByDefault) {
  if (!testing::has_onednn) return;  // no OpenMP
  const std::string first =
      "{" + std::to_string(machine::processors_of_this_thread().front()) + "}";
  const testing::tiny_directory directory;
  const texts arguments{"--model=" + directory.model, "--places=" + first};
  const auto with = [&](const std::string& more) {
    texts all = arguments;
    all.push_back(more);
    return testing::bench("bench_model", all);
  };
  const testing::outcome done = with("--check-machine");
  EXPECT_THAT(done.out, HasSubstr("1 thread on 1 of ")) << done.err;
  const testing::outcome peaks =
      testing::bench("bench_peak", {"--places=" + first, "--benchmark_list_tests"});
  EXPECT_THAT(peaks.out, ::testing::Not(HasSubstr("threads:"))) << "one number of threads";
  texts crowded = arguments;
  crowded.insert(crowded.end(), {"--threads=2", "--check-machine"});
  EXPECT_THAT(testing::bench("bench_model", crowded).out,
              AllOf(HasSubstr("BAD   binding"), HasSubstr("remedy: --threads=1")));
}

TEST(Places, StayWithinTheMaskOfTheProcess) {
  if (!testing::has_onednn) return;  // no OpenMP
  const testing::tiny_directory directory;
  const machine::processor_list all = machine::processors_of_this_thread();
  const std::string last = "{" + std::to_string(all.back()) + "}";
  machine::run_this_thread_on({all.back()});
  for (const testing::environment& changes :
       {testing::environment{}, {{"OMP_PROC_BIND", "false"}}, {{"OMP_PROC_BIND", "close"}}}) {
    const testing::outcome done =
        directory.bench("bench_model", {"--places=threads", "--check-machine"}, changes);
    EXPECT_THAT(done.out, AllOf(HasSubstr("1 thread on 1 of "), HasSubstr("at " + last + "\n")));
  }
  const testing::outcome two = directory.bench("bench_model", {"--threads=2", "--check-machine"});
  EXPECT_THAT(two.out, HasSubstr("2 threads on 1 of ")) << "not on more processors";
  machine::run_this_thread_on(all);
}

TEST(Places, AreThoseOfTheLauncherIfThereAreSeveralProcesses) {
  const testing::tiny_directory directory;
  const testing::environment launcher{{"OMPI_COMM_WORLD_SIZE", "2"}};
  const testing::outcome done = directory.bench("bench_model", {"--check-machine"}, launcher);
  EXPECT_THAT(done.out, ::testing::Not(HasSubstr("unset OMP_PROC_BIND")));
  if (machine::cores_of(machine::this_machine(), machine::processors_of_this_thread()) > 1) {
    EXPECT_THAT(done.out, HasSubstr("--bind-to"));
  }
  const testing::outcome refused =
      directory.bench("bench_model", {"--places=cores", "--list"}, launcher);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("--places"), HasSubstr("--bind-to")));
}

TEST(Memory, IsNotPlacedOnNodesOfAnotherMachine) {
  const testing::tiny_directory directory;
  const testing::environment two_nodes{
      {"HWLOC_SYNTHETIC", "pack:2 [numa(memory=1073741824)] core:1 pu:1"}};
  const testing::outcome done = directory.bench("bench_model", {"--numa=interleave"}, two_nodes);
  EXPECT_EQ(done.exit_code, 4) << "each row fails";
  EXPECT_THAT(done.err, AllOf(HasSubstr("--numa"), HasSubstr("HWLOC_SYNTHETIC"),
                              ::testing::Not(HasSubstr("SYS_NICE"))));
  const testing::outcome checked = directory.bench("bench_model", {"--check-machine"}, two_nodes);
  EXPECT_THAT(checked.out, ContainsRegex("note +topology .*HWLOC_SYNTHETIC"));
}

TEST(Places, MustBeThoseOfOpenMp) {
  const testing::tiny_directory directory;
  const std::string first =
      "{" + std::to_string(machine::processors_of_this_thread().front()) + "}";
  for (const std::string& places :
       texts{"nowhere", "{0", "{65535}", "0,1", "{0}x", first + ",{65535}", first + ":4096"}) {
    const testing::outcome refused =
        directory.bench("bench_model", {"--places=" + places, "--list"});
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
