// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/split.hpp>
#include <layerbench/result/name.hpp>
#include <layerbench/result/short_names.hpp>

namespace layerbench::result {

namespace detail {

using name_parts = std::vector<std::string_view>;

/// Parts at both ends that all names have.
struct shared_ends {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// Of each name at least one part is in neither end.
[[nodiscard]] inline shared_ends shared_ends_of(const std::vector<name_parts>& all) {
  constexpr std::size_t kept = 1;
  std::size_t least = SIZE_MAX;
  for (const name_parts& parts : all) least = std::min(least, parts.size());
  const auto same = [&](auto&& part_of) {
    return std::ranges::all_of(
        all, [&](const name_parts& parts) { return part_of(parts) == part_of(all.front()); });
  };
  shared_ends ends;
  while (ends.first + kept < least &&
         same([&](const name_parts& parts) { return parts[ends.first]; })) {
    ++ends.first;
  }
  while (ends.first + ends.last + kept < least &&
         same([&](const name_parts& parts) { return parts[parts.size() - 1 - ends.last]; })) {
    ++ends.last;
  }
  return ends;
}

/// Whether part `i` is the same in all names, which have equally many parts.
[[nodiscard]] inline bool all_have(const std::vector<name_parts>& all, std::size_t i) {
  return std::ranges::all_of(all,
                             [&](const name_parts& parts) { return parts[i] == all.front()[i]; });
}

}  // namespace detail

LAYERBENCH_INLINE short_names short_names_of(std::span<const std::string> names) {
  short_names result{.shared = {}, .own = {names.begin(), names.end()}};
  if (std::ranges::adjacent_find(names, std::ranges::not_equal_to{}) == names.end()) return result;
  std::vector<detail::name_parts> all;
  for (const std::string& name : names) all.push_back(split(name, '/'));
  const bool equally_many = std::ranges::all_of(
      all, [&](const auto& parts) { return parts.size() == all.front().size(); });
  const detail::shared_ends ends =
      equally_many ? detail::shared_ends{} : detail::shared_ends_of(all);
  std::vector<bool> same;  // by part, where names have equally many
  for (std::size_t i = 0; equally_many && i < all.front().size(); ++i) {
    same.push_back(detail::all_have(all, i));
  }
  const auto is_shared = [&](std::size_t i, std::size_t count) {
    return equally_many ? same[i] : i < ends.first || i >= count - ends.last;
  };
  detail::name_parts pattern;
  for (std::size_t i = 0; i < all.front().size(); ++i) {
    const bool shared = is_shared(i, all.front().size());
    if (shared || pattern.empty() || pattern.back() != "*") {
      pattern.push_back(shared ? all.front()[i] : "*");
    }
  }
  if (pattern.size() == 1) return result;  // nothing is shared
  result.shared = fmt::format("{}", fmt::join(pattern, "/"));
  for (std::size_t n = 0; n < all.size(); ++n) {
    detail::name_parts own;
    for (std::size_t i = 0; i < all[n].size(); ++i) {
      if (!is_shared(i, all[n].size())) own.push_back(all[n][i]);
    }
    result.own[n] = fmt::format("{}", fmt::join(own, "/"));
  }
  return result;
}

LAYERBENCH_INLINE short_names table_names_of(std::span<const std::string> names, bool whole) {
  if (whole) return {.shared = {}, .own = {names.begin(), names.end()}};
  return short_names_of(names);
}

LAYERBENCH_INLINE std::string short_joined(std::string_view layers) {
  std::string text;
  std::string_view repeated;
  for (std::string_view layer : split(layers, '+')) {
    if (text.empty()) {
      repeated = layer.substr(0, layer.rfind('_') + 1);
    } else {
      text += '+';
      if (layer.size() > repeated.size() && layer.starts_with(repeated)) {
        layer.remove_prefix(repeated.size());
      }
    }
    text += layer;
  }
  return text;
}

}  // namespace layerbench::result
