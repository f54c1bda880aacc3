// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "support/mentions.hpp"
#include "support/versus.hpp"

namespace layerbench {
namespace tools_versus_faults_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::mentions;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::texts;
using ::testing::UnorderedElementsAre;

class VersusFaults : public testing::Versus {};

TEST_F(VersusFaults, StopsWhereAProgramFails) {
  const testing::outcome done =
      versus({"--keep", path("kept"), "--seed=3"}, {fake_}, {fake_, "--fail=3"});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_EQ(done.out, "");
  EXPECT_THAT(done.err,
              AllOf(StartsWith("layerbench: "), mentions("3", "new", fake_ + " --fail=3")));
  EXPECT_THAT(done.err, AllOf(HasSubstr("\n  line 2 of stderr\n"), Not(HasSubstr("line 1")),
                              HasSubstr("\n  no such model: 3\n")))
      << "the last five lines";
  EXPECT_THAT(done.err, mentions("2", path("kept")));
  EXPECT_THAT(files("kept"),
              UnorderedElementsAre("old_1.json", "old_2.json", "new_1.json", "new_2.json"));
  EXPECT_THAT(files("tmp"), IsEmpty());
}

TEST_F(VersusFaults, NeedsResultFiles) {
  const testing::outcome done = versus({}, {fake_, "--nothing"}, {fake_});
  EXPECT_EQ(done.exit_code, 1);
  EXPECT_THAT(done.err, AllOf(StartsWith("layerbench: "), mentions(fake_, "{out}", "--read=-")));
}

TEST_F(VersusFaults, StopsAfterTheFirstRoundOfWhatCannotBeCompared) {
  const testing::outcome done = versus({"--across=device"}, {fake_}, {"FAKE_VERSION=9", fake_});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, AllOf(HasSubstr("new_1.json"), mentions("onednn_version")));
  EXPECT_THAT(log(), SizeIs(2));
}

TEST_F(VersusFaults, RefusesAWrongCommandLineBeforeAnythingRuns) {
  const std::string full = path("full");
  std::filesystem::create_directories(full);
  static_cast<void>(scratch_.write("full/a", ""));
  struct wrong_line {
    texts arguments;
    texts named;
  };
  const std::vector<wrong_line> wrong{
      {{"versus"}, {"--", "COMMAND"}},
      {{"versus", "--", fake_}, {"--", "COMMAND"}},
      {{"versus", "--", fake_, "--"}, {"--", "COMMAND"}},
      {line({}, {fake_, "--", fake_}, {fake_}), {"--", "COMMAND"}},
      {line({"stray"}, {fake_}, {fake_}), {"stray"}},
      {line({"--rounds=1"}, {fake_}, {fake_}), {"--rounds", "1"}},
      {line({"--rounds=x"}, {fake_}, {fake_}), {"--rounds", "x"}},
      {line({"--metric=x"}, {fake_}, {fake_}), {"--metric", "group"}},
      {line({"--metric=(x"}, {fake_}, {fake_}), {"--metric", "(x"}},
      {line({"--metric=(x)", "--csv=a,b"}, {fake_}, {fake_}), {"--metric", "--csv"}},
      {line({"--higher-is-better"}, {fake_}, {fake_}), {"--higher-is-better", "--csv"}},
      {line({"--keep", full}, {fake_}, {fake_}), {"--keep", full}},
      {line({"--keep", fake_}, {fake_}, {fake_}), {fake_}},
      {line({"-o", "/nowhere/out"}, {fake_}, {fake_}), {"/nowhere/out"}},
      {line({}, {"no-such-program"}, {fake_}), {"old", "no-such-program"}},
      {line({}, {fake_}, {"/nowhere/bench"}), {"new", "/nowhere/bench"}},
      {line({}, {fake_}, {full}), {"new", full}},
      {line({}, {fake_}, {"A=1"}), {"new", "program"}},
      {line({}, {fake_, "--benchmark_out=x"}, {fake_}), {"old", "--benchmark_out"}},
      {line({}, {fake_}, {fake_, "--benchmark_out", "x"}), {"new", "--benchmark_out"}},
      {line({}, {fake_}, {fake_, "--resume=x"}), {"new", "--resume"}},
      {line({}, {fake_}, {"LAYERBENCH_RESUME=x", fake_}), {"new", "LAYERBENCH_RESUME"}}};
  for (const auto& [arguments, named] : wrong) {
    const testing::outcome done = testing::run(LAYERBENCH_TOOL, arguments);
    EXPECT_EQ(done.exit_code, 2) << ::testing::PrintToString(arguments) << done.err;
    EXPECT_EQ(done.out, "");
    for (const std::string& word : named) EXPECT_THAT(done.err, mentions(word));
  }
  EXPECT_THAT(log(), IsEmpty());
  EXPECT_THAT(testing::run(LAYERBENCH_TOOL, {"versus", "--help"}).out,
              mentions("layerbench versus", "--rounds", "--seed", "--keep", "--verbose"));
}

