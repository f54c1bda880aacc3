// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <map>

#include <layerbench/analysis/base/step_energy.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/stats.hpp>

namespace layerbench::analysis {

namespace detail {

/// The windows of one chain or row.
struct energy_windows {
  std::vector<double> gross;
  std::vector<double> net;
  std::vector<double> idle_watts;
  std::vector<double> seconds;    ///< of a call
  std::vector<double> disturbed;  ///< 0 or 1

  void add(const result::measurement& row) {
    const auto value = [&](const char* counter) {
      const auto found = row.counters.find(counter);
      return found == row.counters.end() ? 0 : found->second;
    };
    gross.push_back(row.counters.at("energy_gross_j"));
    net.push_back(row.counters.at("energy_net_j"));
    idle_watts.push_back(row.counters.at("idle_w"));
    // Both energies differ by what the machine draws when idle. The window also has other work.
    seconds.push_back(idle_watts.back() > 0
                          ? (gross.back() - net.back()) / idle_watts.back()
                          : value("energy_window_s") / std::max(value("energy_calls"), 1.0));
    disturbed.push_back(value("energy_disturbed"));  // absent: not known
  }
  [[nodiscard]] std::size_t disturbed_windows() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(disturbed, [](double v) { return v > 0; }));
  }
  /// Those of `all` that count.
  [[nodiscard]] std::vector<double> counted(const std::vector<double>& all) const {
    constexpr std::size_t enough = 3;
    if (all.size() < disturbed_windows() + enough) return all;
    std::vector<double> some;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (disturbed[i] <= 0) some.push_back(all[i]);
    }
    return some;
  }
};

/// All energies that files of one counter have.
struct counted_energy {
  energy_windows step;
  std::map<std::string, energy_windows> layers;  ///< by identity
};

[[nodiscard]] inline joules joules_of(const planned_case& planned, std::string_view cache,
                                      const counted_energy& of,
                                      std::vector<double> energy_windows::* which) {
  const std::vector<double> steps = of.step.counted(of.step.*which);
  const stats::interval range = stats::mean_interval(steps);
  joules result{stats::mean(steps), range.low, range.high};
  double sum = 0;
  for (const result::planned& primitive : planned.step) {
    const auto found = of.layers.find(result::identity(planned.model_case, primitive.op,
                                                       primitive.pass, primitive.key, cache,
                                                       cache == "hot" ? "" : primitive.state));
    if (found == of.layers.end()) return result;
    const energy_windows& layer = found->second;
    sum += static_cast<double>(primitive.count) * stats::mean(layer.counted(layer.*which));
  }
  result.layers = sum;
  return result;
}

}  // namespace detail

LAYERBENCH_INLINE std::vector<step_energy> step_energies(const planned_case& planned,
                                                         std::string_view cache,
                                                         const group& files) {
  std::map<std::array<std::string, 3>, detail::counted_energy> by_counter;
  for (const result::results* file : files) {
    const auto field = [&](const char* name) { return file->context_value(name).value_or(""); };
    detail::counted_energy& all =
        by_counter[{field("energy_counter"), field("energy_class"), field("energy_coverage")}];
    for (const result::measurement& chain : file->chains) {
      const bool counts = chain.counters.contains("energy_net_j") && chain.error.empty();
      if (counts && chain.name.model_case == planned.model_case) all.step.add(chain);
    }
    for (const result::measurement& row : file->rows) {
      const bool counts = row.counters.contains("energy_net_j") && row.error.empty();
      if (counts && row.name.cache == cache) all.layers[result::identity(row)].add(row);
    }
  }
  std::vector<step_energy> result;
  for (const auto& [source, all] : by_counter) {
    if (all.step.net.empty()) continue;
    using windows = detail::energy_windows;
    result.push_back(
        {source[0], source[1], source[2], detail::joules_of(planned, cache, all, &windows::gross),
         detail::joules_of(planned, cache, all, &windows::net), stats::mean(all.step.idle_watts),
         stats::mean(all.step.counted(all.step.seconds)), all.step.net.size(),
         all.step.disturbed_windows()});
  }
  return result;
}

}  // namespace layerbench::analysis
