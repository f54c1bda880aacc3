// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "support/versus.hpp"

namespace layerbench {
namespace tools_versus_faults_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
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
  EXPECT_THAT(done.err, AllOf(StartsWith("layerbench: round 3, new command: exit code 3: " + fake_ +
                                         " --fail=3\n  line 2 of stderr\n"),
                              HasSubstr("\n  no such model: 3\n"), Not(HasSubstr("line 1")),
                              HasSubstr("layerbench: 2 whole rounds are in " + path("kept"))));
  EXPECT_THAT(files("kept"),
              UnorderedElementsAre("old_1.json", "old_2.json", "new_1.json", "new_2.json"));
  EXPECT_THAT(files("tmp"), IsEmpty());
}

TEST_F(VersusFaults, NeedsResultFiles) {
  const testing::outcome done = versus({}, {fake_, "--nothing"}, {fake_});
  EXPECT_EQ(done.exit_code, 1);
  EXPECT_THAT(done.err, HasSubstr("is it a benchmark program?"));
}

TEST_F(VersusFaults, SeesInTheFirstRoundThatSidesCannotBeCompared) {
  const testing::outcome words = versus({"--across=device"}, {fake_}, {"FAKE_VERSION=9", fake_});
  EXPECT_EQ(words.exit_code, 3);
  EXPECT_THAT(words.err, AllOf(HasSubstr("new_1.json"), HasSubstr("onednn_version")));
  EXPECT_THAT(log(), SizeIs(2));
}

TEST_F(VersusFaults, RefusesAWrongCommandLineBeforeAnythingRuns) {
  const std::string full = path("full");
  std::filesystem::create_directories(full);
  static_cast<void>(scratch_.write("full/a", ""));
  struct wrong_line {
    texts arguments;
    std::string words;
  };
  const std::vector<wrong_line> wrong{
      {{"versus"}, "two commands"},
      {{"versus", "--", fake_}, "two commands"},
      {{"versus", "--", fake_, "--"}, "two commands"},
      {line({}, {fake_, "--", fake_}, {fake_}), "two commands"},
      {line({"stray"}, {fake_}, {fake_}), "stray"},
      {line({"--rounds=1"}, {fake_}, {fake_}), "--rounds"},
      {line({"--rounds=x"}, {fake_}, {fake_}), "--rounds"},
      {line({"--keep", full}, {fake_}, {fake_}), "is not empty"},
      {line({"--keep", fake_}, {fake_}, {fake_}), fake_},
      {line({"-o", "/nowhere/out"}, {fake_}, {fake_}), "/nowhere/out"},
      {line({}, {"no-such-program"}, {fake_}),
       "old command: there is no program 'no-such-program'"},
      {line({}, {fake_}, {"/nowhere/bench"}), "new command: there is no program '/nowhere/bench'"},
      {line({}, {fake_}, {full}), full},
      {line({}, {fake_}, {"A=1"}), "there is no program ''"},
      {line({}, {fake_, "--benchmark_out=x"}, {fake_}), "without --benchmark_out,"},
      {line({}, {fake_}, {fake_, "--benchmark_out", "x"}), "new command: without"},
      {line({}, {fake_}, {fake_, "--resume=x"}), "without --resume"},
      {line({}, {fake_}, {"LAYERBENCH_RESUME=x", fake_}), "new command: LAYERBENCH_RESUME is set"}};
  for (const auto& [arguments, words] : wrong) {
    const testing::outcome done = testing::run(LAYERBENCH_TOOL, arguments);
    EXPECT_EQ(done.exit_code, 2) << ::testing::PrintToString(arguments) << done.err;
    EXPECT_EQ(done.out, "");
    EXPECT_THAT(done.err, HasSubstr(words));
  }
  EXPECT_THAT(log(), IsEmpty());
  EXPECT_THAT(testing::run(LAYERBENCH_TOOL, {"versus", "--help"}).out,
              HasSubstr("layerbench versus [OPTIONS] -- OLD COMMAND -- NEW COMMAND"));
}

class VersusSignals : public VersusFaults, public ::testing::WithParamInterface<int> {
 protected:
  /// A comparison that got a signal while `--hang` held it.
  [[nodiscard]] testing::outcome stopped(const std::string& round) const {
    testing::child running(
        LAYERBENCH_TOOL,
        line({"--format=json", "--keep", path("kept")}, {fake_}, {fake_, "--hang=" + round}),
        {{"TMPDIR", temporary()}});
    for (int i = 0; i < 3000 && !std::filesystem::exists(path("hangs")); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    running.signal(GetParam());
    return running.wait();
  }
};

TEST_P(VersusSignals, ReportsTheRoundsThatAreWhole) {
  const testing::outcome done = stopped("3");
  EXPECT_EQ(done.exit_code, 130);
  EXPECT_THAT(done.err, HasSubstr("layerbench: interrupted after 2 of 5 rounds\n"));
  const json::value all = json::value::parse(done.out);
  EXPECT_EQ(all.at("versus").at("interrupted"), true);
  EXPECT_EQ(all.at("versus").at("rounds"), 2);
  EXPECT_THAT(all.at("old"), SizeIs(2));
  EXPECT_THAT(files("kept"), SizeIs(4));
  EXPECT_THAT(files("tmp"), IsEmpty());
}

TEST_P(VersusSignals, HasNothingToReportOfASingleRound) {
  const testing::outcome done = stopped("2");
  EXPECT_EQ(done.exit_code, 130);
  EXPECT_EQ(done.out, "");
  EXPECT_THAT(done.err, HasSubstr("layerbench: interrupted after 1 of 5 rounds\n"));
}

INSTANTIATE_TEST_SUITE_P(Signals, VersusSignals, ::testing::Values(SIGINT, SIGTERM),
                         [](const auto& instance) {
                           return instance.param == SIGINT ? "Int" : "Term";
                         });

}  // namespace tools_versus_faults_test
}  // namespace layerbench
