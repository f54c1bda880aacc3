// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>

#include <layerbench/base/output_file.hpp>

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

}  // namespace base_output_file_test
}  // namespace layerbench
