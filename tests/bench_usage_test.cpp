// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "support/bench.hpp"
#include "support/slurm.hpp"

namespace layerbench {
namespace bench_usage_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::texts;

/// What a program does that must stop before it measures: an existing file stays as it is.
class Refusal : public ::testing::Test {
 protected:
  testing::outcome refused(int code, const texts& arguments,
                           const testing::environment& changes = {}) {
    texts all{"--benchmark_out=" + old_};
    all.insert(all.end(), arguments.begin(), arguments.end());
    testing::outcome done = directory_.bench("bench_model", all, changes);
    const std::string shown = ::testing::PrintToString(arguments);
    EXPECT_EQ(done.exit_code, code) << shown << done.err;
    EXPECT_EQ(done.out, "") << shown;
    EXPECT_THAT(done.err, ::testing::StartsWith("layerbench: ")) << shown;
    EXPECT_EQ(json::read_text(old_), "old") << shown;
    return done;
  }

  testing::tiny_directory directory_;
  std::string old_ = directory_.write("old.json", "old").string();
};

TEST_F(Refusal, OfWrongOptionsNamesThem) {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"--benchmark_filter", "("},
      {"--benchmark_filter", "conv["},
      {"--benchmark_filter", "-("},
      {"--benchmark_format", "xml"},
      {"--benchmark_out_format", "xml"},
      {"--benchmark_color", "pink"},
      {"--benchmark_min_time", "soon"},
      {"--benchmark_min_time", "-1"},
      {"--benchmark_min_time", "nan"},
      {"--benchmark_min_time", "3x"},
      {"--benchmark_repetitions", "0"},
      {"--benchmark_repetitions", "1.5"},
      {"--benchmark_context", "no_equals_sign"},
      {"--benchmark_context", "=value"},
      {"--benchmark_context", "seed=2"},
      {"--benchmark_context", "manifest={}"},
      {"--benchmark_context", "date=today"},
      {"--benchmark_context", "gpu=another"},
      {"--threads", "0"},
      {"--threads", "two"},
      {"--batch", "0"},
      {"--batch", "-1"},
      {"--batch", "2147483648"},
      {"--dtype", "f31"},
      {"--backend", "nodnn"},
      {"--phase", "dreaming"},
      {"--cache", "lukewarm"},
      {"--timing", "soon"},
      {"--workspace-limit", "much"},
      {"--seed", "-1"},
      {"--model", ""},
      {"--no_such_option", "1"}};
  for (const auto& [option, value] : wrong) {
    const testing::outcome done = refused(2, {option + "=" + value});
    EXPECT_THAT(done.err, HasSubstr(option)) << value;
  }
  EXPECT_THAT(refused(5, {"conv"}).err, HasSubstr("conv"));  // a model's name, and there is none
  EXPECT_THAT(refused(2, {"--backend=reference", "--device=1"}).err, HasSubstr("--device=1"));
  EXPECT_THAT(refused(2, {"--backend=reference", "--timing=graph"}).err,
              AllOf(HasSubstr("--timing=graph"), HasSubstr("reference")));
  EXPECT_THAT(refused(2, {"--backend=reference", "--clocks=steady"}).err,
              AllOf(HasSubstr("--clocks=steady"), HasSubstr("reference")));
  EXPECT_THAT(refused(2, {"--backend=reference", "--clocks=lock:1410"}).err,
              HasSubstr("--clocks=lock:1410"));
  for (const std::string clocks : {"lock:", "lock:0", "lock:1.5", "locked", "idle"}) {
    EXPECT_THAT(refused(2, {"--clocks=" + clocks}).err,
                AllOf(HasSubstr("'" + clocks + "'"), HasSubstr("lock:MHZ")));
  }
  EXPECT_THAT(refused(2, {"--backend=reference"}, {{"LAYERBENCH_TIMING", "graph"}}).err,
              HasSubstr("LAYERBENCH_TIMING=graph"));
}

