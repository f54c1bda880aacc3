// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <limits>
#include <sstream>
#include <system_error>
#include <utility>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/parse_number.hpp>
#include <layerbench/base/system.hpp>

namespace layerbench::machine {

LAYERBENCH_INLINE std::optional<std::string> line_of(const path& file) {
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line)) return std::nullopt;
  return line;
}

LAYERBENCH_INLINE std::optional<path> this_program() {
  std::error_code failed;
  path program = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return std::nullopt;
  return program;
}

LAYERBENCH_INLINE std::optional<std::int64_t> number_in(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return take_number<std::int64_t>(text);
}

LAYERBENCH_INLINE std::optional<std::int64_t> number_of(const path& file) {
  const auto line = line_of(file);
  return line ? number_in(*line) : std::nullopt;
}

LAYERBENCH_INLINE std::optional<std::int64_t> field_of(const path& file, std::string_view name) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(name) || line.size() == name.size()) continue;
    const char next = line[name.size()];
    if (next == ':' || next == ' ') return number_in(line.substr(name.size() + 1));
  }
  return std::nullopt;
}

LAYERBENCH_INLINE control_groups control_groups_of(const path& root, std::string_view controller) {
  control_groups found;
  path base = root / "sys/fs/cgroup";
  std::string own;
  std::ifstream stream(root / "proc/self/cgroup");
  for (std::string line; std::getline(stream, line);) {  // <number>:<controllers>:<path>
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool named =
        ("," + controllers + ",").find("," + std::string(controller) + ",") != std::string::npos;
    if (!named && (!controllers.empty() || found.version == 1)) continue;
    own = line.substr(second + 1);
    found.version = named ? 1 : 2;
  }
  if (found.version == 1) {
    base /= controller;
  } else if (std::filesystem::exists(base / "unified")) {
    base /= "unified";
  }
  // In a container the path may be the one outside. Then the mounted directory is the group.
  path directory = own.size() > 1 ? base / path(own).relative_path() : base;
  while (directory != base && directory.has_relative_path()) {
    if (std::filesystem::is_directory(directory)) found.directories.push_back(directory);
    directory = directory.parent_path();
  }
  found.directories.push_back(base);
  return found;
}

LAYERBENCH_INLINE std::optional<std::int64_t> available_memory_bytes(const path& root) {
  std::optional<std::int64_t> least = field_of(root / "proc/meminfo", "MemAvailable");
  if (least) *least *= 1024;
  const control_groups groups = control_groups_of(root, "memory");
  const bool old = groups.version == 1;
  for (const path& directory : groups.directories) {
    const auto limit = number_of(directory / (old ? "memory.limit_in_bytes" : "memory.max"));
    const auto used = number_of(directory / (old ? "memory.usage_in_bytes" : "memory.current"));
    if (!limit || !used) continue;  // version 2 says "max" for none
    // Cached files count as used, but the kernel frees them on demand.
    const auto cached =
        field_of(directory / "memory.stat", old ? "total_inactive_file" : "inactive_file")
            .value_or(0);
    const std::int64_t left = std::max<std::int64_t>(0, *limit - *used + cached);
    least = std::min(left, least.value_or(std::numeric_limits<std::int64_t>::max()));
  }
  return least;
}

LAYERBENCH_INLINE std::optional<std::int64_t> memory_limit_bytes(const path& root) {
  std::optional<std::int64_t> least;
  const control_groups groups = control_groups_of(root, "memory");
  const bool old = groups.version == 1;
  for (const path& directory : groups.directories) {
    const auto limit = number_of(directory / (old ? "memory.limit_in_bytes" : "memory.max"));
    if (limit) least = std::min(*limit, least.value_or(*limit));
  }
  return least;
}

LAYERBENCH_INLINE std::optional<std::int64_t> touched_memory_bytes(const path& root) {
  std::optional<std::int64_t> resident = field_of(root / "proc/self/status", "RssAnon");
  if (resident) *resident *= 1024;
  return resident;
}

LAYERBENCH_INLINE std::optional<double> processor_quota(const path& root) {
  std::optional<double> least;
  const control_groups groups = control_groups_of(root, "cpu");
  for (const path& directory : groups.directories) {
    std::optional<std::int64_t> quota;
    std::optional<std::int64_t> period;
    if (groups.version == 1) {
      quota = number_of(directory / "cpu.cfs_quota_us");  // -1: none
      period = number_of(directory / "cpu.cfs_period_us");
    } else if (const auto both = line_of(directory / "cpu.max")) {  // "max 100000": none
      quota = number_in(*both);
      period = number_in(std::string_view(*both).substr(std::min(both->find(' '), both->size())));
    }
    if (quota.value_or(0) <= 0 || period.value_or(0) <= 0) continue;
    const double granted = static_cast<double>(*quota) / static_cast<double>(*period);
    least = std::min(granted, least.value_or(granted));
  }
  return least;
}

LAYERBENCH_INLINE std::optional<processor_times> processor_times_of(const path& root) {
  std::ifstream stream(root / "proc/stat");
  processor_times all;
  for (std::string line; std::getline(stream, line) && line.starts_with("cpu");) {
    if (line[3] != ' ') {
      ++all.processors;
      continue;
    }
    std::istringstream numbers(line.substr(4));
    std::vector<std::int64_t> t;  // user nice system idle iowait irq softirq steal ...
    for (std::int64_t ticks = 0; numbers >> ticks;) t.push_back(ticks);
    t.resize(std::max<std::size_t>(t.size(), 8));
    all.busy = t[0] + t[1] + t[2] + t[5] + t[6];
    all.idle = t[3] + t[4];
    all.stolen = t[7];
  }
  if (all.processors == 0) return std::nullopt;
  return all;
}

LAYERBENCH_INLINE std::vector<path> processors_of(const path& root) {
  std::vector<path> all;
  std::error_code absent;
  for (const auto& entry :
       std::filesystem::directory_iterator(root / "sys/devices/system/cpu", absent)) {
    const std::string name = entry.path().filename().string();
    const bool numbered = name.size() > 3 && name.starts_with("cpu") &&
                          name.find_first_not_of("0123456789", 3) == std::string::npos;
    if (numbered) all.push_back(entry.path());
  }
  return all;
}

LAYERBENCH_INLINE std::set<std::string> per_processor(const path& root, const path& file) {
  std::set<std::string> all;
  for (const path& processor : processors_of(root)) {
    if (auto line = line_of(processor / file)) all.insert(std::move(*line));
  }
  return all;
}

LAYERBENCH_INLINE std::optional<bool> turbo(const path& root) {
  const path cpu = root / "sys/devices/system/cpu";
  if (const auto off = number_of(cpu / "intel_pstate/no_turbo")) return *off == 0;
  if (const auto on = number_of(cpu / "cpufreq/boost")) return *on != 0;
  return std::nullopt;
}

LAYERBENCH_INLINE std::optional<std::string> hypervisor(const path& root) {
  bool flagged = false;
  std::ifstream stream(root / "proc/cpuinfo");
  for (std::string line; !flagged && std::getline(stream, line);) {
    flagged = line.starts_with("flags") && (line + " ").find(" hypervisor ") != std::string::npos;
  }
  const auto type = line_of(root / "sys/hypervisor/type");
  if (!flagged && !type) return std::nullopt;
  std::string name = type.value_or("");
  for (const char* file : {"sys_vendor", "product_name"}) {
    const auto line = line_of(root / "sys/class/dmi/id" / file);
    if (line) name += (name.empty() ? "" : " ") + *line;
  }
  return name;
}

}  // namespace layerbench::machine
