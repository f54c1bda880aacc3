// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace layerbench {

/// The commit that was compiled, such as "97c8db6f1a2b"; "97c8db6f1a2b-dirty" if files differed
/// from it. Empty where it is not known, as in a program that only includes the headers. The build
/// writes the definition into a file of its own, so that a new commit compiles nothing else.
#ifdef LAYERBENCH_COMPILED
[[nodiscard]] std::string_view commit();
#else
[[nodiscard]] constexpr std::string_view commit() { return ""; }
#endif

/// "0.1.0 (97c8db6f1a2b)"; "0.1.0" where the commit is not known.
[[nodiscard]] inline std::string version_text() {
  return commit().empty() ? LAYERBENCH_VERSION
                          : fmt::format("{} ({})", LAYERBENCH_VERSION, commit());
}

}  // namespace layerbench
