// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <set>

#include <layerbench/base/compiled.hpp>
#include <layerbench/topology/thread_binding.hpp>

namespace layerbench::machine {

LAYERBENCH_INLINE processor_list thread_binding::processors() const {
  processor_list all;
  for (const processor_list& place : places) {
    for (const int processor : place) {
      if (!contains(all, processor)) all.push_back(processor);
    }
  }
  return all;
}

LAYERBENCH_INLINE bool leaves_threads_free(std::string_view bind) {
  constexpr std::string_view word = "false";
  return std::ranges::equal(bind, word, {}, [](unsigned char c) { return std::tolower(c); });
}

LAYERBENCH_INLINE std::vector<processor_list> processors_by_thread(const thread_binding& of,
                                                                   int threads) {
  const auto count = static_cast<std::size_t>(std::max(threads, 1));
  const std::size_t places = of.places.size();
  if (of.order == thread_order::free || places == 0) return {count, of.processors()};
  std::vector<processor_list> found;
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t place = 0;
    if (count > places && of.order != thread_order::primary) {  // neighbours share a place
      place = i * places / count;
    } else if (of.order == thread_order::close) {
      place = i;
    } else if (of.order == thread_order::spread) {
      // The first place of each of `count` parts, of which the first ones are larger.
      place = i * (places / count) + std::min(i, places % count);
    }
    found.push_back(of.places[(of.first + place) % places]);
  }
  return found;
}

namespace detail {

/// How many threads use each cache. A thread that may run on several of them uses one.
using cache_users = std::map<const cache*, std::int64_t>;

/// `select` returns the cache of a processor that is meant, or null.
template <class Select>
[[nodiscard]] cache_users users_of_caches(const std::vector<processor_list>& threads,
                                          const Select& select) {
  std::map<processor_list, std::int64_t> groups;
  for (const processor_list& processors : threads) ++groups[processors];
  cache_users users;
  for (const auto& [processors, count] : groups) {
    std::vector<const cache*> reachable;
    for (const int processor : processors) {
      const cache* one = select(processor);
      const bool is_new = std::ranges::find(reachable, one) == reachable.end();
      if (one != nullptr && is_new) reachable.push_back(one);
    }
    std::ranges::stable_sort(reachable, std::ranges::greater{}, &cache::bytes);
    for (std::int64_t i = 0; i < count && !reachable.empty(); ++i)
      ++users[reachable[static_cast<std::size_t>(i) % reachable.size()]];
  }
  return users;
}

[[nodiscard]] inline std::int64_t bytes_of(const cache_users& users) {
  std::int64_t sum = 0;
  for (const auto& [one, count] : users) sum += one->bytes;
  return sum;
}

}  // namespace detail

LAYERBENCH_INLINE used_caches caches_used_by(const topology& of,
                                             const std::vector<processor_list>& threads) {
  std::map<int, std::vector<const cache*>> known;
  const auto caches = [&](int processor) -> const std::vector<const cache*>& {
    const auto [found, is_new] = known.try_emplace(processor);
    if (is_new) found->second = caches_of(of, processor);
    return found->second;
  };
  const auto from_end = [&](std::size_t back) {
    return detail::users_of_caches(threads, [&](int processor) -> const cache* {
      const std::vector<const cache*>& all = caches(processor);
      return all.size() < back ? nullptr : all[all.size() - back];
    });
  };
  const auto at_level = [&](int level) {
    return detail::users_of_caches(threads, [&](int processor) -> const cache* {
      const std::vector<const cache*>& all = caches(processor);
      const auto found = std::ranges::find(all, level, &cache::level);
      return found == all.end() ? nullptr : *found;
    });
  };
  used_caches used{.private_bytes = detail::bytes_of(from_end(2)),
                   .last_bytes = detail::bytes_of(from_end(1))};
  const auto count = static_cast<std::int64_t>(threads.size());
  for (std::size_t i = 0; i < used.core.size(); ++i) {
    const int level = static_cast<int>(i) + 1;
    if (!threads.empty() && !threads.front().empty()) {
      for (const cache* one : caches(threads.front().front())) {
        if (one->level == level) used.core.at(i) = one->bytes;
      }
    }
    const detail::cache_users users = at_level(level);
    std::int64_t cached = 0;
    for (const auto& [one, sharers] : users) {
      cached += sharers;
      const std::int64_t together = one->bytes * count / sharers;
      if (used.equal_parts.at(i) == 0 || together < used.equal_parts.at(i))
        used.equal_parts.at(i) = together;
    }
    if (cached < count) used.equal_parts.at(i) = 0;  // a thread has no such cache
  }
  return used;
}

LAYERBENCH_INLINE std::vector<const memory_node*> nodes_of(const topology& of,
                                                           const processor_list& processors) {
  std::vector<const memory_node*> found = innermost_nodes(of);
  std::erase_if(found,
                [&](const memory_node* node) { return !intersect(node->processors, processors); });
  return found;
}

LAYERBENCH_INLINE int threads_sharing_cores(const topology& of,
                                            const std::vector<processor_list>& threads) {
  std::set<const core*> used;
  int sharing = 0;
  for (const processor_list& processors : threads) {
    const core* free = nullptr;
    for (const core& one : of.cores) {
      if (free == nullptr && !used.contains(&one) && intersect(one.processors, processors))
        free = &one;
    }
    if (free == nullptr) {
      ++sharing;
    } else {
      used.insert(free);
    }
  }
  return sharing;
}

}  // namespace layerbench::machine
