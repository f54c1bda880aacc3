// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <layerbench/op/allreduce.hpp>
#include <layerbench/predict/ratio.hpp>

/// How much slower ranks compute while gradients are sent.
namespace layerbench::predict {

struct measured_contention {
  result::case_name owner;   ///< the case in which nothing else goes on
  std::int64_t threads = 0;  ///< 0: the files do not say
  time_ratio ratio;          ///< of its backward part, during all-reduces by without

  [[nodiscard]] double factor() const { return std::max(1.0, ratio.value()); }

  /// Whether it holds for the case of one rank, or of as many as were measured.
  [[nodiscard]] bool holds_for(const result::case_name& other, std::int64_t its_threads) const {
    const auto plain = [](result::case_name of) {
      for (const char* each : {"threads", "ranks"}) of.parameters.erase(each);
      return of;
    };
    const bool same_ranks = other.ranks() == 1 || other.ranks() == owner.ranks();
    return same_ranks && its_threads == threads && plain(other) == plain(owner);
  }
};

namespace detail {

/// What is computed in the backward part, which is when gradients are sent; nothing while a timing
/// is missing.
[[nodiscard]] inline std::optional<std::vector<timed>> backward_timings(const planned_case& planned,
                                                                        const timings& measured,
                                                                        std::string_view cache) {
  const auto computes = [](const result::planned& each) {
    return each.part == model::step_part::backward && each.op != op::allreduce::name;
  };
  covered_step found = find_timings(planned, measured, cache);
  std::erase_if(found.step, [&](const timed& each) { return !computes(*each.what); });
  const auto wanted = std::ranges::count_if(planned.step, computes);
  if (wanted == 0 || std::ssize(found.step) < wanted) return std::nullopt;
  return std::move(found.step);
}

}  // namespace detail

/// Of each case whose backward part was measured both with all-reduces beside it and without; where
/// no cache state is chosen, in state `model` rather than `hot`.
[[nodiscard]] inline std::vector<measured_contention> contentions(
    std::span<const result::results> files, const options& chosen = {}) {
  std::vector<std::string_view> states{"model", "hot"};
  if (!chosen.cache.empty()) states = {chosen.cache};
  std::vector<measured_contention> all;
  for (const group& each : group_by_context(files)) {
    timings measured;
    for (const result::results* file : each) measured.add(*file);
    const std::vector<planned_case> plans = planned_cases(each);
    for (const planned_case& during : planned_cases(each, /*contended=*/true)) {
      result::case_name owner = during.owner;
      owner.parameters.erase("during");
      const auto alone = std::ranges::find(plans, owner, &planned_case::owner);
      if (alone == plans.end()) continue;
      for (const std::string_view cache : states) {
        const auto before = detail::backward_timings(*alone, measured, cache);
        const auto after = detail::backward_timings(during, measured, cache);
        if (!before || !after) continue;
        all.push_back({owner, detail::threads(owner, each),
                       ratio_of(detail::terms(*before), detail::terms(*after))});
        break;
      }
    }
  }
  return all;
}

}  // namespace layerbench::predict
