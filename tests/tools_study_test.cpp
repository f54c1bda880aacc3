// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "support/golden.hpp"
#include "support/mentions.hpp"
#include "support/program.hpp"
#include "support/scaling.hpp"

namespace layerbench {
namespace tools_study_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::mentions;
using ::testing::Not;
using ::testing::SizeIs;

testing::outcome study(std::vector<std::string> words) {
  words.insert(words.begin(), "study");
  return testing::run(LAYERBENCH_TOOL, words);
}

json::value json_of(const testing::outcome& done) {
  EXPECT_EQ(done.exit_code, 0) << done.err;
  return json::value::parse(done.out);
}

/// The first cell of lenet5.
json::value lenet5_in(const json::value& table) {
  for (const json::value& cell : table.at("cells")) {
    if (cell.value("model", "") == "lenet5") return cell;
  }
  ADD_FAILURE() << "no cell of lenet5";
  return {};
}

TEST(ListStudies, HasTheShippedOnesWithTheirCells) {
  const json::value list =
      json_of(testing::run(LAYERBENCH_TOOL, {"list", "--studies", "--format", "json"}));
  EXPECT_GE(list.at("studies").size(), 7U);
  for (const json::value& item : list.at("studies")) {
    EXPECT_EQ(testing::keys(item), (std::set<std::string>{"cells", "name", "source", "title"}));
    const json::value table = json_of(study({item.at("name"), "--format", "json"}));
    EXPECT_EQ(table.at("cells").size(), item.at("cells"));
  }
  EXPECT_THAT(testing::run(LAYERBENCH_TOOL, {"list", "--studies"}).out, mentions("upv_2018"));
}

TEST(Study, WithoutResultsSaysHowToMeasureThem) {
  const testing::outcome done = study({"upv_2018", "--model", "lenet5", "--out", "folder"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, mentions("bench_model", "42588", "--model=lenet5", "--phase=training",
                                 "--batch=64", "--dtype=f32"));
  EXPECT_THAT(done.out, HasSubstr("folder/"));
  EXPECT_FALSE(std::filesystem::exists("folder")) << "nothing ran";
  const json::value table = json_of(study({"upv_2018", "--format", "json"}));
  EXPECT_EQ(table.at("unit"), "images/s");
  EXPECT_THAT(table.at("commands"), Not(IsEmpty()));
  EXPECT_THAT(lenet5_in(table).at("own"), IsEmpty());
}

TEST(Study, HasMemoryWithoutResults) {
  const testing::outcome done = study({"upv_2018", "--model", "resnet50"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, mentions("716", "1352", "pytorch", "bias", "--energy"));
  const testing::outcome rows = study({"upv_2018", "--model", "resnet50", "--format", "csv"});
  EXPECT_THAT(rows.out, HasSubstr("MiB,1x P100,716,1352,"));
  const json::value table = json_of(study({"upv_2018", "--model", "resnet50", "--format", "json"}));
  EXPECT_THAT(table.at("memory_errors"), Not(IsEmpty()));
}

TEST(Study, HasThePredictionsOfResultFiles) {
  testing::temporary_directory scratch;
  const std::string file = scratch.write("r.json", testing::training_results({64})).string();
  const testing::outcome predicted =
      testing::run(LAYERBENCH_TOOL, {"predict", file, "--format", "json"});
  const json::value expected = json_of(predicted).at("predictions").at(0).at("images_per_second");
  for (const std::string& given : {file, scratch.path().string()}) {
    const json::value cell = lenet5_in(json_of(study({"upv_2018", given, "--format", "json"})));
    ASSERT_THAT(cell.at("own"), SizeIs(1));
    EXPECT_EQ(cell.at("own").at(0).at("value"), expected);
    EXPECT_TRUE(cell.at("reason").is_null());
    EXPECT_EQ(cell.at("published").at("1x P100"), 42588);
  }
  const testing::outcome rows = study({"upv_2018", file, "--format", "csv"});
  EXPECT_EQ(rows.exit_code, 0) << rows.err;
  EXPECT_THAT(rows.out, AllOf(mentions("42588"), HasSubstr(expected.dump())));
}

TEST(Study, AllAreTheSmallestCellsOfEach) {
  const json::value list =
      json_of(testing::run(LAYERBENCH_TOOL, {"list", "--studies", "--format", "json"}));
  const json::value all = json_of(study({"--all", "--smallest", "--format", "json"}));
  ASSERT_EQ(all.at("studies").size(), list.at("studies").size());
  for (std::size_t i = 0; i < all.at("studies").size(); ++i) {
    const json::value& one = all.at("studies").at(i);
    EXPECT_EQ(one.at("name"), list.at("studies").at(i).at("name"));
    EXPECT_THAT(one.at("commands"), SizeIs(1)) << one.at("name");
  }
  const testing::outcome lenet = study({"--all", "--model", "lenet5"});
  EXPECT_EQ(lenet.exit_code, 0) << lenet.err;
  EXPECT_THAT(lenet.out, AllOf(HasSubstr("upv_2018: "), Not(HasSubstr("lerat_2021"))));
}

TEST(Study, AllHaveTheFiguresOfResultFiles) {
  testing::temporary_directory scratch;
  const std::string file =
      scratch.write("r.json", testing::results_of({{"mnist_cnn_elshawi", 128}})).string();
  const json::value all = json_of(study({"--all", file, "--format", "json"}));
  ASSERT_THAT(all.at("studies"), SizeIs(1));
  EXPECT_EQ(all.at("studies").at(0).at("name"), "elshawi_2021");
  const testing::outcome rows = study({"--all", file, "--format", "csv"});
  EXPECT_THAT(rows.out, AllOf(mentions("hours", "MiB"), HasSubstr("mnist_cnn_elshawi")));
  EXPECT_EQ(study({"--all", testing::tiny_file}).exit_code, 5) << "other models";
}

TEST(Study, OfSeveralDevicesTakesANetwork) {
  testing::temporary_directory scratch;
  const std::string file =
      scratch.write("r.json", testing::results_of({{"resnet50", 128}})).string();
  const testing::outcome alone = study({"resbench_2022", file});
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_THAT(alone.out, AllOf(HasSubstr("99.01"), HasSubstr("needs --network")));
  const testing::outcome joined = study({"resbench_2022", file, "--network", "dgx1_v100"});
  EXPECT_EQ(joined.exit_code, 0) << joined.err;
  EXPECT_THAT(joined.out, AllOf(HasSubstr("198.0"), Not(HasSubstr("needs --network"))));
  EXPECT_EQ(study({"resbench_2022", file, "--network", "nowhere"}).exit_code, 5);
}

TEST(Study, RefusesWhatIsWrong) {
  testing::temporary_directory scratch;
  const std::string bad = scratch.write("bad.json", R"({"name": "s"})").string();
  const testing::outcome refused = study({bad});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, AllOf(HasSubstr(bad), mentions("title")));
  EXPECT_EQ(study({}).exit_code, 2);
  EXPECT_EQ(study({"nowhere"}).exit_code, 5);
  EXPECT_EQ(study({"upv_2018", "--model", "resnet18"}).exit_code, 5) << "not of this study";
  EXPECT_EQ(study({"upv_2018", "--budget", "5"}).exit_code, 2) << "without --run";
  EXPECT_EQ(study({"upv_2018", testing::tiny_file, "--run"}).exit_code, 2) << "one or the other";
  EXPECT_EQ(study({"--all", "upv_2018", "--run"}).exit_code, 2) << "all or one";
  const testing::outcome both = study({"--all", "upv_2018"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, mentions("--all", "upv_2018"));
  EXPECT_EQ(study({"--all", "--model", "alexnet_grouped_227"}).exit_code, 5) << "in no study";
  EXPECT_EQ(study({"upv_2018", testing::tiny_file}).exit_code, 5) << "other models";
  EXPECT_EQ(study({"upv_2018", scratch.path().string()}).exit_code, 3) << "no result file in it";
}

/// The tool beside a stand-in for bench_model, which notes its arguments.
class StudyRun : public ::testing::Test {
 protected:
  StudyRun() {
    std::filesystem::copy_file(LAYERBENCH_TOOL, tool_);
    static_cast<void>(scratch_.write("results", testing::training_results({64})));
  }

  /// bench_model is this script from now on, in which $out is the result file.
  void stand_in(const std::string& script) {
    const std::filesystem::path path = scratch_.write(
        "bench_model",
        fmt::format("#!/bin/sh\nfolder={}\n"
                    "echo \"$*\" >> $folder/calls\n"
                    "for word in \"$@\"; do case $word in\n"
                    "  --benchmark_out=*|--resume=*) out=${{word#*=}};; esac; done\n{}\n",
                    scratch_.path().string(), script));
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  [[nodiscard]] testing::outcome run(std::vector<std::string> words,
                                     const std::string& model = "lenet5",
                                     const std::string& which = "upv_2018") const {
    const std::vector<std::string> begin{"study", which,   "--model", model,
                                         "--run", "--out", folder()};
    words.insert(words.begin(), begin.begin(), begin.end());
    return testing::run(tool_.string(), words, {{"LAYERBENCH_SHAPES", LAYERBENCH_SHAPES_DIR}});
  }

  [[nodiscard]] std::string write(const std::string& study) const {
    return scratch_.write("s.json", study).string();
  }
  [[nodiscard]] std::string folder() const { return (scratch_.path() / "out").string(); }
  [[nodiscard]] std::string calls() const { return json::read_text(scratch_.path() / "calls"); }

 private:
  testing::temporary_directory scratch_;
  std::filesystem::path tool_ = scratch_.path() / "layerbench";
};

TEST_F(StudyRun, MeasuresThenPrintsAndResumes) {
  stand_in("cp $folder/results $out");
  const json::value table = json_of(run({"--format", "json", "--budget", "6"}));
  EXPECT_THAT(lenet5_in(table).at("own"), SizeIs(1));
  EXPECT_THAT(calls(), mentions("--model=lenet5", "--phase=training", "--batch=64", "--dtype=f32",
                                "--budget=6.000"));
  EXPECT_THAT(calls(), AllOf(HasSubstr("--benchmark_out=" + folder()), Not(HasSubstr("--resume"))));
  EXPECT_EQ(run({"--smallest"}).exit_code, 0);
  EXPECT_THAT(calls(), HasSubstr("--resume=" + folder()));
}

TEST_F(StudyRun, OfAllHasAFolderForEachStudy) {
  stand_in("cp $folder/results $out");
  const testing::outcome done = run({}, "lenet5", "--all");
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(calls(), HasSubstr("--benchmark_out=" + folder() + "/upv_2018/"));
}

TEST_F(StudyRun, OfAllSharesTheBudgetAmongRunsOfChosenModels) {
  stand_in("cp $folder/results $out");
  static_cast<void>(run({"--budget", "60000"}, "lenet5", "--all"));
  const auto share = [&](std::size_t from) {
    const std::string word = "--budget=";
    return std::stod(calls().substr(calls().find(word, from) + word.size()));
  };
  const std::string all = calls();
  const auto count = static_cast<double>(std::ranges::count(all, '\n'));
  EXPECT_NEAR(share(0), 60000 / count, 500 / count) << all;
  EXPECT_GT(share(all.rfind("--budget=")), 50000) << "what runs leave goes to those after";
}

TEST_F(StudyRun, SaysTheWholeBudgetWhereItIsSpent) {
  stand_in("sleep 0.1; cp $folder/results $out");
  const testing::outcome done = run({"--budget", "0.05"}, "lenet5", write(R"({
    "name": "s", "title": "S", "source": "a paper", "unit": "s", "columns": ["x"], "unanswered": [],
    "cells": [
      {"label": "a", "model": "lenet5", "phase": "training", "batch": 64, "published": {"x": 2}},
      {"label": "b", "model": "lenet5", "phase": "training", "batch": 32, "published": {"x": 3}}]})"));
  EXPECT_EQ(done.exit_code, 4) << done.err;
  EXPECT_THAT(done.out, HasSubstr("--budget=0.05 was spent"));
}

TEST_F(StudyRun, LeavesOutMoreThreadsThanProcessors) {
  stand_in("exit 0");
  const testing::outcome done = run({}, "lenet5", write(R"({
    "name": "s", "title": "S", "source": "a paper", "unit": "s", "columns": ["x"], "unanswered": [],
    "cells": [
      {"label": "a", "model": "lenet5", "phase": "training", "batch": 64, "threads": 1,
       "published": {"x": 2}},
      {"label": "b", "model": "lenet5", "phase": "training", "batch": 64, "threads": 1000000,
       "published": {"x": 3}}]})"));
  EXPECT_EQ(done.exit_code, 4) << done.err;
  EXPECT_THAT(done.out, HasSubstr("1000000 threads"));
  EXPECT_THAT(calls(), AllOf(HasSubstr("--threads=1 "), Not(HasSubstr("--threads=1000000"))));
}

TEST_F(StudyRun, KeepsEarlierResultsOfMoreThreadsThanProcessors) {
  stand_in("exit 0");
  std::filesystem::create_directories(folder());
  json::value earlier = json::value::parse(testing::training_results({64}));
  earlier["context"]["threads"] = "1000000";
  std::ofstream(folder() + "/training_f32_batch64_threads1000000.json") << earlier;
  const json::value table = json::value::parse(run({"--format", "json"}, "lenet5", write(R"({
    "name": "s", "title": "S", "source": "a paper", "unit": "s", "columns": ["x"], "unanswered": [],
    "cells": [
      {"label": "b", "model": "lenet5", "phase": "training", "batch": 64, "threads": 1000000,
       "published": {"x": 3}}]})"))
                                                   .out);
  EXPECT_THAT(lenet5_in(table).at("own"), SizeIs(1));
}

TEST_F(StudyRun, SaysWhyARunFailed) {
  stand_in("echo no such library >&2; exit 77");
  const testing::outcome done = run({});
  EXPECT_EQ(done.exit_code, 77);
  EXPECT_THAT(done.out, AllOf(mentions("42588", "77"), HasSubstr("no such library")));
  stand_in("exit 9");
  EXPECT_EQ(run({}).exit_code, 1);
}

}  // namespace tools_study_test
}  // namespace layerbench
