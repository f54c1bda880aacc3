// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <ios>
#include <random>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/input_path.hpp>
#include <layerbench/base/output_file.hpp>

namespace layerbench {

namespace detail {

/// What a text is, by its begin: "results", "a shape file", "a page", "a JSON list", or "JSON with"
/// its first key. Empty for other text.
[[nodiscard]] inline std::string content_kind(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  const auto skip = [&](std::string_view rest) {
    return rest.substr(std::min(rest.find_first_not_of(blank), rest.size()));
  };
  const std::string_view begin = skip(text);
  if (begin.starts_with("name,iterations,")) return "results";  // Google Benchmark's CSV
  if (begin.starts_with("<!DOCTYPE html>")) return "a page";
  if (begin.starts_with('[')) return "a JSON list";
  if (!begin.starts_with('{')) return {};
  const std::string_view first = skip(begin.substr(1));
  const std::string_view key =
      first.starts_with('"') ? first.substr(1, first.find('"', 1) - 1) : "";
  if (key == "context") return "results";
  // Bencher's metric format has the names of cases as keys.
  if (key.empty() || key.find('/') != key.npos) return "JSON";
  if (key == "name" || key == "$schema") {
    if (begin.find("\"rules\"") != begin.npos) return "a fusion plan";
    if (begin.find("\"layers\"") != begin.npos) return "a shape file";
  }
  return fmt::format("JSON with \"{}\"", key.substr(0, 40));
}

/// Whether files of that name hold text or data by its ending, so that they can be outputs.
[[nodiscard]] inline bool is_named_as_output(const std::filesystem::path& path) {
  constexpr std::array<std::string_view, 13> endings{
      ".json", ".html", ".htm", ".txt", ".text", ".md",     ".markdown",
      ".csv",  ".tsv",  ".dat", ".log", ".out",  ".partial"};
  return std::ranges::find(endings, path.extension().string()) != endings.end();
}

/// The first bytes of a file; empty where it cannot be read.
[[nodiscard]] inline std::string begin_of(const std::filesystem::path& path) {
  std::string begin(1 << 16, '\0');
  std::ifstream stream(path, std::ios::binary);
  stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(stream.gcount()));
  return begin;
}

}  // namespace detail

LAYERBENCH_INLINE output_file::output_file(std::filesystem::path path, overwrite_rule rule,
                                           std::string_view sample)
    : path_(std::move(path)), rule_(rule) {
  std::error_code unknown;
  const auto status = std::filesystem::status(path_, unknown);
  if (std::filesystem::is_directory(status)) fail("is a directory");
  // Devices and pipes cannot be replaced, nor need they be.
  replaceable_ = !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
  if (replaceable_ && std::filesystem::is_symlink(path_, unknown)) {
    const auto meant = std::filesystem::weakly_canonical(path_, unknown);
    if (!unknown) path_ = meant;
  }
  if (replaceable_) {
    refuse_to_replace(sample, /*whole=*/false);
    std::filesystem::path temporary;
    const int reason = write_temporary("", temporary);
    discard(temporary);
    if (reason != 0) fail(std::generic_category().message(reason));
  } else if (::access(path_.c_str(), W_OK) != 0) {  // to open a pipe could wait for its reader
    fail(std::generic_category().message(errno));
  }
}

LAYERBENCH_INLINE void output_file::write(std::string_view text) const {
  if (!replaceable_) return write_in_place(text);
  refuse_to_replace(text, /*whole=*/true);
  std::filesystem::path temporary;
  if (const int reason = write_temporary(text, temporary)) {
    discard(temporary);
    throw error(fmt::format("{}: writing failed; the file is as it was before: {}", path_.string(),
                            std::generic_category().message(reason)));
  }
  std::error_code failed;
  std::filesystem::rename(temporary, path_, failed);
  if (failed) {
    discard(temporary);
    throw error(path_.string() + ": cannot be replaced: " + failed.message());
  }
}

LAYERBENCH_INLINE void output_file::fail(const std::string& reason) const {
  throw usage_error(path_.string() + ": cannot be written: " + reason);
}

