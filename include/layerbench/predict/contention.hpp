// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/op/allreduce.hpp>
#include <layerbench/predict/ratio.hpp>

/// How much slower ranks compute while gradients are sent.
namespace layerbench::predict {

struct measured_contention {
  result::case_name owner;   ///< the case in which nothing else goes on
  std::int64_t threads = 0;  ///< 0: the files do not say
  std::string device;        ///< see results::device
  time_ratio ratio;          ///< of its backward part, during all-reduces by without

  [[nodiscard]] double factor() const { return std::max(1.0, ratio.value()); }

  /// Whether it is that of a case of one rank, which otherwise ran alike on that device.
  [[nodiscard]] bool holds_for(const result::case_name& one, std::int64_t its_threads,
                               std::string_view its_device) const {
    const auto plain = [](result::case_name of) {
      for (const char* each : {"threads", "ranks"}) of.parameters.erase(each);
      return of;
    };
    return its_threads == threads && its_device == device && plain(one) == plain(owner);
  }
};

namespace detail {

/// Of what the backward part computes, which is when gradients are sent. Nothing where a timing is
/// missing, during all-reduces or without.
[[nodiscard]] inline std::optional<time_ratio> contention_ratio(const planned_case& planned,
                                                                const timings& measured,
                                                                std::string_view cache) {
  planned_case alone = planned;
  std::erase_if(alone.step, [](const result::planned& each) {
    return each.part != model::step_part::backward || each.op == op::allreduce::name;
  });
  planned_case during = alone;
  during.owner.parameters["during"] = op::allreduce::name;
  const covered_step before = find_timings(alone, measured, cache);
  const covered_step after = find_timings(during, measured, cache);
  if (alone.step.empty() || !before.missing.empty() || !after.missing.empty()) return std::nullopt;
  return ratio_of(terms(before.step), terms(after.step));
}

/// Whether `owner` is a case that was chosen, as select() says.
[[nodiscard]] inline bool is_chosen(const result::case_name& owner, const options& chosen,
                                    std::span<const choice> choices) {
  if (!chosen.phase.empty() && owner.phase() != chosen.phase) return false;
  return choices.empty() || std::ranges::any_of(choices, [&](const choice& each) {
           return owner.model == (each.file ? model::load(*each.file).name : each.model);
         });
}

}  // namespace detail

/// Of each chosen case whose backward part was measured both with all-reduces beside it and
/// without; where no cache state is chosen, in state `model` rather than `hot`. Throws
/// nothing_matched as select().
[[nodiscard]] inline std::vector<measured_contention> contentions(
    std::span<const result::results> files, const options& chosen = {}) {
  std::vector<std::string_view> states{"model", "hot"};
  if (!chosen.cache.empty()) states = {chosen.cache};
  const std::vector<choice> choices = select(files, chosen.models, chosen.shapes);
  std::vector<measured_contention> all;
  for (const group& each : group_by_context(files)) {
    std::vector<planned_case> cases = planned_cases(each);
    std::erase_if(cases, [&](const planned_case& planned) {
      return planned.owner.ranks() == 1 || !detail::is_chosen(planned.owner, chosen, choices);
    });
    if (cases.empty()) continue;
    timings measured;
    for (const result::results* file : each) measured.add(*file);
    for (const planned_case& planned : cases) {
      std::optional<time_ratio> ratio;
      for (const std::string_view cache : states) {
        if (!ratio) ratio = detail::contention_ratio(planned, measured, cache);
      }
      if (!ratio) continue;
      all.push_back(
          {planned.owner, detail::threads(planned.owner, each), each.front()->device(), *ratio});
    }
  }
  return all;
}

}  // namespace layerbench::predict
