// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/input_path.hpp>

namespace layerbench {

namespace detail {

[[nodiscard]] inline std::optional<file_identity> identity_of(int directory, const char* path,
                                                              int flags) {
  struct statx about{};
  constexpr unsigned wanted = STATX_TYPE | STATX_INO | STATX_BTIME;
  if (::statx(directory, path, flags, wanted, &about) != 0) return std::nullopt;
  file_identity found{.device = std::uint64_t{about.stx_dev_major} << 32U | about.stx_dev_minor,
                      .number = about.stx_ino,
                      .mode = static_cast<std::uint16_t>(about.stx_mode & S_IFMT)};
  if ((about.stx_mask & STATX_BTIME) != 0) {
    found.created_seconds = about.stx_btime.tv_sec;
    found.created_nanoseconds = about.stx_btime.tv_nsec;
  }
  return found;
}

}  // namespace detail

LAYERBENCH_INLINE std::optional<file_identity> identity_of(const std::filesystem::path& path) {
  return path == "-" ? detail::identity_of(STDIN_FILENO, "", AT_EMPTY_PATH)
                     : detail::identity_of(AT_FDCWD, path.c_str(), 0);
}

LAYERBENCH_INLINE bool is_same_file(const std::filesystem::path& a,
                                    const std::filesystem::path& b) {
  const auto first = identity_of(a);
  return first && first == identity_of(b);
}

namespace detail {

/// A file in memory with what a pipe holds.
class pipe_copy {
 public:
  /// `name` is for errors. Throws bad_input where no program writes to the pipe.
  pipe_copy(const std::filesystem::path& pipe, const std::string& name)
      : file_(::memfd_create("layerbench", MFD_CLOEXEC)) {
    // stdin may be a socket, which cannot be opened. Opening a pipe could wait for its writer.
    const bool is_stdin = pipe == "/dev/stdin";
    const int from = is_stdin ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                              : ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const char* const failure =
        from < 0 || file_ < 0 ? "cannot be read; check its permissions" : copy(from, is_stdin);
    if (from >= 0) ::close(from);
    if (failure == nullptr) return;
    ::close(file_);
    throw bad_input(name, "", failure);
  }
  pipe_copy(const pipe_copy&) = delete;
  pipe_copy& operator=(const pipe_copy&) = delete;
  ~pipe_copy() { ::close(file_); }

  [[nodiscard]] std::filesystem::path path() const {
    return "/proc/self/fd/" + std::to_string(file_);
  }

 private:
  /// Copies all to the end. A pipe that has or had a writer ends with it. Returns what failed, or
  /// null.
  [[nodiscard]] const char* copy(int from, bool has_writer) const {
    using std::chrono::steady_clock;
    constexpr std::size_t most_bytes = std::size_t{1} << 30U;
    // Programs of a shell's line start at about the same time.
    const auto patience = steady_clock::now() + std::chrono::seconds(2);
    std::array<char, 1 << 16> block{};
    for (std::size_t size = 0; size <= most_bytes;) {
      const ::ssize_t got = ::read(from, block.data(), block.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno != EAGAIN) return "cannot be read";
      if (got == 0 && has_writer) return nullptr;
      if (got == 0 && steady_clock::now() > patience) return "is empty: no program writes to it";
      if (got == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (got == 0) continue;
      has_writer = true;
      if (got < 0) {  // from now on reading waits
        if (::fcntl(from, F_SETFL, O_RDONLY) != 0) return "cannot be read";
        continue;
      }
      if (::write(file_, block.data(), static_cast<std::size_t>(got)) != got) {
        return "does not fit into memory; save it to a file";
      }
      size += static_cast<std::size_t>(got);
    }
    return "has more than 1 GiB, too much for a pipe; save it to a file";
  }

  int file_;
};

/// What this program has read.
struct inputs_read {
  std::set<file_identity> files;
  std::map<file_identity, pipe_copy> pipes;
};

[[nodiscard]] inline inputs_read& inputs_read_so_far() {
  static inputs_read all;
  return all;
}

}  // namespace detail

LAYERBENCH_INLINE std::filesystem::path input_path(const std::filesystem::path& named) {
  std::filesystem::path path = named == "-" ? std::filesystem::path("/dev/stdin") : named;
  const std::optional<file_identity> file = identity_of(named);
  if (!file) return path;
  detail::inputs_read& known = detail::inputs_read_so_far();
  if (S_ISFIFO(file->mode) || S_ISSOCK(file->mode)) {
    return known.pipes.try_emplace(*file, path, named.string()).first->second.path();
  }
  if (!S_ISREG(file->mode)) return path;
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    if (detail::identity_of(stream, "", AT_EMPTY_PATH) != file) continue;
    throw usage_error(named.string() + ": is read, and " +
                      (stream == STDOUT_FILENO ? "stdout" : "stderr") +
                      " goes to it; send that to another file");
  }
  known.files.insert(*file);
  return path;
}

LAYERBENCH_INLINE bool is_input(const std::filesystem::path& path) {
  const auto file = identity_of(path);
  return file && detail::inputs_read_so_far().files.contains(*file);
}

}  // namespace layerbench
