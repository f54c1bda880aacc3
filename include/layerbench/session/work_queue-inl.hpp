// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>

#include <layerbench/base/compiled.hpp>
#include <layerbench/result/name.hpp>
#include <layerbench/session/relative_cost.hpp>
#include <layerbench/session/work_queue.hpp>

namespace layerbench::run {

namespace detail {

/// Whether both have the same step and thread count. Other thread counts are measured at
/// other times: idle threads of a pool spin, and would disturb a case of fewer threads.
[[nodiscard]] inline bool share_rounds(const result::case_name& a, const result::case_name& b) {
  const auto same = [&](const char* parameter) {
    return a.parameter(parameter, "") == b.parameter(parameter, "");
  };
  return a.model == b.model && a.batch == b.batch && same("tokens") && same("context") &&
         same("threads") && same("streams");
}

/// Finds or adds the case.
inline case_state& state_of(const result::case_name& name, work_queue& queue) {
  const auto shares = [&](const case_group& group) {
    return share_rounds(group.front().name, name);
  };
  const auto group = std::ranges::find_if(queue, shares);
  if (group == queue.end()) return queue.emplace_back().emplace_back(case_state{name});
  const auto known = std::ranges::find(*group, name, &case_state::name);
  return known != group->end() ? *known : group->emplace_back(case_state{name});
}

/// Seconds that a row takes, roughly: a fixed time, and one that its work takes on a few cores.
[[nodiscard]] inline double effort_of(const row_state& row) {
  constexpr double least_seconds = 0.05;
  constexpr double seconds_per_cost = 1e-9;
  return least_seconds + seconds_per_cost * row.cost;
}

}  // namespace detail

LAYERBENCH_INLINE work_queue make_work_queue(const std::vector<benchmark_row*>& rows,
                                             const std::vector<chain_spec>& chains) {
  work_queue queue;
  for (benchmark_row* row : rows) {
    const row_spec& what = row->spec();
    case_state& model_case = detail::state_of(row->name().model_case, queue);
    const row_state& added = model_case.rows.emplace_back(
        row_state{.benchmark = row,
                  .count = what.count,
                  .in_model = row->name().cache == "model",
                  .cost = relative_cost(what.op, what.request.pass, what.request.type)});
    if (model_case.rows.size() == 1) model_case.effort = 0;
    model_case.effort += detail::effort_of(added);
  }
  for (const chain_spec& whole_model : chains) {
    case_state& model_case = detail::state_of(whole_model.model_case, queue);
    model_case.end_to_end = std::make_shared<end_to_end_run>(end_to_end_run{whole_model});
    if (!whole_model.primitives.empty()) model_case.end_to_end->clocks.emplace();
  }
  return queue;
}

LAYERBENCH_INLINE std::int64_t restore(const result::results& earlier, work_queue& queue) {
  std::map<result::row_name, std::vector<const result::measurement*>> rounds;
  std::map<result::case_name, std::int64_t> chain_rounds;
  std::int64_t next = 0;
  for (const result::measurement& row : earlier.rows) {
    rounds[row.name].push_back(&row);
    next = std::max(next, row.round + 1);
  }
  for (const result::measurement& chain : earlier.chains) {
    ++chain_rounds[chain.name.model_case];
    next = std::max(next, chain.round + 1);
  }
  for (case_group& group : queue) {
    for (case_state& model_case : group) {
      for (row_state& row : model_case.rows) {
        for (const result::measurement* known : rounds[row.benchmark->name()]) {
          row.add_round(*known);
        }
      }
      model_case.chain_rounds = chain_rounds[model_case.name];
    }
  }
  return next;
}

}  // namespace layerbench::run
