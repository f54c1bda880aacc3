// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include <fmt/format.h>

#include <layerbench/base/plain_text.hpp>
#include <layerbench/base/quiet.hpp>

/// What programs say on stderr.
namespace layerbench::run::detail {

/// Prints what is no error; nothing with --quiet.
inline void note(const std::string& text) {
  if (!is_quiet()) print_message(text);
}

/// `complaint`, which begins with the option at fault, about the variable that it came from.
[[nodiscard]] inline std::string about_variable(
    const std::string& complaint, const std::map<std::string, std::string>& variables) {
  const std::size_t end = complaint.find_first_of(":= ");
  const auto found = variables.find(complaint.substr(0, end));
  if (found == variables.end()) return complaint;
  return fmt::format("environment variable {}{}", found->second, complaint.substr(end));
}

}  // namespace layerbench::run::detail
