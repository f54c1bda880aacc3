// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

/// Names of algorithms. A name has parts, joined by "+", in the order of the calls: the library's
/// names, and those of layerbench's own kernels, which begin with `own_prefix`.
namespace layerbench {

inline constexpr std::string_view own_prefix = "layerbench:";

/// The name without the parts of layerbench's kernels; empty if there are no others. Kernels have
/// no choice of algorithms, so two names with equal library parts mean the same plan.
[[nodiscard]] inline std::string library_part(std::string_view algorithm) {
  std::string kept;
  for (std::size_t begin = 0; begin <= algorithm.size();) {
    const std::size_t end = std::min(algorithm.find('+', begin), algorithm.size());
    const std::string_view part = algorithm.substr(begin, end - begin);
    begin = end + 1;
    // "loop" was the name of all kernels on CPUs.
    if (part.starts_with(own_prefix) || part == "loop") continue;
    if (!kept.empty()) kept += '+';
    kept += part;
  }
  return kept;
}

/// Today's form of a name that may come from an older file: kernels on GPUs began with "nvrtc_",
/// and the one for post-ops behind a library's call was the suffix "_and_kernel".
[[nodiscard]] inline std::string current_algorithm(std::string_view name) {
  constexpr std::string_view prefix = "nvrtc_";
  constexpr std::string_view suffix = "_and_kernel";
  const bool has_suffix = name.ends_with(suffix);
  if (has_suffix) name.remove_suffix(suffix.size());
  std::string current(name);
  for (std::size_t at = 0; (at = current.find(prefix, at)) != std::string::npos;) {
    const bool begins_part = at == 0 || current[at - 1] == '+';
    if (begins_part) current.replace(at, prefix.size(), own_prefix);
    ++at;
  }
  return has_suffix ? current + "+layerbench:post_ops" : current;
}

}  // namespace layerbench
