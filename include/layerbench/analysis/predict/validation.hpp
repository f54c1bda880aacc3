// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/predict/predictor.hpp>
#include <layerbench/analysis/scaling/overlap.hpp>
#include <layerbench/analysis/scaling/scaling.hpp>
#include <layerbench/base/stats.hpp>

/// Predictions held against measured steps: rows `chain/...`, in which whole models ran.
namespace layerbench::analysis {

/// Time of a whole step as measured: mean over rounds, those of them that nothing disturbed where
/// they are enough, and its 95 % interval as of a prediction; below 5 rounds the least and the
/// largest round.
struct measured_step {
  double seconds = 0;
  double low = 0;
  double high = 0;
  std::size_t rounds = 0;
  double disturbed = 0;  ///< share of the rounds that something else disturbed
};

/// Layers' times in a step: as predicted, and by clocks between the layers of a chain.
struct part {
  std::string name;
  double predicted = 0;  ///< seconds
  double measured = 0;

  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

/// A prediction, which has a step, and what it predicts.
struct validated {
  prediction predicted;
  measured_step measured;

  /// Relative to the measured time: 0.1 is a prediction that is 10 % too slow.
  [[nodiscard]] double error() const { return predicted.step->seconds / measured.seconds - 1; }
  [[nodiscard]] std::optional<double> naive_error() const {
    if (!predicted.naive_seconds) return std::nullopt;
    return *predicted.naive_seconds / measured.seconds - 1;
  }
  /// Whether the predicted interval holds the measured time.
  [[nodiscard]] bool covered() const {
    return predicted.step->low() <= measured.seconds && measured.seconds <= predicted.step->high();
  }
  [[nodiscard]] bool disturbed() const {
    return std::max(predicted.disturbed, measured.disturbed) > result::much_disturbed;
  }
  /// Where clocks inside the chain were read: its layers, those that share a row as one.
  [[nodiscard]] std::vector<part> layers() const {
    return parts([](const layer_time& time) { return time.call_name(); });
  }
  /// The same by kind of op.
  [[nodiscard]] std::vector<part> ops() const {
    return parts([](const layer_time& time) { return time.op; });
  }
  /// The same by part of the step: an error of one half must not hide behind that of another.
  [[nodiscard]] std::vector<part> step_parts() const {
    return parts([](const layer_time& time) { return std::string(name(time.part)); });
  }

