// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/cli/result_sink.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/session/runner.hpp>
#include <layerbench/session/suite.hpp>

namespace layerbench::run::detail {

/// The limits that the options set. In a program of whole models the sum of the rows counts.
[[nodiscard]] inline stopping_limits limits_of(const options& o, bool whole_model) {
  stopping_limits limits{.min_rounds = o.repetitions,
                         .min_time = std::stod(o.min_time),
                         .precision = std::stod(o.precision) / 100,
                         .max_time = std::stod(o.most_time),
                         .sum_rows = whole_model};
  if (!o.budget.empty()) limits.budget = std::stod(o.budget);
  return limits;
}

/// The chains that the options ask for, of configurations of which a row was selected.
[[nodiscard]] inline std::vector<chain_case> selected_chains(
    const options& o, const suite& all, const std::vector<benchmark_case*>& selected) {
  std::vector<chain_case> chains;
  if (o.chain.empty()) return chains;
  for (const chain_case& chain : all.chains) {
    const auto belongs = [&](const benchmark_case* row) {
      return row->name().configuration == chain.configuration;
    };
    if (std::ranges::none_of(selected, belongs)) continue;
    chains.push_back(chain);
    if (o.chain != "layers") chains.back().primitives.clear();
  }
  return chains;
}

/// Measures the selected rows and their chains into `sink`, which writes and prints them. Returns
/// whether the user interrupted.
inline bool measure(const options& o, const suite& all, const stopping_limits& limits,
                    const std::vector<benchmark_case*>& selected, result_sink& sink) {
  runner measuring(selected, selected_chains(o, all, selected), limits,
                   {.seed = o.seed, .verify_every_output = o.verify});
  const auto note_machine_state = [&] {
    sink.set_machine_state(measuring.slow_share(), measuring.core_latency());
  };
  const bool interrupted = measuring.run(sink.results(), [&] {
    note_machine_state();
    sink.checkpoint();
  });
  note_machine_state();
  for (const auto& [configuration, ending] : measuring.endings()) {
    sink.results().context["stopped"] += fmt::format("{}: {}; ", configuration.text(), ending);
  }
  sink.finish(interrupted);
  return interrupted;
}

}  // namespace layerbench::run::detail
