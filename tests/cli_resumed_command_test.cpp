// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/program_path.hpp>
#include <layerbench/cli/option_values.hpp>
#include <layerbench/cli/resumed_command.hpp>

#include "support/program.hpp"

namespace layerbench::run {
namespace cli_resumed_command_test {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(ShellWords, AreThoseThatWereQuoted) {
  const std::vector<std::string> words{"bench_model", "--benchmark_filter=(conv|prob) x",
                                       "it's",        "''",
                                       "a\\b",        "",
                                       "--model=a,b", "\"both\" 'kinds'",
                                       " leading",    "$HOME;`id`",
                                       "new\nline"};
  EXPECT_EQ(detail::shell_words(detail::shell_quoted(words)), words);
  EXPECT_THAT(detail::shell_words(""), SizeIs(0));
  EXPECT_THAT(detail::shell_words("  a   b "), ElementsAre("a", "b"));
}

TEST(GivenOptions, HaveTheirValues) {
  const auto options =
      detail::options_in({"--model=a,b", "--threads", "1", "2", "--chain", "--seed=-1"});
  ASSERT_THAT(options, SizeIs(4));
  EXPECT_EQ(options[0].text(), "--model=a,b");
  EXPECT_EQ(options[1].text(), "--threads=1,2");
  EXPECT_EQ(options[2].text(), "--chain");
  EXPECT_EQ(options[3].text(), "--seed=-1");
}

TEST(NamedModels, AreTheWordsThatNoOptionTakes) {
  CLI::App app;
  std::vector<std::string> models;
  std::string batch;
  bool wide = false;
  app.add_option("--model,model", models);
  app.add_option("--batch", batch);
  app.add_flag("--wide", wide);
  const auto named = [&](const std::vector<std::string>& words) {
    return detail::with_named_models(words, app);
  };
  EXPECT_THAT(named({"--batch=1", "a"}), ElementsAre("--batch=1", "--model=a"));
  EXPECT_THAT(named({"--batch", "1", "a"}), ElementsAre("--batch", "1", "--model=a"));
  EXPECT_THAT(named({"a", "--wide", "b"}), ElementsAre("--wide", "--model=a,b"));
  EXPECT_THAT(named({"--model", "a", "b"}), ElementsAre("--model", "a", "b"));
  EXPECT_THAT(named({"-"}), ElementsAre("--model=-"));
}

TEST(ShapeFiles, AreFoundFromOtherFolders) {
  const testing::temporary_directory folder;
  const std::string there = folder.write("there.json", "{}").string();
  detail::given_option models{"--model",
                              {"--model=resnet50,absent/mine.json," + there + ",other.json"}};
  detail::find_shape_files(models, "/old/mine.json,/old/there.json");
  EXPECT_EQ(models.text(), "--model=resnet50,/old/mine.json," + there + ",other.json");
}

TEST(RecordedWords, AreOfTheSameProgramWhateverItsFileIsCalled) {
  const testing::temporary_directory folder;
  const std::string file =
      folder
          .write("r.json", R"({"context": {"command": "./fast --model=a --budget=30 --seed=3",
                               "layerbench_program": "bench_model"}, "benchmarks": []})")
          .string();
  const CLI::App app;
  program what{.name = "bench_model", .purpose = "", .ops = {}};
  EXPECT_THAT(detail::recorded_words(file, {}, what, app), ElementsAre("--model=a", "--seed=3"))
      << "a budget is the limit of one start";
  what.name = "bench_conv";
  EXPECT_THROW(static_cast<void>(detail::recorded_words(file, {}, what, app)), usage_error);
}

TEST(ProgramPath, IsThatOfAProgramBesideTheRunningOne) {
  const testing::temporary_directory folder;
  for (const char* name : {"bench", "tools"})
    std::filesystem::create_directory(folder.path() / name);
  const std::string tool = folder.write("tools/layerbench", "").string();
  const std::string bench = folder.write("bench/bench_peak", "").string();
  EXPECT_EQ(program_path("layerbench", bench), tool);
  EXPECT_EQ(program_path("bench_peak", tool), bench);
  EXPECT_EQ(program_path("bench_peak", folder.path() / "bench/bench_model"), bench);
  EXPECT_EQ(program_path("bench_absent", tool), "bench_absent");
}

}  // namespace cli_resumed_command_test
}  // namespace layerbench::run
