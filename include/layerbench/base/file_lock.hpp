// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <layerbench/base/error.hpp>

namespace layerbench {

/// Keeps other processes from writing the same file, until it is destroyed or the process ends. The
/// lock is on a file of its own beside it, `<path>.lock`, since writing replaces the file itself.
class file_lock {
 public:
  /// Throws usage_error when another process has the lock, or none can be made.
  explicit file_lock(const std::string& path) : path_(path + ".lock") {
    struct stat locked{};
    // Whoever had the lock may have removed its file between the two calls: then it is made again.
    while (locked.st_nlink == 0) {
      close();
      file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
      if (file_ < 0) fail("cannot be written: " + std::generic_category().message(errno));
      if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
        close();
        throw usage_error(path + ": another run writes to it; name another file");
      }
      if (::fstat(file_, &locked) != 0) fail(std::generic_category().message(errno));
    }
  }
  file_lock(file_lock&& other) noexcept
      : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}
  file_lock& operator=(file_lock&&) = delete;
  ~file_lock() {
    if (file_ >= 0) ::unlink(path_.c_str());
    close();
  }

 private:
  [[noreturn]] void fail(const std::string& reason) {
    close();
    throw usage_error(path_ + ": " + reason);
  }

  void close() {
    if (file_ >= 0) ::close(std::exchange(file_, -1));
  }

  std::string path_;
  int file_ = -1;
};

}  // namespace layerbench
