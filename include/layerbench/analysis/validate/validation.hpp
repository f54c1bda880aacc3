// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/analysis/base/engine_overhead.hpp>
#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/stats.hpp>

/// Validation of predictions by end-to-end runs: rows `chain/...`, in which whole models ran.
namespace layerbench::analysis {

/// The measured time of a whole step: the mean over rounds and its 95 % interval, computed as for a
/// prediction. With fewer than 5 rounds the interval spans the least and the largest round, and is
/// empty if most were disturbed.
/// Disturbed rounds do not count if enough others remain.
struct measured_step {
  double seconds = 0;
  double low = 0;
  double high = 0;
  std::size_t rounds = 0;
  double disturbed = 0;  ///< share of the rounds that something else disturbed

  [[nodiscard]] std::optional<stats::interval> interval() const {
    if (!(low < high)) return std::nullopt;
    return stats::interval{low, high};
  }
  /// Significant digits that texts show, as of prediction::digits().
  [[nodiscard]] int digits() const {
    return disturbed > result::mostly_disturbed ? format::known_digits(seconds, low, high)
                                                : format::most_digits;
  }
};

/// The time of some layers in a step: as predicted, and by clocks between the layers of an
/// end-to-end run, or by the profile of an engine.
struct validation_part {
  std::string name;
  double predicted = 0;  ///< seconds, by the kernels of the engine if it is known how they compare
  double measured = 0;
  std::int64_t calls = 0;
  std::string kernel = {};  ///< the kind of kernel of the first call

  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

/// A prediction that has a step, and the measured time of that step.
struct validated {
  prediction predicted;
  measured_step measured;
  /// Seconds of an engine's step by its profile: of all of it, and of what it does in no layer of
  /// the model by kind.
  std::optional<double> profiled = {};
  std::vector<std::pair<std::string, double>> in_no_layer = {};
  /// A profile is left out, since the manifest does not name the layers of equal calls.
  bool has_unnamed_layers = false;
  std::optional<result::latencies> latencies = {};  ///< of single steps, as measured
  bool of_quieter_half = false;  ///< both sides are of the quieter half of rounds in turns

  /// The error relative to the measured time: 0.1 for a prediction that is 10 % too slow.
  [[nodiscard]] double error() const { return predicted.step->seconds / measured.seconds - 1; }
  [[nodiscard]] std::optional<double> naive_error() const {
    if (!predicted.hot_sum_seconds) return std::nullopt;
    return *predicted.hot_sum_seconds / measured.seconds - 1;
  }
  /// Significant digits of the errors that texts show.
  [[nodiscard]] int digits() const { return std::min(predicted.digits(), measured.digits()); }
  /// The error of a predicted time as texts show it: of the rounded times.
  [[nodiscard]] std::string error_text(std::optional<double> seconds) const {
    if (!seconds) return "";
    return format::change(measured.seconds, measured.digits(), *seconds, predicted.digits());
  }
  /// Whether the predicted interval contains the measured time. Nothing if there is none, or if it
  /// is so wide that most times would be inside.
  [[nodiscard]] std::optional<bool> interval_contains_measured() const {
    constexpr double widest = 2;
    const auto interval = predicted.step->interval();
    if (!interval || interval->high > widest * interval->low) return std::nullopt;
    return interval->low <= measured.seconds && measured.seconds <= interval->high;
  }
  [[nodiscard]] bool disturbed() const {
    return std::max(predicted.disturbed, measured.disturbed) > result::much_disturbed;
  }
  /// The layers, if clocks were read between them; layers that share a row are one entry.
  [[nodiscard]] std::vector<validation_part> layers() const {
    return parts([](const layer_time& layer) { return layer.call_name(); });
  }
  /// The same by op.
  [[nodiscard]] std::vector<validation_part> ops() const {
    return parts([](const layer_time& layer) { return layer.op; });
  }
  /// The same by part of the step, because errors of two parts may cancel in the sum.
  [[nodiscard]] std::vector<validation_part> step_parts() const {
    return parts([](const layer_time& layer) { return std::string(name(layer.part)); });
  }

