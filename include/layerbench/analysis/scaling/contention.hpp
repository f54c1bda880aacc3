// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <layerbench/analysis/compare/ratio.hpp>
#include <layerbench/analysis/scaling/data_parallel.hpp>
#include <layerbench/op/allreduce.hpp>

/// How much slower ranks compute while gradients are sent, and send while they compute.
namespace layerbench::analysis {

struct measured_contention {
  result::configuration_name configuration;  ///< the case in which nothing else goes on
  std::int64_t threads = 0;                  ///< 0: the files do not say
  std::string device;                        ///< see results::device
  std::vector<std::string> files;            ///< that it was measured in
  sure_slowdowns factors;                    ///< as measured: below 1 where timings vary
  bool is_interval = false;                  ///< whether all files have the rounds for 95 %
  bool sending_known = false;                ///< else it is taken to be 1
  double disturbed = 0;                      ///< share of the timings without all-reduces that were

  /// Whether it is that of a case of one rank, which otherwise ran alike on that device.
  [[nodiscard]] bool holds_for(const result::configuration_name& one, std::int64_t its_threads,
                               std::string_view its_device) const {
    const auto plain = [](result::configuration_name of) {
      for (const char* item : {"threads", "ranks"}) of.parameters.erase(item);
      return of;
    };
    return its_threads == threads && its_device == device && plain(one) == plain(configuration);
  }
};

/// The case that is measured while gradients are sent.
[[nodiscard]] inline result::configuration_name during_allreduces(
    result::configuration_name alone) {
  alone.parameters["during"] = op::allreduce::name;
  return alone;
}

/// The case without that.
[[nodiscard]] inline result::configuration_name without_all_reduces(result::configuration_name of) {
  of.parameters.erase("during");
  return of;
}

namespace detail {

/// Of what the backward part computes, which is when gradients are sent. Nothing where a timing is
/// missing, during all-reduces or without. `disturbed` becomes the share of those without that
/// were.
[[nodiscard]] inline std::optional<time_ratio> computing_ratio(const planned_case& planned,
                                                               const timings& measured,
                                                               std::string_view cache,
                                                               double& disturbed) {
  planned_case alone = planned;
  std::erase_if(alone.step, [](const result::planned& item) {
    return item.part != model::step_part::backward || item.op == op::allreduce::name;
  });
  planned_case during = alone;
  during.configuration = during_allreduces(alone.configuration);
  const covered_step before = find_timings(alone, measured, cache);
  const covered_step after = find_timings(during, measured, cache);
  if (alone.step.empty() || !before.missing.empty() || !after.missing.empty()) return std::nullopt;
  disturbed = disturbed_share(before.step);
  return ratio_of(terms(before.step), terms(after.step));
}

/// Of the all-reduces that the rows of `during` had beside them, in a cache state, by the same
/// alone; nothing where the rows do not say.
[[nodiscard]] inline std::optional<time_ratio> sending_ratio(
    const result::configuration_name& during, const result::results& file, std::string_view cache) {
  timing alone;
  timing beside;
  for (const result::measurement& row : file.rows) {
    const auto own = row.counters.find("reduction_alone_s");
    const auto shared = row.counters.find("reduction_s");
    const bool known = own != row.counters.end() && shared != row.counters.end();
    if (!known || row.name.configuration != during || row.name.cache != cache) continue;
    const round_id visit{alone.runs.size(), row.round};
    alone.rounds.emplace(visit, own->second);
    beside.rounds.emplace(visit, shared->second);
    for (timing* item : {&alone, &beside}) item->runs.push_back(0);
  }
  if (alone.rounds.empty()) return std::nullopt;
  return ratio_of(std::vector<term>{{1, &alone}}, std::vector<term>{{1, &beside}});
}

/// The contention of a case, by a file alone: rounds of several would be of differing machines.
[[nodiscard]] inline std::optional<measured_contention> contention_of_file(
    const result::results& file, const planned_case& planned, std::string_view cache) {
  timings measured;
  measured.add(file);
  measured_contention result{planned.configuration,
                             threads(planned.configuration, {&file}),
                             file.device(),
                             {file.file},
                             {}};
  std::optional<time_ratio> computing;
  std::string_view used;
  for (const std::string_view state : {"model", "hot"}) {
    if (computing || (!cache.empty() && cache != state)) continue;
    used = state;
    computing = computing_ratio(planned, measured, state, result.disturbed);
  }
  if (!computing) return std::nullopt;
  const auto take = [&](const time_ratio& of, double slowdowns::* factor) {
    result.factors.usual.*factor = of.value();
    result.factors.low.*factor = of.low;
    result.factors.high.*factor = of.high;
  };
  take(*computing, &slowdowns::computing);
  result.is_interval = computing->p.has_value();
  if (const auto sending = sending_ratio(during_allreduces(planned.configuration), file, used)) {
    take(*sending, &slowdowns::sending);
    result.sending_known = true;
  }
  return result;
}

/// Takes over what another file says of the same: the geometric mean, and an interval that holds
/// those of all files. Sending is known where all of them know it.
inline void join(const measured_contention& other, measured_contention& to) {
  const auto files = static_cast<double>(to.files.size());
  auto& [usual, low, high] = to.factors;
  for (double slowdowns::* const item : {&slowdowns::computing, &slowdowns::sending}) {
    const double more = std::log(other.factors.usual.*item / usual.*item);
    usual.*item *= std::exp(more / (files + 1));
    low.*item = std::min(low.*item, other.factors.low.*item);
    high.*item = std::max(high.*item, other.factors.high.*item);
  }
  to.sending_known = to.sending_known && other.sending_known;
  if (!to.sending_known) usual.sending = low.sending = high.sending = 1;
  to.is_interval = to.is_interval && other.is_interval;
  to.disturbed = (files * to.disturbed + other.disturbed) / (files + 1);
  to.files.insert(to.files.end(), other.files.begin(), other.files.end());
}

}  // namespace detail

/// What all `files`, of one context, say of a case; nothing where none does.
[[nodiscard]] inline std::optional<measured_contention> contention_of(
    const result::configuration_name& configuration, const group& files,
    std::string_view cache = {}) {
  std::optional<measured_contention> known;
  for (const result::results* file : files) {
    for (const planned_case& planned : planned_cases({file})) {
      if (planned.configuration != configuration) continue;
      const auto found = detail::contention_of_file(*file, planned, cache);
      if (found && known) detail::join(*found, *known);
      if (found && !known) known = found;
    }
  }
  return known;
}

/// Of each chosen case whose backward part was measured both with all-reduces beside it and
/// without, in the same file; where no cache state is chosen, in state `model` rather than `hot`.
/// Files of one context join. Throws nothing_matched as select().
[[nodiscard]] inline std::vector<measured_contention> contentions(
    std::span<const result::results> files, const options& chosen = {}) {
  const std::vector<choice> choices = select(files, chosen.models, chosen.shapes);
  std::vector<measured_contention> all;
  for (const group& item : group_by_context(files)) {
    for (const planned_case& planned : planned_cases(item)) {
      if (planned.configuration.ranks() == 1 || !is_chosen(planned.configuration, chosen, choices))
        continue;
      if (auto found = contention_of(planned.configuration, item, chosen.cache)) {
        all.push_back(std::move(*found));
      }
    }
  }
  return all;
}

}  // namespace layerbench::analysis