LAYERBENCH_INLINE void output_file::refuse_to_replace(std::string_view text, bool whole) const {
  if (rule_ == overwrite_rule::updated) return;
  if (is_input(path_)) {
    throw usage_error(path_.string() +
                      ": is an input of this call; name another file for the output");
  }
  if (rule_ == overwrite_rule::any || text.empty()) return;
  const std::string old = detail::begin_of(path_);
  if (old.find_first_not_of(" \t\r\n") == old.npos) return;  // also where there is no file
  const std::string kind = detail::content_kind(old);
  const std::string wanted = detail::content_kind(text);
  const bool is_output = detail::is_named_as_output(path_) || same_line(old, text) ||
                         (!whole && !path_.has_extension());
  const bool alike = kind == wanted || (!whole && wanted == "JSON" && kind.starts_with(wanted));
  if (kind.empty() ? is_output : alike) return;
  throw usage_error(fmt::format(
      "{}: holds {}, which the output would replace; name another file, or add --overwrite",
      path_.string(), kind.empty() ? "something that layerbench did not write" : kind));
}

LAYERBENCH_INLINE bool output_file::same_line(std::string_view a, std::string_view b) {
  return a.substr(0, a.find('\n')) == b.substr(0, b.find('\n'));
}

LAYERBENCH_INLINE int output_file::write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ::ssize_t written = ::write(file, text.data(), text.size());
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    if (written == 0) return EIO;
    if (written < 0 && errno != EINTR) return errno;
  }
  return 0;
}

LAYERBENCH_INLINE void output_file::write_in_place(std::string_view text) const {
  const int file = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  int reason = file < 0 ? errno : write_all(file, text);
  if (file >= 0 && ::close(file) != 0 && reason == 0) reason = errno;
  if (reason == 0) return;
  throw error(fmt::format("{}: writing failed; the output is truncated: {}", path_.string(),
                          std::generic_category().message(reason)));
}

LAYERBENCH_INLINE int output_file::write_temporary(std::string_view text,
                                                   std::filesystem::path& temporary) const {
  int file = -1;
  std::random_device random;
  // Other users of the folder could have put a link there, which must not be followed.
  for (int attempt = 0; file < 0 && attempt < 100; ++attempt) {
    temporary = path_.string() + fmt::format(".tmp{:08x}", random());
    file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0 && errno != EEXIST) break;
  }
  if (file < 0) {
    temporary.clear();
    return errno;
  }
  int reason = write_all(file, text);
  if (::close(file) != 0 && reason == 0) reason = errno;
  return reason;
}

LAYERBENCH_INLINE void output_file::discard(const std::filesystem::path& temporary) {
  std::error_code ignored;
  if (!temporary.empty()) std::filesystem::remove(temporary, ignored);
}

LAYERBENCH_INLINE bool spare_file::write(const std::filesystem::path& instead_of,
                                         std::string_view text) {
  if (write_to(path_, text)) return true;
  remove();
  const char* const home = std::getenv("HOME");
  std::error_code unknown;
  for (const std::filesystem::path& folder :
       {std::filesystem::temp_directory_path(unknown), std::filesystem::path("/dev/shm"),
        std::filesystem::path(home == nullptr ? "" : home)}) {
    std::string created = (folder / "layerbench.XXXXXX").string();
    if (folder.empty() || ::mkdtemp(created.data()) == nullptr) continue;
    path_ = std::filesystem::path(created) / instead_of.filename();
    if (write_to(path_, text)) return true;
    remove();
  }
  return false;
}

LAYERBENCH_INLINE void spare_file::remove() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_.parent_path(), ignored);
  path_.clear();
}

LAYERBENCH_INLINE std::string spare_file::text() const {
  return path_.empty() ? "; no other folder took it" : "; it is kept in " + path_.string();
}

LAYERBENCH_INLINE bool spare_file::write_to(const std::filesystem::path& path,
                                            std::string_view text) {
  try {
    if (!path.empty()) output_file(path, overwrite_rule::any).write(text);
    return !path.empty();
  } catch (const error&) {
    return false;
  }
}

}  // namespace layerbench
