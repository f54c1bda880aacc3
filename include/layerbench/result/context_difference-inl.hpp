// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/description.hpp>
#include <layerbench/result/context_difference.hpp>
#include <layerbench/result/field_dimensions.hpp>

namespace layerbench::result {

namespace detail {

/// What identifies a machine in the text of its topology (machine::text): packages, nodes, caches,
/// cores and processors. Virtual machines and containers change the bytes of their memory while
/// they run, and what was guessed depends on what a container shows.
[[nodiscard]] inline std::string identifying_topology(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find(", ", at);
    if (text.find('(', at) < end) end = text.find(", ", text.find(')', at));  // sizes have commas
    std::string_view part = text.substr(at, end == text.npos ? end : end - at);
    at = end == text.npos ? text.size() : end + 2;
    if (part.starts_with("at most ")) continue;
    if (part.find(" node") != part.npos) part = part.substr(0, part.find(" ("));
    parts.push_back(part);
    if (part.find(" processor") != part.npos) break;  // notes follow
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace detail

LAYERBENCH_INLINE std::string comparable_value(std::string_view field, const std::string& value) {
  if (field == "topology") return detail::identifying_topology(value);
  if (field == "kernel") {  // "6.1.0-18-amd64": updates change all but the version
    const std::size_t dot = value.find('.');
    return value.substr(0, dot == std::string::npos ? dot : value.find_first_of(".-+", dot + 1));
  }
  return value;
}

LAYERBENCH_INLINE field_dimension dimension_of(std::string_view field, const results& a,
                                               const results& b) {
  for (const field_dimensions* known : {&a.dimensions, &b.dimensions, &known_dimensions()}) {
    const auto found = known->find(field);
    if (found != known->end()) return found->second;
  }
  if (field.ends_with("_version")) return field_dimension::version;
  return field.ends_with("_waiting") ? field_dimension::condition : field_dimension::setting;
}

LAYERBENCH_INLINE std::vector<std::string> differing_context(const results& a, const results& b) {
  // Files of earlier versions do not have these.
  static const std::set<std::string, std::less<>> newer{"topology", "places", "numa"};
  std::vector<std::string> names;
  const auto check = [&](const results& from, const results& to) {
    for (const auto& [name, value] : from.context) {
      if (dimension_of(name, a, b) == field_dimension::condition) continue;
      const auto other = to.context.find(name);
      const bool same = other == to.context.end()
                            ? newer.contains(name)
                            : other->second == value || comparable_value(name, other->second) ==
                                                            comparable_value(name, value);
      if (!same && std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  };
  check(a, b);
  check(b, a);
  return names;
}

LAYERBENCH_INLINE std::string both_values(const results& a, const results& b,
                                          const std::vector<std::string>& fields) {
  const auto value = [](const results& of, const std::string& field) {
    const auto found = of.context.find(field);
    if (found == of.context.end()) return std::string("absent");
    return nlohmann::json(found->second)
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  std::vector<std::string> texts;
  for (const std::string& field : fields) {
    texts.push_back(fmt::format("{} ({}, {})", field, value(a, field), value(b, field)));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace layerbench::result
