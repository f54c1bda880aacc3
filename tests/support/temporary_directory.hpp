// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace layerbench::testing {

/// A new directory for a test, removed with all its files at the end.
class temporary_directory {
 public:
  temporary_directory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "layerbench.XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "no directory " << pattern;
    path_ = pattern;
  }
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;
  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// Writes a file into the directory and returns its path.
  [[nodiscard]] std::filesystem::path write(const std::string& name,
                                            const std::string& text) const {
    std::ofstream stream(path_ / name, std::ios::binary);
    stream << text;
    EXPECT_TRUE(stream.flush().good());
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace layerbench::testing
