// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/input_path.hpp>
#include <layerbench/base/output_file.hpp>
#include <layerbench/base/plain_text.hpp>

#include "support/mentions.hpp"
#include "support/temporary_directory.hpp"

namespace layerbench {
namespace base_output_file_test {

/// What `work` throws: its exit code, and its text in `says`.
template <class Work>
exit_code failure_of(Work&& work, std::string& says) {
  try {
    work();
  } catch (const error& e) {
    says = e.what();
    return e.code();
  }
  return exit_code::done;
}

TEST(OutputFile, ThatCannotBeWrittenIsAWrongCommandLine) {
  const testing::temporary_directory scratch;
  for (const std::filesystem::path& path : {scratch.path(), scratch.path() / "absent" / "r.json",
                                            scratch.path() / std::string(300, 'a')}) {
    std::string says;
    EXPECT_EQ(failure_of([&] { const output_file result(path); }, says), exit_code::usage) << path;
    EXPECT_THAT(says, testing::mentions(path.string()));
  }
}

TEST(OutputFile, ThatCanNoLongerBeWrittenIsAFailureWithItsReason) {
  const testing::temporary_directory scratch;
  const std::filesystem::path folder = scratch.path() / "results";
  std::filesystem::create_directory(folder);
  const output_file result(folder / "r.json");
  std::filesystem::remove(folder);
  std::string says;
  EXPECT_EQ(failure_of([&] { result.write("text"); }, says), exit_code::failure);
  EXPECT_THAT(says, testing::mentions((folder / "r.json").string(), std::strerror(ENOENT)));
}

TEST(OutputFile, OfALinkIsWhatItLeadsTo) {
  const testing::temporary_directory scratch;
  const std::filesystem::path meant = scratch.write("meant.json", "old");
  const std::filesystem::path link = scratch.path() / "link.json";
  std::filesystem::create_symlink(meant, link);
  output_file(link).write("newer");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(std::filesystem::file_size(meant), 5U);
}

TEST(OutputFile, ReplacesNoInputUnderWhateverName) {
  const testing::temporary_directory scratch;
  const std::filesystem::path input = scratch.write("in.json", "{}");
  const std::filesystem::path hard = scratch.path() / "hard.json";
  const std::filesystem::path soft = scratch.path() / "soft.json";
  std::filesystem::create_hard_link(input, hard);
  std::filesystem::create_symlink(input, soft);
  const output_file before(input);
  EXPECT_EQ(input_path(hard), hard);
  std::string says;
  for (const std::filesystem::path& path : {input, hard, soft}) {
    EXPECT_EQ(failure_of([&] { const output_file result(path); }, says), exit_code::usage);
    EXPECT_EQ(failure_of([&] { const output_file result(path, overwrite_rule::any); }, says),
              exit_code::usage);
    EXPECT_THAT(says, ::testing::StartsWith(scratch.path().string()));
  }
  EXPECT_EQ(failure_of([&] { before.write("text"); }, says), exit_code::usage);
  EXPECT_EQ(std::filesystem::file_size(input), 2U);
  output_file(input, overwrite_rule::updated).write("text");
  EXPECT_EQ(std::filesystem::file_size(input), 4U);
  EXPECT_FALSE(is_input(input)) << "another file has the name now";
}

TEST(OutputFile, ReplacesItsLike) {
  const testing::temporary_directory scratch;
  const std::string results = R"({"context": {}, "benchmarks": []})";
  const std::string csv = "name,iterations,real_time\n";
  const std::string shape = R"({ "$schema": "s", "name": "a", "layers": [] })";
  const std::string page = "<!DOCTYPE html>\n<html/>";
  const std::string prediction = R"({"predictions": []})";
  struct pair {
    std::string name, old, text;
    bool alike;
  };
  for (const pair& of : std::vector<pair>{{"a.json", results, results, true},
                                          {"a.json", results, csv, true},
                                          {"a.json", results, prediction, false},
                                          {"a.txt", results, "text", false},
                                          {"a.csv", csv, "model,seconds\n", false},
                                          {"a.json", shape, shape, true},
                                          {"a.json", shape, results, false},
                                          {"a.json", R"({"name": "a"})", shape, false},
                                          {"a.json", R"({"x/y": {}})", "{}", true},
                                          {"a.html", page, page, true},
                                          {"a.html", page, "text", false},
                                          {"a.txt", "old", "text", true},
                                          {"a.json", "old", results, true},
                                          {"a", "old", "text", false},
                                          {"a", "old\n1", "old\n2", true},
                                          {"a.py", "old", "text", false},
                                          {"a.py", " \n", "text", true}}) {
    SCOPED_TRACE(of.name + ": " + of.old + " by " + of.text);
    const std::filesystem::path path = scratch.write(of.name, of.old);
    std::string says;
    EXPECT_EQ(failure_of([&] { output_file(path).write(of.text); }, says),
              of.alike ? exit_code::done : exit_code::usage);
    EXPECT_EQ(std::filesystem::file_size(path), (of.alike ? of.text : of.old).size());
    output_file(path, overwrite_rule::any).write(of.text);
    EXPECT_EQ(std::filesystem::file_size(path), of.text.size());
  }
}

TEST(SpareFile, IsInAFolderOfItsOwnUntilItIsRemoved) {
  spare_file spare;
  EXPECT_TRUE(spare.write("results.json", "one"));
  EXPECT_TRUE(spare.write("results.json", "two"));
  const std::string says = spare.text();
  const std::filesystem::path kept = says.substr(says.find('/'));
  EXPECT_EQ(std::filesystem::file_size(kept), 3U);
  EXPECT_EQ(kept.filename(), "results.json");
  spare.remove();
  EXPECT_FALSE(std::filesystem::exists(kept.parent_path()));
}

TEST(Plain, TextHasNothingThatATerminalObeys) {
  EXPECT_EQ(without_controls("a\x1b[31m\xc2\x9b\x7f\tb\r\nc\rd\n"), "a?[31m??\tb\r\nc?d\n");
  EXPECT_EQ(without_controls("\xc3\xa9\xc2\xb5 \xe2\x80\xa6"), "\xc3\xa9\xc2\xb5 \xe2\x80\xa6");
  EXPECT_EQ(without_controls("a\nb\tc", /*one_line=*/true), "a?b?c");
}

}  // namespace base_output_file_test
}  // namespace layerbench
