// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>

namespace layerbench {

/// A file that is written completely or not at all: its text goes to a temporary file, which is
/// then renamed. An existing file stays intact until then.
class output_file {
 public:
  /// Checks at once that the file can be written. Throws usage_error.
  explicit output_file(std::filesystem::path path) : path_(std::move(path)) {
    std::error_code unknown;
    const auto status = std::filesystem::status(path_, unknown);
    if (std::filesystem::is_directory(status)) fail("is a directory");
    // Devices and pipes cannot be replaced, nor need they be.
    replaceable_ = !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
    if (replaceable_ && std::filesystem::is_symlink(path_, unknown)) {
      const auto meant = std::filesystem::weakly_canonical(path_, unknown);
      if (!unknown) path_ = meant;
    }
    temporary_ =
        replaceable_ ? path_.string() + ".tmp" + std::to_string(::getpid()) : path_.string();
    if (replaceable_) {
      const int reason = write_temporary("");
      discard();
      if (reason != 0) fail(std::generic_category().message(reason));
    } else if (::access(path_.c_str(), W_OK) != 0) {  // to open a pipe could wait for its reader
      fail(std::generic_category().message(errno));
    }
  }

  /// The file itself, where the given path is a symbolic link to it.
  [[nodiscard]] std::string path() const { return path_.string(); }

  /// Whether a later write() takes the place of an earlier one; in a pipe or a device it follows
  /// it.
  [[nodiscard]] bool replaceable() const { return replaceable_; }

  /// Replaces the file by `text`. Throws error when the disk does not take it; the old file, if
  /// any, is then still there.
  void write(std::string_view text) const {
    if (const int reason = write_temporary(text)) {
      discard();
      throw error(
          fmt::format("{}: writing failed; {}: {}", path_.string(),
                      replaceable_ ? "the file is as it was before" : "the output is truncated",
                      std::generic_category().message(reason)));
    }
    if (!replaceable_) return;
    std::error_code failed;
    std::filesystem::rename(temporary_, path_, failed);
    if (failed) {
      discard();
      throw error(path_.string() + ": cannot be replaced: " + failed.message());
    }
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw usage_error(path_.string() + ": cannot be written: " + reason);
  }

  /// Returns why it could not, an errno, or 0.
  [[nodiscard]] int write_temporary(std::string_view text) const {
    const int file = ::open(temporary_.c_str(),
                            O_WRONLY | O_CREAT | O_CLOEXEC | (replaceable_ ? O_TRUNC : 0), 0666);
    if (file < 0) return errno;
    int reason = 0;
    while (reason == 0 && !text.empty()) {
      const ::ssize_t written = ::write(file, text.data(), text.size());
      if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
      if (written == 0) reason = EIO;
      if (written < 0 && errno != EINTR) reason = errno;
    }
    if (::close(file) != 0 && reason == 0) reason = errno;
    return reason;
  }

  void discard() const {
    std::error_code ignored;
    if (replaceable_) std::filesystem::remove(temporary_, ignored);
  }

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  bool replaceable_ = true;
};

}  // namespace layerbench
