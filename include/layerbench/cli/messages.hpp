// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include <fmt/format.h>

/// What programs say on stderr.
namespace layerbench::run::detail {

/// `complaint`, which begins with the option at fault, about the variable that it came from.
[[nodiscard]] inline std::string about_variable(
    const std::string& complaint, const std::map<std::string, std::string>& variables) {
  const std::size_t end = complaint.find_first_of(":= ");
  const auto found = variables.find(complaint.substr(0, end));
  if (found == variables.end()) return complaint;
  return fmt::format("environment variable {}{}", found->second, complaint.substr(end));
}

}  // namespace layerbench::run::detail
