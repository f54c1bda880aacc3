// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/topology/topology.hpp>

namespace layerbench::machine {

LAYERBENCH_INLINE processor_list topology::processors() const {
  processor_list all;
  for (const core& one : cores) all.insert(all.end(), one.processors.begin(), one.processors.end());
  return all;
}

LAYERBENCH_INLINE bool contains(const processor_list& list, int processor) {
  return std::ranges::find(list, processor) != list.end();
}

LAYERBENCH_INLINE bool intersect(const processor_list& a, const processor_list& b) {
  return std::ranges::any_of(a, [&](int processor) { return contains(b, processor); });
}

LAYERBENCH_INLINE std::vector<const cache*> caches_of(const topology& of, int processor) {
  std::vector<const cache*> found;
  for (const cache& one : of.caches) {
    if (contains(one.processors, processor)) found.push_back(&one);
  }
  std::ranges::stable_sort(found, {}, &cache::level);
  return found;
}

LAYERBENCH_INLINE std::vector<const cache*> last_level_caches(const topology& of,
                                                              const processor_list& processors) {
  std::vector<const cache*> found;
  for (const int processor : processors) {
    const std::vector<const cache*> used = caches_of(of, processor);
    if (used.empty() || std::ranges::find(found, used.back()) != found.end()) continue;
    found.push_back(used.back());
  }
  return found;
}

LAYERBENCH_INLINE std::vector<const memory_node*> innermost_nodes(const topology& of) {
  const auto holds = [](const memory_node& one, const memory_node& other) {
    return !other.processors.empty() && other.processors.size() < one.processors.size() &&
           std::ranges::all_of(
               other.processors, [&](int p) { return contains(one.processors, p); });
  };
  std::vector<const memory_node*> found;
  for (const memory_node& one : of.nodes) {
    if (std::ranges::none_of(of.nodes, [&](const auto& other) { return holds(one, other); }))
      found.push_back(&one);
  }
  return found;
}

LAYERBENCH_INLINE std::int64_t memory_of_nodes(const topology& of) {
  std::int64_t sum = 0;
  for (const memory_node& node : of.nodes) sum += node.bytes;
  return sum;
}

LAYERBENCH_INLINE bool knows_node_sizes(const topology& of) {
  constexpr double tolerance = 0.9;  // firmware and kernel keep a part
  return static_cast<double>(memory_of_nodes(of)) >= tolerance * static_cast<double>(of.memory);
}

LAYERBENCH_INLINE std::size_t cores_of(const topology& of, const processor_list& processors) {
  return static_cast<std::size_t>(std::ranges::count_if(
      of.cores, [&](const core& one) { return intersect(one.processors, processors); }));
}

LAYERBENCH_INLINE void add_note(topology& of, const std::string& what) {
  if (!of.note.empty()) of.note += "; ";
  of.note += what;
}

LAYERBENCH_INLINE topology completed(topology known, const processor_list& usable,
                                     const std::array<std::int64_t, 3>& cache_bytes) {
  std::vector<std::string> guessed;
  if (known.cores.empty()) {
    guessed.emplace_back("cores");
    for (const int processor : usable) known.cores.push_back({{processor}});
  }
  if (known.caches.empty()) {
    guessed.emplace_back("caches");
    const processor_list all = known.processors();
    for (std::size_t i = 0; i < cache_bytes.size(); ++i) {
      const int level = static_cast<int>(i) + 1;
      if (cache_bytes.at(i) <= 0) continue;
      if (level == 3) known.caches.push_back({level, cache_bytes.at(i), all});
      for (const core& one : known.cores) {
        if (level < 3) known.caches.push_back({level, cache_bytes.at(i), one.processors});
      }
    }
  }
  if (!guessed.empty()) {
    add_note(known, fmt::format("hwloc does not know the {}: guessed from the C library",
                                fmt::join(guessed, " and ")));
  }
  const bool last_known = std::ranges::any_of(known.caches, [&](const cache& one) {
    return one.level >= 3 || cores_of(known, one.processors) > 1;
  });
  if (!last_known && !known.caches.empty() && known.cores.size() > 1) {
    add_note(known, "no cache that cores share is known: a hidden one is not counted");
  }
  return known;
}

namespace detail {

/// Bytes in the largest binary unit of which there is at least one, rounded: "32 MB".
[[nodiscard]] inline std::string binary_size(std::int64_t bytes) {
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  constexpr std::array units{"B", "KB", "MB", "GB", "TB"};
  while (size >= 1023.5 && unit + 1 < units.size()) {
    size /= 1024;
    ++unit;
  }
  return fmt::format("{:.0f} {}", std::round(size), units.at(unit));
}

/// Rounded to a multiple of a quarter of its largest power of two, as memory is sold: what the
/// system sees of 256 GB lacks what firmware and kernel keep, and differs between their versions.
[[nodiscard]] inline std::int64_t nominal_memory(std::int64_t bytes) {
  if (bytes <= 0) return 0;
  const double step = std::exp2(std::floor(std::log2(static_cast<double>(bytes))) - 2);
  return static_cast<std::int64_t>(std::round(static_cast<double>(bytes) / step) * step);
}

[[nodiscard]] inline std::string counted(std::size_t count, std::string_view noun,
                                         bool plural_s = true) {
  return fmt::format("{} {}{}", count, noun, count == 1 || !plural_s ? "" : "s");
}

/// "8 L3 (32 MB)"; several sizes one after the other.
[[nodiscard]] inline std::string counted(std::size_t count, std::string_view noun, bool plural_s,
                                         const std::set<std::int64_t>& sizes) {
  std::vector<std::string> texts;
  for (const std::int64_t bytes : sizes) {
    std::string text = binary_size(bytes);
    if (std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
  }
  return fmt::format("{} ({})", counted(count, noun, plural_s), fmt::join(texts, ", "));
}

/// How many cores there are of each kind, in a machine of several.
[[nodiscard]] inline std::string kinds_of(const topology& of) {
  std::map<int, std::size_t, std::greater<>> kinds;
  for (const core& one : of.cores) ++kinds[one.kind];
  if (kinds.size() < 2) return "";
  std::vector<std::size_t> counts;
  for (const auto& [kind, count] : kinds) counts.push_back(count);
  return fmt::format(" ({}, the fastest kind first)", fmt::join(counts, " + "));
}

}  // namespace detail

LAYERBENCH_INLINE std::string text(const topology& of) {
  std::vector<std::string> parts;
  if (!of.packages.empty()) parts.push_back(detail::counted(of.packages.size(), "package"));
  std::set<std::int64_t> memory;
  std::set<std::int64_t> bandwidths;
  for (const memory_node& node : of.nodes) {
    memory.insert(detail::nominal_memory(node.bytes));
    if (node.bandwidth) bandwidths.insert(*node.bandwidth);
  }
  if (!of.nodes.empty()) {
    parts.push_back(knows_node_sizes(of) ? detail::counted(of.nodes.size(), "node", true, memory)
                                         : detail::counted(of.nodes.size(), "node"));
  }
  if (!bandwidths.empty()) {
    std::vector<std::string> texts;
    for (const std::int64_t one : bandwidths)
      texts.push_back(fmt::format("{:.0f}", 1e-9 * static_cast<double>(one)));
    parts.push_back(fmt::format("{} GB/s per node", fmt::join(texts, ", ")));
  }
  if (of.memory_limit) {
    parts.push_back("at most " + detail::binary_size(*of.memory_limit));
  }
  std::map<int, std::pair<std::size_t, std::set<std::int64_t>>, std::greater<>> last;
  for (const cache* one : last_level_caches(of)) {
    ++last[one->level].first;
    last[one->level].second.insert(one->bytes);
  }
  for (const auto& [level, found] : last) {
    parts.push_back(detail::counted(found.first, fmt::format("L{}", level), false, found.second));
  }
  parts.push_back(detail::counted(of.cores.size(), "core") + detail::kinds_of(of));
  parts.push_back(detail::counted(of.processors().size(), "processor"));
  if (!of.note.empty()) parts.push_back(of.note);
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace layerbench::machine
