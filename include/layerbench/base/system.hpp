// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// Properties of the machine from Linux's files below a `root`: "/", or a copy of them. A missing
/// or unreadable property is nothing.
namespace layerbench::machine {

using path = std::filesystem::path;

/// The first line of a file.
[[nodiscard]] std::optional<std::string> line_of(const path& file);

/// The path of the running program.
[[nodiscard]] std::optional<path> this_program();

/// The whole number at the start of `text`, after blanks.
[[nodiscard]] std::optional<std::int64_t> number_in(std::string_view text);

[[nodiscard]] std::optional<std::int64_t> number_of(const path& file);

/// The number behind `name` in a file of lines "name number" or "name: number".
[[nodiscard]] std::optional<std::int64_t> field_of(const path& file, std::string_view name);

/// Directories of the control groups that limit this process by `controller` (cpu, memory), from
/// the innermost to the root, and the version of control groups, 1 or 2.
struct control_groups {
  int version = 2;
  std::vector<path> directories;
};

[[nodiscard]] control_groups control_groups_of(const path& root, std::string_view controller);

/// Bytes that this process can allocate without swapping, by the system and by its control groups.
[[nodiscard]] std::optional<std::int64_t> available_memory_bytes(const path& root = "/");

/// Bytes of memory that control groups grant this process and its siblings.
[[nodiscard]] std::optional<std::int64_t> memory_limit_bytes(const path& root = "/");

/// Bytes that this process has allocated and touched; not the code of its libraries, which is
/// resident, too.
[[nodiscard]] std::optional<std::int64_t> touched_memory_bytes(const path& root = "/");

/// Processors whose time control groups grant this process.
[[nodiscard]] std::optional<double> processor_quota(const path& root = "/");

/// Ticks of all processors since boot, and the number of processors.
struct processor_times {
  std::int64_t busy = 0;
  std::int64_t idle = 0;
  std::int64_t stolen = 0;  ///< by the host of a virtual machine
  int processors = 0;
};

[[nodiscard]] std::optional<processor_times> processor_times_of(const path& root = "/");

/// Directories cpu0, cpu1, ... of the processors.
[[nodiscard]] std::vector<path> processors_of(const path& root);

/// The distinct first lines of a file in each processor's directory.
[[nodiscard]] std::set<std::string> per_processor(const path& root, const path& file);

/// Whether the clock may rise above its nominal rate.
[[nodiscard]] std::optional<bool> turbo(const path& root);

/// The hypervisor, or nothing on a physical machine.
[[nodiscard]] std::optional<std::string> hypervisor(const path& root);

}  // namespace layerbench::machine

#ifndef LAYERBENCH_COMPILED
#include <layerbench/base/system-inl.hpp>
#endif