TEST_F(Refusal, SaysInPlainWordsWhatWouldBeRight) {
  const std::vector<std::pair<std::string, std::string>> answers{
      {"--batch=0", "'0' is not a whole number from 1 to 2147483647"},
      {"--threads=two", "'two' is not a whole number"},
      {"--dtype=f31", "unknown value 'f31'; known: f32"},
      {"--verify=maybe", "'maybe' is neither true nor false"},
      {"--benchmark_min_time=soon", "'soon' is not a number of seconds, such as 0.2"},
      {"--benchmark_min_time=100x", "'100x' is not a number of seconds"},
      {"--model=", "--model: a value is missing"},
      {"--seed", "--seed: a value is missing"}};
  for (const auto& [option, answer] : answers) {
    EXPECT_THAT(refused(2, {option}).err, HasSubstr(answer));
  }
  EXPECT_THAT(refused(2, {"--no_such"}).err, HasSubstr("bench_model --help"));
}

TEST_F(Refusal, OfWrongEnvironmentValuesNamesTheVariable) {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"LAYERBENCH_BATCH", "0"},   {"LAYERBENCH_VERIFY", "maybe"}, {"LAYERBENCH_BACKEND", "nodnn"},
      {"BENCHMARK_FORMAT", "xml"}, {"BENCHMARK_FILTER", "("},      {"BENCHMARK_CONTEXT", "seed=2"}};
  for (const auto& [variable, value] : wrong) {
    const testing::outcome done = refused(2, {}, {{variable, value}});
    EXPECT_THAT(done.err, AllOf(HasSubstr(variable), HasSubstr(value)));
  }
  EXPECT_THAT(refused(5, {}, {{"BENCHMARK_FILTER", "resnet51"}}).err,
              HasSubstr("BENCHMARK_FILTER"));
  EXPECT_THAT(refused(2, {"--batch=0"}, {{"LAYERBENCH_BATCH", "x"}}).err,
              HasSubstr("layerbench: --batch: "));
}

TEST_F(Refusal, OfSeveralCopiesThatKnowNothingOfEachOther) {
  for (const std::string launcher : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    EXPECT_THAT(refused(2, {}, {{launcher, "4"}}).err,
                AllOf(HasSubstr("4 copies"), HasSubstr("mpirun")));
  }
  EXPECT_THAT(refused(2, {}, testing::slurm_step(2)).err,
              AllOf(HasSubstr("2 copies"), HasSubstr("srun --ntasks=1")));
}

TEST_F(Refusal, OfTasksThatSlurmDoesNotConnect) {
  const testing::outcome training =
      refused(2, {"--ranks", "--phase=training"}, testing::slurm_step(2));
  EXPECT_THAT(training.err, AllOf(HasSubstr(testing::has_mpi ? "2 processes" : "LAYERBENCH_MPI"),
                                  Not(HasSubstr("internal"))));
  const testing::outcome sums =
      testing::bench("bench_allreduce", {"--benchmark_out=" + old_}, testing::slurm_step(2));
  EXPECT_EQ(sums.exit_code, 2) << sums.err;
  EXPECT_THAT(sums.err, HasSubstr(testing::has_mpi ? "srun --mpi=pmix" : "LAYERBENCH_MPI"));
  EXPECT_EQ(json::read_text(old_), "old");
}

TEST_F(Refusal, OfTurnsOfOneOfSeveralRanks) {
  EXPECT_THAT(refused(2, {"--ranks", "--phase=training", "--turns"}).err, HasSubstr("--turns"));
}

TEST_F(Refusal, IsNotOfOneProcessInAJobOfSlurm) {
  for (const testing::environment& alone :
       {testing::slurm_batch(2), testing::slurm_allocation(2), testing::slurm_step(1)}) {
    EXPECT_EQ(directory_.bench("bench_model", {}, alone).exit_code, 0);
  }
}

TEST_F(Refusal, OfAFilterThatMatchesNothingListsWhatExists) {
  const testing::outcome done = refused(5, {"--benchmark_filter=resnet51"});
  for (const std::string& layer : testing::tiny_layers) {
    EXPECT_THAT(done.err, HasSubstr("/tiny/" + layer + "/"));
  }
  EXPECT_THAT(done.err, HasSubstr("resnet51"));
}

