// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/base/system.hpp>

namespace layerbench::machine {

/// The name of the processor by /proc/cpuinfo below `root`; "unknown" if it does not say. On
/// aarch64, where Linux gives no name, the numbers of all kinds of cores, such as "CPU implementer
/// 0x41 part 0xd0c". tools/engines.py has the same names.
[[nodiscard]] inline std::string processor_name(const path& root = "/") {
  std::ifstream info(root / "proc/cpuinfo");
  std::string implementer;
  std::set<std::string> cores;
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string_view field = line;
    const std::string value = line.substr(colon + 2);
    if (field.starts_with("model name")) return value;
    if (field.starts_with("CPU implementer")) implementer = value;
    if (field.starts_with("CPU part")) cores.insert(fmt::format("{} part {}", implementer, value));
  }
  return cores.empty() ? "unknown" : fmt::format("CPU implementer {}", fmt::join(cores, ", "));
}

}  // namespace layerbench::machine
