// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <filesystem>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "support/mentions.hpp"
#include "support/versus.hpp"

namespace layerbench {
namespace tools_versus_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::mentions;
using ::testing::Not;
using ::testing::SizeIs;
using testing::texts;
using ::testing::UnorderedElementsAre;

class Versus : public testing::Versus {};

json::value verdicts(const json::value& all, const std::string& kind) {
  json::value found = json::value::array();
  for (const json::value& value : all.at(kind)) found.push_back(value.at("verdict"));
  return found;
}

TEST_F(Versus, FindsASmallChangeUnderALargeDrift) {
  const json::value all =
      json_of({"--rounds=5", "--keep", path("kept")}, {fake_}, {fake_, "--slow=30"});
  EXPECT_EQ(verdicts(all, "layers"), json::value({"slower", "same"}));
  EXPECT_EQ(verdicts(all, "models"), json::value({"slower"}));
  EXPECT_NEAR(all.at("layers").at(0).at("ratio"), 1.03, 0.002);
  EXPECT_EQ(all.at("layers").at(0).at("old_rounds"), 5);
  EXPECT_EQ(all.at("paired"), true);
  EXPECT_EQ(all.at("versus").at("rounds"), 5);
  const auto list = [&](const std::string& side) {
    std::string names;
    for (int i = 1; i <= 5; ++i) names += fmt::format(",{}/{}_{}.json", path("kept"), side, i);
    return names.substr(1);
  };
  // Without pairs the same files do not show it.
  const testing::outcome apart =
      testing::run(LAYERBENCH_TOOL, {"compare", list("old"), list("new"), "--format=json"});
  EXPECT_EQ(verdicts(json::value::parse(apart.out), "layers"), json::value({"unclear", "unclear"}));
}

TEST_F(Versus, StopsOnceEveryVerdictIsSure) {
  const json::value all = json_of({}, {fake_}, {fake_, "--slow=50"});
  EXPECT_EQ(verdicts(all, "layers"), json::value({"slower", "same"}));
  EXPECT_EQ(all.at("versus").at("rounds"), 12);
  EXPECT_EQ(all.at("versus").at("most_rounds"), 30);
  EXPECT_EQ(all.at("versus").at("sure"), true);
  EXPECT_THAT(log(), SizeIs(24));
  EXPECT_EQ(all.at("false_alarm_rate"), 0.005);
  for (const json::value& layer : all.at("layers")) {
    EXPECT_GT(layer.at("detectable"), 0);
    EXPECT_LT(layer.at("detectable"), 0.03);
  }
}

TEST_F(Versus, RunsEveryRoundIfAsked) {
  const json::value all = json_of({"--rounds=14", "--every-round"}, {fake_}, {fake_});
  EXPECT_EQ(all.at("versus").at("rounds"), 14);
  EXPECT_THAT(versus({"--rounds=14"}, {fake_}, {fake_}).out, HasSubstr("2 were not needed"));
}

TEST_F(Versus, FindsNoChangeBetweenEqualPrograms) {
  const json::value all = json_of({"--rounds=5"}, {fake_}, {fake_});
  EXPECT_EQ(verdicts(all, "layers"), json::value({"same", "same"}));
  EXPECT_EQ(verdicts(all, "models"), json::value({"same"}));
  EXPECT_EQ(all.at("old").at(0), "old_1.json") << "files that are gone have no path";
  EXPECT_THAT(files("tmp"), IsEmpty());
}

TEST_F(Versus, HasNoVerdictOfFewRounds) {
  const json::value all = json_of({"--rounds=2"}, {fake_}, {fake_, "--slow=300"});
  EXPECT_EQ(verdicts(all, "models"), json::value({"unclear"}));
  EXPECT_THAT(log(), SizeIs(4));
  EXPECT_THAT(versus({"--rounds=2"}, {fake_}, {fake_, "--slow=300"}).out,
              HasSubstr("| unclear, slower?"));
}

TEST_F(Versus, DecidesAPlainCaseWithThreeRounds) {
  const json::value all = json_of({"--rounds=3"}, {fake_}, {fake_, "--slow=3000"});
  EXPECT_EQ(verdicts(all, "models"), json::value({"slower"}));
}

TEST_F(Versus, WarnsOfVariablesWithoutEffect) {
  const texts misspelt{"ONEDNN_MAX_CPU_ISAS=SSE41", fake_};
  EXPECT_THAT(versus({"--rounds=2"}, {fake_}, misspelt).err, mentions("ONEDNN_MAX_CPU_ISAS=SSE41"));
  EXPECT_EQ(versus({"--rounds=2"}, misspelt, misspelt).err, "") << "both have it";
  EXPECT_EQ(versus({"--rounds=2"}, {fake_}, {"FAKE_VERSION=3.9", fake_}).err, "");
}

TEST_F(Versus, GivesWhatCompareMakesOfTheKeptFiles) {
  json::value all =
      json_of({"--rounds=2", "--keep", path("a/kept")}, {fake_}, {fake_, "--slow=30"});
  EXPECT_THAT(files("a/kept"),
              UnorderedElementsAre("old_1.json", "old_2.json", "new_1.json", "new_2.json"));
  const auto list = [&](const std::string& side) {
    return fmt::format("{0}/{1}_1.json,{0}/{1}_2.json", path("a/kept"), side);
  };
  const testing::outcome again = testing::run(
      LAYERBENCH_TOOL, {"compare", "--paired", list("old"), list("new"), "--format=json"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  all.erase("versus");
  EXPECT_EQ(json::value::parse(again.out), all);
}

TEST_F(Versus, RunsBothInRandomOrderThatASeedRepeats) {
  const auto first = [&](const std::string& seed) {
    std::filesystem::remove(path("log"));
    const json::value all = json_of({"--rounds=8", "--seed=" + seed}, {fake_}, {fake_});
    json::value sides = json::value::array();
    const texts names = log();
    EXPECT_THAT(names, SizeIs(16));
    for (std::size_t i = 0; i < names.size(); i += 2) {
      EXPECT_NE(names[i].substr(0, 3), names[i + 1].substr(0, 3));
      EXPECT_EQ(names[i].substr(3), names[i + 1].substr(3)) << "rounds one after the other";
      sides.push_back(names[i].substr(0, 3));
    }
    EXPECT_EQ(all.at("versus").at("first"), sides);
    return sides;
  };
  const json::value one = first("1");
  EXPECT_EQ(one, first("1"));
  EXPECT_THAT(one, AllOf(Contains("old"), Contains("new")));
  std::set<std::string> orders;
  for (const char* seed : {"1", "2", "3"}) orders.insert(first(seed).dump());
  EXPECT_THAT(orders, SizeIs(3));
}

TEST_F(Versus, SetsVariablesAndNamesWhatEachSideLoaded) {
  const texts now{"FAKE_VERSION=3.9", "UNUSED=a b", fake_};
  const json::value all = json_of({"--rounds=2"}, {fake_}, now);
  EXPECT_EQ(all.at("old_loaded").at("onednn_version"), "3.2.0");
  EXPECT_EQ(all.at("new_loaded").at("onednn_version"), "3.9");
  EXPECT_EQ(all.at("new_loaded").at("executable"), fake_);
  EXPECT_EQ(all.at("across"), "version");
  EXPECT_EQ(all.at("versus").at("new_command"), json::value(now));
  const testing::outcome page = versus({"--rounds=2"}, {fake_}, now);
  EXPECT_THAT(page.out, AllOf(mentions(fake_, "FAKE_VERSION=3.9", "UNUSED=a b"),
                              mentions("2 rounds", "1", "2 pairs"),
                              mentions("onednn_isa", "onednn_version", "3.2.0", "3.9"),
                              mentions("tiny"), HasSubstr("\n| ")));
}

TEST_F(Versus, NamesItsFileInVariables) {
  const texts command{"OUT={out}", "sh", "-c", fake_ + " --benchmark_out=$OUT"};
  const testing::outcome done = versus({"--rounds=2"}, command, command);
  EXPECT_EQ(done.exit_code, 0) << done.err;
}

TEST_F(Versus, LeavesOptionsOfOtherProgramsAlone) {
  const std::string json = LAYERBENCH_SOURCE_DIR "/tests/data/program_output/hyperfine.json";
  const std::string written = path("written.json");
  const texts prints{"LAYERBENCH_RESUME=x", "sh", "-c", "cat " + json, "--resume"};
  EXPECT_EQ(versus({"--rounds=2", "--read=-"}, prints, prints).exit_code, 0);
  const texts writes{"sh", "-c", "cp " + json + ' ' + written, "--benchmark_out=" + written};
  EXPECT_EQ(versus({"--rounds=2", "--read", written}, writes, writes).exit_code, 0);
}

TEST_F(Versus, ReadsOnlyWhatItsProcessesWrite) {
  const std::string written = scratch_.write("written", "took 1 ms\n").string();
  const texts appends{"sh", "-c", "echo took 3 ms >> " + written};
  const json::value all =
      json_of({"--rounds=2", "--read", written, "--metric=took ([0-9]+)"}, appends, appends);
  EXPECT_NEAR(all.at("layers").at(0).at("old_value"), 3, 1e-9);
  EXPECT_EQ(json::read_text(written), "took 1 ms\n") << "the user's file is back";
}

TEST_F(Versus, FindsProgramsAsTheSystemDoes) {
  const std::string directory = "PATH=" + scratch_.path().string() + ":/usr/bin:/bin";
  EXPECT_EQ(versus({"--rounds=2"}, {directory, "fake"}, {fake_}).exit_code, 0);
}

TEST_F(Versus, ShowsTheOutputOfProgramsOnlyIfVerbose) {
  const testing::outcome quiet = versus({"--rounds=2"}, {fake_}, {fake_});
  EXPECT_EQ(quiet.err, "");
  EXPECT_THAT(quiet.out, Not(HasSubstr("table of")));
  const testing::outcome told = versus({"--rounds=2", "--verbose"}, {fake_}, {fake_});
  EXPECT_THAT(told.err, AllOf(mentions("2", "new", "old"), HasSubstr("table of new_2.json\n")));
  EXPECT_EQ(told.out, quiet.out);
}

TEST_F(Versus, FailsOnRegressions) {
  const testing::outcome done =
      versus({"--rounds=5", "--fail-on-regression"}, {fake_}, {fake_, "--slow=100"});
  EXPECT_EQ(done.exit_code, 4);
  EXPECT_THAT(done.err, AllOf(mentions("inference/reference/f32/tiny/batch:2"), HasSubstr(" %")));
  EXPECT_THAT(done.out, HasSubstr("| slower"));
}

}  // namespace tools_versus_test
}  // namespace layerbench
