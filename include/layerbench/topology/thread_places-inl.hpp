// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>
#include <ranges>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/parse_number.hpp>
#include <layerbench/topology/thread_places.hpp>

namespace layerbench::machine {

namespace detail {

/// The usable processors: one of each core, the fastest cores first, then the siblings. Among equal
/// ones neighbours stay together.
[[nodiscard]] inline processor_list cores_first(const topology& of, const processor_list& usable) {
  std::vector<std::tuple<int, int, int>> found;  // number among siblings, slowness, processor
  for (const core& one : of.cores) {
    int sibling = 0;
    for (const int processor : one.processors) {
      if (contains(usable, processor)) found.emplace_back(sibling++, -one.kind, processor);
    }
  }
  std::ranges::stable_sort(
      found, {}, [](const auto& item) { return std::pair(std::get<0>(item), std::get<1>(item)); });
  processor_list result;
  for (const auto& [sibling, slowness, processor] : found) result.push_back(processor);
  return result;
}

/// The parts of a machine that threads should not leave without need: caches before nodes before
/// packages.
[[nodiscard]] inline std::vector<std::vector<processor_list>> domains(const topology& of) {
  std::vector<std::vector<processor_list>> all(3);
  for (const cache* one : last_level_caches(of)) all[0].push_back(one->processors);
  for (const memory_node* node : innermost_nodes(of)) all[1].push_back(node->processors);
  all[2] = of.packages;
  return all;
}

/// Those of `processors` that lie in `domain`, in their order.
[[nodiscard]] inline processor_list within(const processor_list& processors,
                                           const processor_list& domain) {
  processor_list found;
  std::ranges::copy_if(processors, std::back_inserter(found),
                       [&](int processor) { return contains(domain, processor); });
  return found;
}

/// The best `count` of `processors`, which are in the order of cores_first(): the first ones of the
/// first domain that has as many cores.
[[nodiscard]] inline processor_list best(const topology& of, processor_list processors,
                                         std::size_t count) {
  for (const std::vector<processor_list>& kind : domains(of)) {
    std::set<const processor_list*> tried;
    for (const int first : processors) {
      const auto domain = std::ranges::find_if(
          kind, [&](const processor_list& one) { return contains(one, first); });
      if (domain == kind.end() || !tried.insert(&*domain).second) continue;
      processor_list inside = within(processors, *domain);
      if (cores_of(of, inside) < count) continue;
      inside.resize(count);
      return inside;
    }
  }
  processors.resize(std::min(processors.size(), count));
  return processors;
}

}  // namespace detail

LAYERBENCH_INLINE std::set<int> threads_of_domains(const topology& of,
                                                   const processor_list& usable) {
  const processor_list order = detail::cores_first(of, usable);
  std::set<int> counts{1};
  const auto add = [&](std::size_t count) {
    if (count > 0) counts.insert(static_cast<int>(count));
  };
  for (const std::vector<processor_list>& kind : detail::domains(of)) {
    std::size_t most = 0;
    for (const processor_list& domain : kind)
      most = std::max(most, cores_of(of, detail::within(order, domain)));
    add(most);
  }
  add(cores_of(of, order));
  add(order.size());
  return counts;
}

LAYERBENCH_INLINE std::vector<processor_list> shares_of_cores(const topology& of,
                                                              const processor_list& usable,
                                                              std::size_t count) {
  std::vector<processor_list> cores;
  for (const core& one : of.cores) {
    if (intersect(one.processors, usable)) cores.push_back(detail::within(one.processors, usable));
  }
  if (cores.size() < count) return {count, usable};
  std::vector<processor_list> shares(count);
  for (std::size_t i = 0; i < cores.size(); ++i) {
    processor_list& share = shares[i * count / cores.size()];
    share.insert(share.end(), cores[i].begin(), cores[i].end());
  }
  return shares;
}

LAYERBENCH_INLINE processor_list processors_in_order(const topology& of,
                                                     const processor_list& usable,
                                                     const std::set<int>& threads) {
  processor_list chosen = detail::cores_first(of, usable);
  const std::set<int> counts = threads.empty() ? threads_of_domains(of, usable) : threads;
  std::vector<processor_list> others;
  for (const int count : std::views::reverse(counts)) {
    processor_list fewer = detail::best(of, chosen, static_cast<std::size_t>(std::max(count, 1)));
    std::erase_if(chosen, [&](int processor) { return contains(fewer, processor); });
    others.push_back(std::exchange(chosen, std::move(fewer)));
  }
  for (const processor_list& rest : std::views::reverse(others))
    chosen.insert(chosen.end(), rest.begin(), rest.end());
  return chosen;
}

LAYERBENCH_INLINE std::string places_text(const std::vector<processor_list>& places) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < places.size();) {
    std::size_t count = 1;
    const auto is_single = [&](std::size_t at) {
      return at < places.size() && places[at].size() == 1;
    };
    const int stride = is_single(i) && is_single(i + 1) ? places[i + 1][0] - places[i][0] : 0;
    while (stride != 0 && is_single(i + count) &&
           places[i + count][0] - places[i + count - 1][0] == stride) {
      ++count;
    }
    const std::string first = fmt::format("{{{}}}", fmt::join(places[i], ","));
    if (count < 3) {
      parts.push_back(first);
      ++i;
      continue;
    }
    parts.push_back(stride == 1 ? fmt::format("{}:{}", first, count)
                                : fmt::format("{}:{}:{}", first, count, stride));
    i += count;
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

LAYERBENCH_INLINE std::optional<std::vector<processor_list>> listed_places(std::string_view text) {
  const auto skip = [&](char wanted) {
    const bool found = text.starts_with(wanted);
    if (found) text.remove_prefix(1);
    return found;
  };
  const auto number = [&]() -> std::optional<int> {
    constexpr int most = 1 << 16;
    const auto value = take_number<int>(text);
    return value && *value >= -most && *value <= most ? value : std::nullopt;
  };
  // Behind the first of several: their number and their distance.
  const auto repeated = [&]() -> std::optional<std::pair<int, int>> {
    constexpr int most = 1 << 13;
    const auto count = skip(':') ? number() : 1;
    const auto stride = skip(':') ? number() : 1;
    if (!count || !stride || *count < 1 || *count > most) return std::nullopt;
    return std::pair(*count, *stride);
  };
  std::vector<processor_list> places;
  do {
    processor_list first;
    if (!skip('{')) return std::nullopt;
    do {
      const auto begin = number();
      const auto more = begin ? repeated() : std::nullopt;
      if (!more) return std::nullopt;
      for (int i = 0; i < more->first; ++i) first.push_back(*begin + i * more->second);
    } while (skip(','));
    const auto more = skip('}') ? repeated() : std::nullopt;
    if (!more) return std::nullopt;
    std::ranges::sort(first);
    first.erase(std::ranges::unique(first).begin(), first.end());
    for (int i = 0; i < more->first; ++i) {
      processor_list& place = places.emplace_back(first);
      for (int& processor : place) processor += i * more->second;
    }
  } while (skip(','));
  if (!text.empty()) return std::nullopt;
  return places;
}

LAYERBENCH_INLINE std::string openmp_places(const topology& of, const processor_list& order) {
  const bool plain = std::ranges::is_sorted(order) && cores_of(of, order) == order.size();
  if (plain) return "cores";
  std::vector<processor_list> places;
  for (const int processor : order) places.push_back({processor});
  return places_text(places);
}

}  // namespace layerbench::machine