 private:
  template <class Property>
  [[nodiscard]] std::vector<validation_part> parts(Property&& property) const {
    std::vector<validation_part> all;
    for (const layer_time& layer : predicted.layers) {
      if (!layer.chain_seconds) continue;
      auto same = std::ranges::find(all, property(layer), &validation_part::name);
      if (same == all.end()) {
        same = all.insert(all.end(), {.name = property(layer)});
        same->kernel = detail::kernel_of(layer);
      }
      const auto count = static_cast<double>(layer.count);
      same->predicted += count * layer.seconds * layer.kernel_factor;
      same->measured += count * *layer.chain_seconds;
      same->calls += layer.count;
    }
    return all;
  }
};

/// A case with an end-to-end run that lacks a prediction or a measured time.
struct unvalidated {
  result::case_name model_case;
  std::vector<std::string> files;
  std::string reason;
};

/// Statistics of the errors of several cases, all relative to the measured times.
struct error_summary {
  double mean_abs;
  double median_abs;
  double max_abs;
  double bias;  ///< mean, with signs
  double within_2_percent;
  double within_5_percent;
  std::size_t cases;
};

/// Summarizes errors; nothing if there are none.
[[nodiscard]] std::optional<error_summary> summarize(const std::vector<double>& errors);

/// The validated cases, and those that could not be validated.
struct validation {
  std::vector<validated> cases;
  std::vector<unvalidated> left_out;

  /// The errors of the predictions.
  [[nodiscard]] std::optional<error_summary> errors() const {
    std::vector<double> values;
    for (const validated& entry : cases) values.push_back(entry.error());
    return summarize(values);
  }

  /// The errors of the naive hot sums.
  [[nodiscard]] std::optional<error_summary> naive_errors() const {
    std::vector<double> values;
    for (const validated& entry : cases) {
      if (const auto error = entry.naive_error()) values.push_back(*error);
    }
    return summarize(values);
  }

  /// The cases whose predicted interval contains the measured time or does not.
  [[nodiscard]] std::size_t cases_inside(bool inside) const {
    return static_cast<std::size_t>(
        std::ranges::count(cases, std::optional(inside), &validated::interval_contains_measured));
  }
  /// Share of the compared cases whose predicted interval contains the measured time.
  [[nodiscard]] std::optional<double> interval_coverage() const {
    const std::size_t compared = cases_inside(true) + cases_inside(false);
    if (compared == 0) return std::nullopt;
    return static_cast<double>(cases_inside(true)) / static_cast<double>(compared);
  }
};

/// Validates the predictions of all cases that have an end-to-end run. Each group of files with the
/// same context is validated on its own. If the chain ran in turns with other programs, in the
/// process of its layers, the quieter half of 6 common rounds or more counts. Of `chosen` only
/// models, phase, cache state and the directory of shape files count. Throws nothing_matched if no
/// file has an end-to-end run, and what predict() throws.
[[nodiscard]] validation validate(std::span<const result::results> files,
                                  const options& chosen = {});

/// Predictions beside the measured steps of one engine: a framework that ran the whole model.
struct engine_validation {
  std::string engine;
  validation pairs;  ///< left out: steps that have no prediction
};

/// Compares the predictions of `files` with the chains of `engines` (tools/engines.py), one entry
/// per engine, in the order of the rows. Of rounds in turns the quieter half counts, as in
/// validate(). A prediction of any backend is compared if model, phase, batch, tokens, context,
/// data type, threads and device are those of the chain. The engines' overheads are added if there
/// are `overheads`; steps without one are left out. Throws nothing_matched if `engines` have no
/// chain, and what predict() throws.
[[nodiscard]] std::vector<engine_validation> validate_engines(
    std::span<const result::results> files, std::span<const result::results> engines,
    const options& chosen = {}, std::span<const result::results> overheads = {});

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/validate/validation-inl.hpp>
#endif