TEST_F(Refusal, OfAnUnknownModelNamesSimilarOnes) {
  EXPECT_THAT(refused(5, {"--model=resnet51"}).err,
              AllOf(HasSubstr("resnet51"), HasSubstr(" resnet50 "), Not(HasSubstr("vgg16"))));
  EXPECT_THAT(refused(5, {"--model=vgg61"}).err, HasSubstr("vgg16"));
}

TEST_F(Refusal, OfAFolderWithoutModelsSaysHowToNameAnother) {
  const std::string empty = directory_.path().string();
  const std::string absent = empty + "/absent";
  const auto remedy = AllOf(HasSubstr("--shapes"), HasSubstr("LAYERBENCH_SHAPES"));
  const texts named{"--model=resnet50"};
  EXPECT_THAT(refused(5, named, {{"LAYERBENCH_SHAPES", absent}}).err,
              AllOf(HasSubstr("'" + absent + "' does not exist"), remedy));
  EXPECT_THAT(refused(5, named, {{"LAYERBENCH_SHAPES", empty}}).err,
              AllOf(HasSubstr("'" + empty + "' has no models/*.json"), remedy));
}

TEST_F(Refusal, OfTwoModelsWithOneName) {
  std::filesystem::create_directory(directory_.path() / "two");
  const std::string other = directory_.write("two/tiny.json", testing::tiny_model).string();
  EXPECT_THAT(refused(2, {"--model=" + directory_.model + "," + other}).err,
              AllOf(HasSubstr(directory_.model), HasSubstr(other), HasSubstr("'tiny'")));
}

TEST_F(Refusal, OfABrokenShapeFileNamesThePlace) {
  std::string text = testing::tiny_model;
  text.replace(text.find("\"n\": 10"), 7, "\"n\": 0");
  const std::string broken = directory_.write("broken.json", text).string();
  EXPECT_THAT(refused(3, {"--model=" + broken}).err,
              AllOf(HasSubstr(broken), HasSubstr("/layers/6/shape/n")));
  const std::string half = directory_.write("half.json", text.substr(0, text.size() / 2)).string();
  EXPECT_THAT(refused(3, {"--model=" + half}).err, HasSubstr(half));
  const std::string absent = (directory_.path() / "absent.json").string();
  EXPECT_THAT(refused(3, {"--model=" + absent}).err, HasSubstr(absent));
}

TEST_F(Refusal, OfABackendThatIsNotBuiltSaysHowToBuildIt) {
  if (testing::has_onednn) {
    EXPECT_EQ(directory_.bench("bench_model", {"--backend=onednn"}).exit_code, 0);
  } else {
    EXPECT_THAT(refused(77, {"--backend=onednn"}).err,
                AllOf(HasSubstr("onednn"), HasSubstr("-DLAYERBENCH_ONEDNN=ON")));
  }
  if (testing::has_cuda) return;  // see bench_driver_test.cpp
  for (const std::string name : {"cudnn", "cublas"}) {
    EXPECT_THAT(refused(77, {"--backend=" + name}).err,
                AllOf(HasSubstr(name), HasSubstr("-DLAYERBENCH_CUDA=ON")));
  }
}

TEST_F(Refusal, LeavesNoOtherFile) {
  refused(2, {"--benchmark_filter=("});
  refused(5, {"--benchmark_filter=resnet51"});
  EXPECT_THAT(directory_.files(), ::testing::UnorderedElementsAre("old.json", "tiny.json"));
}

TEST_F(Refusal, OfTheVariableThatNamesTheOutputFileKeepsTheFile) {
  const testing::outcome done =
      directory_.bench("bench_model", {"--benchmark_filter=resnet51"}, {{"BENCHMARK_OUT", old_}});
  EXPECT_EQ(done.exit_code, 5);
  EXPECT_EQ(json::read_text(old_), "old");
}

TEST(OutputFile, IsRefusedBeforeAnythingRuns) {
  const testing::tiny_directory directory;
  for (const std::string& path : {directory.path().string(), directory.model + "/r.json",
                                  (directory.path() / "absent" / "r.json").string()}) {
    const testing::outcome done = directory.bench("bench_model", {"--benchmark_out=" + path});
    EXPECT_EQ(done.exit_code, 2);
    EXPECT_THAT(done.err, HasSubstr(path));
    EXPECT_EQ(done.out, "");
  }
  EXPECT_THAT(directory.files(), ::testing::ElementsAre("tiny.json"));
}

