// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/predict/engine_overhead.hpp>
#include <layerbench/analysis/predict/predictor.hpp>
#include <layerbench/analysis/predict/validation.hpp>
#include <layerbench/analysis/scaling/overlap.hpp>
#include <layerbench/analysis/scaling/scaling.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/stats.hpp>

namespace layerbench::analysis {

LAYERBENCH_INLINE std::optional<error_summary> summarize(const std::vector<double>& errors) {
  if (errors.empty()) return std::nullopt;
  std::vector<double> sizes;
  for (const double error : errors) sizes.push_back(std::abs(error));
  const auto within = [&](double bound) {
    const auto count = std::ranges::count_if(sizes, [&](double value) { return value <= bound; });
    return static_cast<double>(count) / static_cast<double>(sizes.size());
  };
  return error_summary{stats::mean(sizes),  stats::median(sizes), std::ranges::max(sizes),
                       stats::mean(errors), within(0.02),         within(0.05)};
}

namespace detail {

/// The rows of a case's end-to-end run, from all files of a group.
using chain_rows = std::vector<const result::measurement*>;

/// The end-to-end runs in `files`, in their order.
[[nodiscard]] inline std::vector<std::pair<result::configuration_name, chain_rows>> chains(
    const group& files) {
  std::vector<std::pair<result::configuration_name, chain_rows>> all;
  for (const result::results* file : files) {
    for (const result::measurement& row : file->chains) {
      const auto same = std::ranges::find(all, row.name.configuration,
                                          [](const auto& chain) { return chain.first; });
      if (same == all.end()) {
        all.push_back({row.name.configuration, {&row}});
      } else {
        same->second.push_back(&row);
      }
    }
  }
  return all;
}

/// The measured step; nothing if no row has a time.
[[nodiscard]] inline std::optional<measured_step> measured_step_of(const chain_rows& rows) {
  timing step;
  for (const result::measurement* row : rows) {
    if (!row->error.empty()) continue;
    const round_id round{0, std::ssize(step.rounds)};
    step.rounds.emplace(round, estimated_seconds(*row));
    if (row->disturbed()) step.disturbed.insert(round);
  }
  if (step.rounds.empty()) return std::nullopt;
  std::size_t rounds = 0;
  const step_time sum = add_up(step.seconds(), std::vector<term>{{1, &step}}, rounds);
  const double disturbed = static_cast<double>(step.disturbed.size());
  return measured_step{sum.seconds, sum.sampling_low, sum.sampling_high, rounds,
                       disturbed / static_cast<double>(rounds)};
}

/// Whether rows of this file may be in the prediction.
[[nodiscard]] inline bool has_file(const prediction& calls, const result::results& file) {
  return std::ranges::find(calls.files, file.file) != calls.files.end();
}

/// The seconds of the predicted calls in each whole round; nothing if several files have them, or
/// if they were not measured in turns.
[[nodiscard]] inline std::map<std::int64_t, double> calls_by_round(
    const prediction& calls, std::span<const result::results> files) {
  std::map<std::int64_t, double> rounds;
  std::map<std::int64_t, std::size_t> rows;
  for (const result::results& file : files) {
    if (!has_file(calls, file)) continue;
    const bool is_second = !rounds.empty();
    for (const result::measurement& row : file.rows) {
      if (!row.error.empty() || row.name.configuration != calls.configuration ||
          row.name.cache != calls.cache) {
        continue;
      }
      if (is_second || !file.context.contains("turns")) return {};
      const auto count = row.counters.find("count");
      const double executions = count == row.counters.end() ? 1 : count->second;
      rounds[row.round] += executions * estimated_seconds(row);
      ++rows[row.round];
    }
  }
  if (rows.empty()) return rounds;
  // An interrupted run has a part of its last round.
  const std::size_t most = std::ranges::max(std::views::values(rows));
  std::erase_if(rounds, [&](const auto& round) { return rows.at(round.first) < most; });
  return rounds;
}

/// The quieter half of the rounds: those in which the calls and the measured step together took
/// least, each relative to its median. What disturbs a virtual machine for seconds may hit only one
/// of them. Nothing (all rounds count) for fewer than 6 rounds, or if one has other rounds.
[[nodiscard]] inline std::optional<std::set<std::int64_t>> quiet_rounds(
    const std::map<std::int64_t, double>& calls, const chain_rows& measured) {
  constexpr std::size_t least = 6;
  std::map<std::int64_t, double> steps;
  for (const result::measurement* row : measured) {
    if (!row->error.empty()) continue;
    if (!steps.emplace(row->round, estimated_seconds(*row)).second) return std::nullopt;
  }
  if (calls.size() < least ||
      !std::ranges::equal(std::views::keys(calls), std::views::keys(steps))) {
    return std::nullopt;
  }
  const auto median = [](const std::map<std::int64_t, double>& of) {
    const auto values = std::views::values(of);
    return stats::median(std::vector(values.begin(), values.end()));
  };
  const double usual_calls = median(calls);
  const double usual_step = median(steps);
  std::vector<std::pair<double, std::int64_t>> order;
  for (const auto& [round, seconds] : calls) {
    order.emplace_back(seconds / usual_calls + steps.at(round) / usual_step, round);
  }
  std::ranges::sort(order);
  std::set<std::int64_t> quiet;
  for (std::size_t i = 0; i < (order.size() + 1) / 2; ++i) quiet.insert(order[i].second);
  return quiet;
}

/// Takes both sides of a pair from its quiet rounds alone. A round counts for both of them there,
/// so disturbed rows count, too; their share stays that of all rounds.
inline void keep_quiet_rounds(validated& pair, const chain_rows& measured,
                              std::span<const result::results> files, const options& chosen) {
  const prediction all = pair.predicted;
  const auto quiet = quiet_rounds(calls_by_round(all, files), measured);
  if (!quiet) return;
  std::vector<result::results> some;
  for (const result::results& file : files) {
    if (!has_file(all, file)) continue;
    some.push_back(file);
    std::vector<result::measurement>& rows = some.back().rows;
    std::erase_if(rows, [&](const result::measurement& row) {
      return row.name.configuration == all.configuration && !quiet->contains(row.round);
    });
    for (result::measurement& row : rows) row.counters.erase("disturbed");
  }
  std::vector<result::measurement> steps;
  for (const result::measurement* row : measured) {
    if (!quiet->contains(row->round)) continue;
    steps.push_back(*row);
    steps.back().counters.erase("disturbed");
  }
  chain_rows rows;
  for (const result::measurement& step : steps) rows.push_back(&step);
  std::vector<prediction> again = predict(some, chosen);
  pair.predicted =
      std::move(*std::ranges::find(again, all.configuration, &prediction::configuration));
  pair.predicted.disturbed = all.disturbed;
  const double disturbed = pair.measured.disturbed;
  pair.measured = *measured_step_of(rows);
  pair.measured.disturbed = disturbed;
}

/// The prediction of a step that sends gradients while it computes, from the contention measured in
/// `files`. Throws error if they have none, and what graph_of() and overlapped() throw.
[[nodiscard]] inline prediction overlapped_prediction(prediction sequential, const group& files,
                                                      const options& chosen) {
  const auto known = contention_of(sequential.configuration, files, chosen.cache);
  if (!known) {
    throw error("no contention: rows of its backward part during all-reduces are missing");
  }
  const model::graph graph = graph_of(sequential.configuration, files, chosen);
  return overlapped(std::move(sequential), known->factors, graph, training_of(files));
}

/// Adds a case to `all`: to the validated ones if possible, else to those left out.
inline void validate_case(const result::configuration_name& configuration, const chain_rows& rows,
                          const std::vector<planned_configuration>& cases, const timings& measured,
                          const group& files, std::span<const result::results> every,
                          const options& chosen, validation& all) {
  const auto planned = std::ranges::find(cases, without_all_reduces(configuration),
                                         &planned_configuration::configuration);
  const auto leave_out = [&](std::string reason) {
    all.left_out.push_back({configuration, {}, std::move(reason)});
    for (const result::results* file : files) all.left_out.back().files.push_back(file->file);
  };
  const std::optional<measured_step> step = measured_step_of(rows);
  if (!step) return leave_out("the chain failed: " + rows.front()->error);
  if (planned == cases.end()) return leave_out("no manifest has the case");
  prediction predicted = predict_configuration(*planned, measured, files, chosen);
  if (!predicted.step) {
    return leave_out(fmt::format("layers without a timing: {}", fmt::join(predicted.missing, " ")));
  }
  if (!configuration.contended()) {
    all.cases.push_back({std::move(predicted), *step});
    keep_quiet_rounds(all.cases.back(), rows, every, chosen);
    return;
  }
  try {
    all.cases.push_back({overlapped_prediction(std::move(predicted), files, chosen), *step});
  } catch (const error& e) {
    leave_out(e.what());
  }
}

}  // namespace detail

LAYERBENCH_INLINE validation validate(std::span<const result::results> files,
                                      const options& chosen) {
  if (std::ranges::all_of(files, [](const auto& file) { return file.chains.empty(); })) {
    throw nothing_matched(
        "no measured step to validate against: the files have no rows chain/...; measure with "
        "bench_model --chain");
  }
  detail::require_rounds(group_of(files));
  const std::vector<model_choice> choices = resolve_models(files, chosen.models, chosen.shapes);
  const options used{.models = chosen.models, .shapes = chosen.shapes, .cache = chosen.cache};
  validation all;
  for (const group& alike : group_by_context(files)) {
    timings measured;
    for (const result::results* file : alike) measured.add(*file);
    const std::vector<planned_configuration> cases = planned_configurations(alike);
    for (const auto& [configuration, rows] : detail::chains(alike)) {
      if (!is_chosen(configuration, chosen, choices)) continue;
      detail::validate_case(configuration, rows, cases, measured, alike, files, used, all);
    }
  }
  return all;
}

namespace detail {

/// Whether an engine's chain ran the step that was predicted, on as many threads. Names of backends
/// differ, and so may layouts, which engines choose themselves.
[[nodiscard]] inline bool same_step(const prediction& predicted,
                                    const result::configuration_name& chain, std::int64_t threads) {
  const result::configuration_name& own = predicted.configuration;
  const auto conditions = [](const result::configuration_name& of) {
    return std::tuple(of.model, of.phase(), of.dtype, of.batch, of.ranks(), of.count("tokens"),
                      of.count("context"));
  };
  return conditions(own) == conditions(chain) && predicted.threads == threads;
}

/// The profile of an engine's case, if it names layers of the model; else null.
[[nodiscard]] inline const std::vector<result::engine_node>* profile_of(
    const result::configuration_name& configuration, const group& files) {
  for (const result::results* file : files) {
    const auto found = file->engine_layers.find(configuration.text());
    if (found == file->engine_layers.end()) continue;
    const auto is_known = [](const result::engine_node& node) { return !node.layers.empty(); };
    if (std::ranges::any_of(found->second, is_known)) return &found->second;
  }
  return nullptr;
}

/// Gives the layers of a case their times in an engine's profile. A node's time is that of the
/// predicted call that has the first layer of the node; a call may have several joined layers.
inline void add_profile(validated& entry, const std::vector<result::engine_node>& nodes) {
  const auto is_unnamed = [](const layer_time& call) {
    return call.layers.empty() && call.count > 1;
  };
  entry.has_unnamed_layers = std::ranges::any_of(entry.predicted.layers, is_unnamed);
  if (entry.has_unnamed_layers) return;
  std::map<std::string, layer_time*, std::less<>> calls;  // by layer
  for (layer_time& call : entry.predicted.layers) {
    call.chain_seconds = 0;
    for (const std::string& joined : call.layers.empty() ? std::vector{call.name} : call.layers) {
      std::istringstream names(joined);
      for (std::string name; std::getline(names, name, '+');) calls.emplace(name, &call);
    }
  }
  entry.profiled = 0;
  for (const result::engine_node& node : nodes) {
    *entry.profiled += node.seconds;
    const auto known = std::ranges::find_if(
        node.layers, [&](const std::string& name) { return calls.contains(name); });
    if (known != node.layers.end()) {
      layer_time& call = *calls.at(*known);
      *call.chain_seconds += node.seconds / static_cast<double>(call.count);
      continue;
    }
    auto kind =
        std::ranges::find(entry.in_no_layer, node.type, &std::pair<std::string, double>::first);
    if (kind == entry.in_no_layer.end()) {
      kind = entry.in_no_layer.insert(kind, {node.type, 0});
    }
    kind->second += node.seconds;
  }
}

}  // namespace detail

LAYERBENCH_INLINE std::vector<engine_validation> validate_engines(
    std::span<const result::results> files, std::span<const result::results> engines,
    const options& chosen, std::span<const result::results> overheads) {
  if (std::ranges::all_of(engines, [](const auto& file) { return file.chains.empty(); })) {
    throw nothing_matched("no measured step of an engine; measure with tools/engines.py");
  }
  const options used{.models = chosen.models, .shapes = chosen.shapes, .cache = chosen.cache};
  const std::vector<prediction> predictions = predict(files, used);
  const std::vector<model_choice> choices = resolve_models(files, chosen.models, chosen.shapes);
  std::vector<engine_validation> all;
  for (const group& alike : group_by_context(engines)) {
    for (const auto& [configuration, rows] : detail::chains(alike)) {
      if (!is_chosen(configuration, chosen, choices)) continue;
      auto engine = std::ranges::find(all, configuration.backend, &engine_validation::engine);
      if (engine == all.end()) engine = all.insert(all.end(), {configuration.backend, {}});
      validation& pairs = engine->pairs;
      const auto leave_out = [&](std::string reason) {
        pairs.left_out.push_back({configuration, {}, std::move(reason)});
        for (const result::results* file : alike) pairs.left_out.back().files.push_back(file->file);
      };
      const std::optional<measured_step> step = detail::measured_step_of(rows);
      if (!step) {
        leave_out("the chain failed: " + rows.front()->error);
        continue;
      }
      const std::int64_t threads = detail::threads(configuration, alike);
      const std::vector<result::engine_node>* nodes = detail::profile_of(configuration, alike);
      bool found = false;
      for (const prediction& predicted : predictions) {
        if (!detail::same_step(predicted, configuration, threads)) continue;
        if (detail::device_of(predicted, files) != alike.front()->device()) continue;
        found = true;
        if (!predicted.step) {
          leave_out(fmt::format("layers without a timing: {}", fmt::join(predicted.missing, " ")));
          continue;
        }
        validated entry{predicted, *step};
        detail::keep_quiet_rounds(entry, rows, files, used);
        // These clocks are of the chains of `files`.
        for (layer_time& call : entry.predicted.layers) call.chain_seconds.reset();
        if (!overheads.empty()) {
          const std::string reason =
              add_engine_overhead(entry.predicted, files, engine->engine, overheads);
          if (!reason.empty()) {
            leave_out(reason);
            continue;
          }
        }
        if (nodes != nullptr) detail::add_profile(entry, *nodes);
        pairs.cases.push_back(std::move(entry));
      }
      if (!found) leave_out("no prediction of this step on as many threads of this device");
    }
  }
  return all;
}

}  // namespace layerbench::analysis