 private:
  template <class Kind>
  [[nodiscard]] std::vector<part> parts(Kind&& kind) const {
    std::vector<part> all;
    for (const layer_time& layer : predicted.layers) {
      if (!layer.chain_seconds) continue;
      auto same = std::ranges::find(all, kind(layer), &part::name);
      if (same == all.end()) same = all.insert(all.end(), {kind(layer)});
      const auto count = static_cast<double>(layer.count);
      same->predicted += count * layer.seconds;
      same->measured += count * *layer.chain_seconds;
    }
    return all;
  }
};

/// A case whose chain was asked for, but which has no prediction or no measured time.
struct unvalidated {
  result::configuration_name configuration;
  std::vector<std::string> files;
  std::string reason;
};

struct validation {
  std::vector<validated> cases;
  std::vector<unvalidated> left_out;
};

/// What the errors of several cases amount to; all relative to the measured times.
struct error_summary {
  double mean_abs;
  double median_abs;
  double max_abs;
  double bias;  ///< mean, with signs
  double within_2_percent;
  double within_5_percent;
};

/// Nothing for no errors.
[[nodiscard]] inline std::optional<error_summary> summarize(const std::vector<double>& errors) {
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

/// The rows of a case's chain, of all files of a group.
using chain_rows = std::vector<const result::measurement*>;

/// The chains of `files`, in their order.
[[nodiscard]] inline std::vector<std::pair<result::configuration_name, chain_rows>> chains(
    const group& files) {
  std::vector<std::pair<result::configuration_name, chain_rows>> all;
  for (const result::results* file : files) {
    for (const result::measurement& row : file->chains) {
      const auto same =
          std::ranges::find(all, row.name.configuration, [](const auto& e) { return e.first; });
      if (same == all.end()) {
        all.push_back({row.name.configuration, {&row}});
      } else {
        same->second.push_back(&row);
      }
    }
  }
  return all;
}

/// Nothing when no row has a time.
[[nodiscard]] inline std::optional<measured_step> measure(const chain_rows& rows) {
  timing step;
  for (const result::measurement* row : rows) {
    if (!row->error.empty()) continue;
    const round_id round{0, std::ssize(step.rounds)};
    step.rounds.emplace(round, additive_seconds(*row));
    if (row->disturbed()) step.disturbed.insert(round);
  }
  if (step.rounds.empty()) return std::nullopt;
  std::size_t rounds = 0;
  const step_time whole = add_up(step.seconds(), std::vector<term>{{1, &step}}, rounds);
  const double disturbed = static_cast<double>(step.disturbed.size());
  return measured_step{whole.seconds, whole.sampling_low, whole.sampling_high, rounds,
                       disturbed / static_cast<double>(rounds)};
}

/// The prediction of a chain that sends gradients while it computes, by the contention that its
/// files say. Throws error where they do not, and as graph_of() and overlapped().
[[nodiscard]] inline prediction beside_all_reduces(prediction one_by_one, const group& files,
                                                   const options& chosen) {
  const auto known = contention_of(one_by_one.configuration, files, chosen.cache);
  if (!known) {
    throw error("no contention: rows of its backward part during all-reduces are missing");
  }
  const model::graph graph = graph_of(one_by_one.configuration, chosen);
  return overlapped(std::move(one_by_one), known->factors, graph, training_of(files));
}

/// Adds a case to `all`: to those validated where that is possible.
inline void validate_case(const result::configuration_name& configuration, const chain_rows& rows,
                          const std::vector<planned_case>& plans, const timings& measured,
                          const group& files, const options& chosen, validation& all) {
  const auto planned =
      std::ranges::find(plans, without_all_reduces(configuration), &planned_case::configuration);
  const auto leave_out = [&](std::string reason) {
    all.left_out.push_back({configuration, {}, std::move(reason)});
    for (const result::results* file : files) all.left_out.back().files.push_back(file->file);
  };
  const std::optional<measured_step> step = measure(rows);
  if (!step) return leave_out("the chain failed: " + rows.front()->error);
  if (planned == plans.end()) return leave_out("no manifest has the case");
  prediction predicted = predict_case(*planned, measured, files, chosen);
  if (!predicted.step) {
    return leave_out(fmt::format("layers without a timing: {}", fmt::join(predicted.missing, " ")));
  }
  if (!configuration.contended()) {
    all.cases.push_back({std::move(predicted), *step});
    return;
  }
  try {
    all.cases.push_back({beside_all_reduces(std::move(predicted), files, chosen), *step});
  } catch (const error& e) {
    leave_out(e.what());
  }
}

}  // namespace detail

/// Holds the predictions of all cases that have a chain against it, each group of comparable files
/// for itself. Of `chosen`, the models, the phase and the cache state count, and where shape files
/// are. Throws nothing_matched when no file has a chain, and what predict() throws.
[[nodiscard]] inline validation validate(std::span<const result::results> files,
                                         const options& chosen = {}) {
  if (std::ranges::all_of(files, [](const auto& file) { return file.chains.empty(); })) {
    throw nothing_matched(
        "no measured step to validate against: the files have no rows chain/...; measure with "
        "bench_model --chain");
  }
  detail::require_rounds(group_of(files));
  const std::vector<choice> choices = select(files, chosen.models, chosen.shapes);
  const options whole{.models = chosen.models, .shapes = chosen.shapes, .cache = chosen.cache};
  validation all;
  for (const group& item : group_by_context(files)) {
    timings measured;
    for (const result::results* file : item) measured.add(*file);
    const std::vector<planned_case> plans = planned_cases(item);
    for (const auto& [configuration, rows] : detail::chains(item)) {
      if (!is_chosen(configuration, chosen, choices)) continue;
      detail::validate_case(configuration, rows, plans, measured, item, whole, all);
    }
  }
  return all;
}

}  // namespace layerbench::analysis