TEST(Threads, ThatTheRunTimeDoesNotGrantAreNotMeasured) {
  const testing::tiny_directory directory;
  const testing::outcome done =
      directory.bench("bench_softmax", {"--threads=2"}, {{"OMP_THREAD_LIMIT", "1"}});
  EXPECT_EQ(done.exit_code, testing::has_onednn ? 4 : 0) << "the reference has one thread";
  EXPECT_EQ(done.err.find("1 of 2 threads") != std::string::npos, testing::has_onednn) << done.err;
}

TEST(Threads, ComplaintsOfTheRunTimeComeOnce) {
  const testing::tiny_directory directory;
  const testing::outcome done =
      directory.bench("bench_softmax", {"--list"}, {{"OMP_SCHEDULE", "nonsense"}});
  EXPECT_EQ(done.exit_code, 0);
  const std::size_t first = done.err.find("OMP_SCHEDULE");
  EXPECT_EQ(first != std::string::npos, testing::has_onednn) << done.err;
  if (first != std::string::npos) {
    EXPECT_EQ(done.err.find("OMP_SCHEDULE", first + 1), std::string::npos) << done.err;
  }
}

TEST(Budget, ThatIsTooSmallIsSaid) {
  const testing::tiny_directory directory;
  const texts quick{"--benchmark_repetitions=3", "--benchmark_min_time=0.01"};
  texts small = quick;
  small.emplace_back("--budget=0.001");
  const testing::outcome done = directory.bench("bench_softmax", small);
  EXPECT_EQ(done.exit_code, 4);
  EXPECT_THAT(done.err, HasSubstr("--budget=0.001"));
  EXPECT_THAT(done.out, HasSubstr("left out: --budget=0.001"));
  EXPECT_THAT(done.out, Not(HasSubstr("ERROR")));
  texts large = quick;
  large.emplace_back("--budget=600");
  EXPECT_THAT(directory.bench("bench_softmax", large).err, Not(HasSubstr("--budget")));
  EXPECT_THAT(directory.bench("bench_softmax", quick).err, Not(HasSubstr("--budget")));
}

TEST(Reference, IsUsedAndSaidWhenThereIsNothingElse) {
  const testing::tiny_directory directory;
  const std::string warning = "reference backend";
  const testing::outcome done = directory.bench("bench_softmax", {});
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_EQ(done.err.find(warning) == std::string::npos, testing::has_onednn) << done.err;
  const testing::outcome named = directory.bench("bench_softmax", {"--backend=reference"});
  EXPECT_EQ(named.exit_code, 0);
  EXPECT_EQ(named.err.find(warning), std::string::npos) << named.err;
  EXPECT_THAT(named.out, HasSubstr("softmax/fwd/reference/f32/tiny/prob/"));
}

TEST(Programs, HaveModelsOfTheirOwnByDefault) {
  for (const std::string program : {"bench_rnn", "bench_attention"}) {
    const testing::outcome done = testing::bench(program, {"--list"});
    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_THAT(done.out, HasSubstr(program.substr(program.find('_') + 1) + "/fwd/"));
  }
}

TEST(Programs, ExitAsUnmatchedWhenNoModelHasTheirLayers) {
  const testing::tiny_directory directory;
  const testing::outcome done = directory.bench("bench_batchnorm", {});
  EXPECT_EQ(done.exit_code, 5);
  EXPECT_THAT(done.err, HasSubstr("bench_batchnorm"));
}

TEST(Usage, SuggestsAnOption) {
  for (const auto& [given, meant] :
       {std::pair<std::string, std::string>{"--filter=conv", "--benchmark_filter"},
        {"--modle=resnet50", "--model"},
        {"--bacth=1", "--batch"}}) {
    const testing::outcome done = testing::bench("bench_conv", {given});
    EXPECT_EQ(done.exit_code, 2);
    EXPECT_THAT(done.err, HasSubstr(meant)) << given;
  }
}

}  // namespace bench_usage_test
}  // namespace layerbench
