// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include <layerbench/analysis/scaling/contention.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/op/allreduce.hpp>

namespace layerbench::analysis {

LAYERBENCH_INLINE result::case_name during_allreduces(result::case_name alone) {
  alone.parameters["during"] = op::allreduce::name;
  return alone;
}

LAYERBENCH_INLINE result::case_name without_all_reduces(result::case_name of) {
  of.parameters.erase("during");
  return of;
}

namespace detail {

/// The slowdown of the backward part, during which gradients are sent. Nothing if a timing with or
/// without all-reduces is missing. `disturbed` becomes the share of disturbed timings among those
/// without all-reduces.
[[nodiscard]] inline std::optional<time_ratio> computing_ratio(const planned_case& planned,
                                                               const timings& measured,
                                                               std::string_view cache,
                                                               double& disturbed) {
  planned_case alone = planned;
  std::erase_if(alone.step, [](const result::planned& one) {
    return one.part != model::step_part::backward || one.op == op::allreduce::name;
  });
  planned_case during = alone;
  during.model_case = during_allreduces(alone.model_case);
  const covered_step before = find_timings(alone, measured, cache);
  const covered_step after = find_timings(during, measured, cache);
  if (alone.step.empty() || !before.missing.empty() || !after.missing.empty()) return std::nullopt;
  disturbed = result::disturbed_share(terms(before.step));
  return analysis::ratio_of(terms(before.step), terms(after.step));
}

/// The slowdown of the all-reduces that overlapped with the rows of `during` in a cache state;
/// nothing if the rows do not have it.
[[nodiscard]] inline std::optional<time_ratio> sending_ratio(const result::case_name& during,
                                                             const result::results& file,
                                                             std::string_view cache) {
  timing alone;
  timing overlapping;
  for (const result::measurement& row : file.rows) {
    const auto separate = row.counters.find("reduction_alone_s");
    const auto shared = row.counters.find("reduction_s");
    const bool known = separate != row.counters.end() && shared != row.counters.end();
    if (!known || row.name.model_case != during || row.name.cache != cache) continue;
    const round_id round{alone.runs.size(), row.round};
    alone.rounds.emplace(round, separate->second);
    overlapping.rounds.emplace(round, shared->second);
    for (timing* one : {&alone, &overlapping}) one->runs.push_back(0);
  }
  if (alone.rounds.empty()) return std::nullopt;
  return analysis::ratio_of(std::vector<term>{{1, &alone}}, std::vector<term>{{1, &overlapping}});
}

/// The contention of a case in one file. Rounds of several files are not mixed, because machine
/// conditions differ.
[[nodiscard]] inline std::optional<measured_contention> contention_of_file(
    const result::results& file, const planned_case& planned, std::string_view cache) {
  timings measured;
  measured.add(file);
  measured_contention result{
      planned.model_case, threads(planned.model_case, {&file}), file.device(), {file.file}, {}};
  std::optional<time_ratio> computing;
  std::string_view used;
  for (const std::string_view state : {"model", "hot"}) {
    if (computing || (!cache.empty() && cache != state)) continue;
    used = state;
    computing = computing_ratio(planned, measured, state, result.disturbed);
  }
  if (!computing) return std::nullopt;
  const auto set = [&](const time_ratio& of, double slowdowns::* factor) {
    result.factors.usual.*factor = of.value();
    result.factors.low.*factor = of.low;
    result.factors.high.*factor = of.high;
  };
  set(*computing, &slowdowns::computing);
  result.is_interval = computing->p.has_value();
  if (const auto sending = sending_ratio(during_allreduces(planned.model_case), file, used)) {
    set(*sending, &slowdowns::sending);
    result.sending_known = true;
  }
  return result;
}

/// Merges the contention of another file: the geometric mean, and an interval that contains those
/// of all files. Sending is known if all files have it.
inline void merge(const measured_contention& other, measured_contention& to) {
  const auto files = static_cast<double>(to.files.size());
  auto& [usual, low, high] = to.factors;
  for (double slowdowns::* const factor : {&slowdowns::computing, &slowdowns::sending}) {
    const double more = std::log(other.factors.usual.*factor / usual.*factor);
    usual.*factor *= std::exp(more / (files + 1));
    low.*factor = std::min(low.*factor, other.factors.low.*factor);
    high.*factor = std::max(high.*factor, other.factors.high.*factor);
  }
  to.sending_known = to.sending_known && other.sending_known;
  if (!to.sending_known) usual.sending = low.sending = high.sending = 1;
  to.is_interval = to.is_interval && other.is_interval;
  to.disturbed = (files * to.disturbed + other.disturbed) / (files + 1);
  to.files.insert(to.files.end(), other.files.begin(), other.files.end());
}

}  // namespace detail

LAYERBENCH_INLINE std::optional<measured_contention> contention_of(
    const result::case_name& model_case, const group& files, std::string_view cache) {
  std::optional<measured_contention> known;
  for (const result::results* file : files) {
    for (const planned_case& planned : planned_cases({file})) {
      if (planned.model_case != model_case) continue;
      const auto found = detail::contention_of_file(*file, planned, cache);
      if (found && known) detail::merge(*found, *known);
      if (found && !known) known = found;
    }
  }
  return known;
}

LAYERBENCH_INLINE std::vector<measured_contention> contentions(
    std::span<const result::results> files, const options& chosen) {
  const std::vector<model_choice> choices = resolve_models(files, chosen.models, chosen.shapes);
  std::vector<measured_contention> all;
  for (const group& alike : group_by_context(files)) {
    for (const planned_case& planned : planned_cases(alike)) {
      if (planned.model_case.ranks() == 1 || !is_chosen(planned.model_case, chosen, choices)) {
        continue;
      }
      if (auto found = contention_of(planned.model_case, alike, chosen.cache)) {
        all.push_back(std::move(*found));
      }
    }
  }
  return all;
}

}  // namespace layerbench::analysis