TEST_F(VersusFaults, RefusesOptionsWithoutEffect) {
  const std::string weights = scratch_.write("weights", "name,weight\na,3\n").string();
  const texts one{"printf", "name,ms\na,1\n"};
  const texts two{"printf", "name,ms\na,1\nb,1\n"};
  const auto refuses = [&](const texts& options, const texts& command, const std::string& named) {
    const testing::outcome done = versus(options, command, command);
    EXPECT_EQ(done.exit_code, 2) << ::testing::PrintToString(options) << done.err;
    EXPECT_THAT(done.err, mentions(named, "leave it out"));
  };
  refuses({"--weights", weights}, {fake_}, "--weights");
  refuses({"--csv=name,ms", "--weights", weights}, one, "--weights");
  refuses({"--csv=name,ms", "--higher-is-better", "--weights", weights}, two, "--weights");
  refuses({"--csv=name,ms", "--force"}, two, "--force");
  refuses({"--csv=name,ms", "--across=version"}, two, "--across");
}

class VersusSignals : public VersusFaults, public ::testing::WithParamInterface<int> {
 protected:
  /// A comparison that got a signal while its new program waited in this round.
  [[nodiscard]] testing::outcome stopped(const std::string& round) const {
    testing::child running(LAYERBENCH_TOOL,
                           line({"--rounds=5", "--format=json", "--keep", path("kept")}, {fake_},
                                {fake_, "--hang=" + round}),
                           {{"TMPDIR", temporary()}});
    for (int i = 0; i < 3000 && !std::filesystem::exists(path("hangs")); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    running.signal(GetParam());
    return running.wait();
  }
};

TEST_P(VersusSignals, ComparesTheFinishedRounds) {
  const testing::outcome done = stopped("3");
  EXPECT_EQ(done.exit_code, 130);
  EXPECT_THAT(done.err, mentions("interrupted", "2", "5"));
  const json::value all = json::value::parse(done.out);
  EXPECT_EQ(all.at("versus").at("interrupted"), true);
  EXPECT_EQ(all.at("versus").at("rounds"), 2);
  EXPECT_THAT(all.at("old"), SizeIs(2));
  EXPECT_THAT(files("kept"), SizeIs(4));
  EXPECT_THAT(files("tmp"), IsEmpty());
}

TEST_P(VersusSignals, ComparesNothingOfASingleRound) {
  const testing::outcome done = stopped("2");
  EXPECT_EQ(done.exit_code, 130);
  EXPECT_EQ(done.out, "");
  EXPECT_THAT(done.err, mentions("interrupted", "1", "5"));
}

INSTANTIATE_TEST_SUITE_P(Signals, VersusSignals, ::testing::Values(SIGINT, SIGTERM),
                         [](const auto& instance) {
                           return instance.param == SIGINT ? "Int" : "Term";
                         });

}  // namespace tools_versus_faults_test
}  // namespace layerbench
