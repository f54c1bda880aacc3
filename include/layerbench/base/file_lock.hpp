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
/// On file systems without locks it does nothing.
class file_lock {
 public:
  /// Throws usage_error, which ends with `remedy`, when another process has the lock; also when
  /// `<path>.lock` cannot be written.
  explicit file_lock(const std::string& path, const std::string& remedy = "name another file")
      : lock_file_(path + ".lock") {
    struct stat locked{};
    // The last holder may have removed the file between open and flock: then it is made again.
    while (locked.st_nlink == 0) {
      close();
      file_ = ::open(lock_file_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
      if (file_ < 0) fail(errno);
      if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
        const int reason = errno;
        if (reason != EWOULDBLOCK) return;  // no locks here
        close();
        std::string used = path;
        throw usage_error(used.append(": another run writes to it; ").append(remedy));
      }
      if (::fstat(file_, &locked) != 0) fail(errno);
    }
  }
  file_lock(const file_lock&) = delete;
  file_lock& operator=(const file_lock&) = delete;
  ~file_lock() {
    if (file_ >= 0) ::unlink(lock_file_.c_str());
    close();
  }

 private:
  [[noreturn]] void fail(int reason) {
    close();
    throw usage_error(lock_file_ +
                      ": cannot be written: " + std::generic_category().message(reason));
  }

  void close() {
    if (file_ >= 0) ::close(std::exchange(file_, -1));
  }

  const std::string lock_file_;
  int file_ = -1;
};

}  // namespace layerbench
