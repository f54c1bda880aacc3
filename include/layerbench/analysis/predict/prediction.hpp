// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <layerbench/analysis/roofline/roofline.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/result/name.hpp>

namespace layerbench::analysis {

/// A measured primitive's part of a prediction.
struct layer_time {
  std::string name;
  std::string op;
  std::string pass;
  std::string key;
  std::int64_t count;
  bool inserted;
  double seconds;                            ///< of one call: mean over the rounds
  double share;                              ///< of all measured layers' time, count * seconds
  std::optional<double> flops;               ///< FLOPs that one call really does: none on padding
  std::optional<double> chain_seconds = {};  ///< of one call, by clocks inside a chain
  model::step_part part = model::step_part::forward;
  double low = 0;  ///< bounds of `seconds` that the rounds give (stats::mean_interval)
  double high = 0;
  std::optional<double> padded_flops = {};            ///< FLOPs with those on padding
  std::vector<result::operand_traffic> traffic = {};  ///< its operands; empty: unknown
  std::optional<analysis::roofs> roofs = {};  ///< nothing where peaks or operands are unknown

  [[nodiscard]] std::string call_name() const { return model::call_name(name, pass); }
};

/// What the low and high of a sampled time are.
enum class interval_kind {
  none,       ///< the time itself: there are not two rounds that all layers have
  range,      ///< least and largest sum of a single round: too few of them for an interval
  bootstrap,  ///< 95 % interval over rounds
};

/// How far sums of `cache:model` timings are from measured steps for 95 % of models, relative to
/// the step: twice the root mean square of the undisturbed cases of docs/measuring.md, 1.5 %, less
/// the 0.8 % that sampling explains. Sums of hot timings have no such error: they are no estimate
/// of a step, but a bound.
struct protocol_error {
  static constexpr double relative = 0.025;
};

/// Time of one step in seconds.
struct step_time {
  double layers;    ///< what the layers add up to
  double overhead;  ///< the framework's own, as the user said; part of all times below
  double seconds;
  double sampling_low;  ///< bounds of `seconds` that the rounds give
  double sampling_high;
  interval_kind kind;                         ///< what those bounds are
  std::optional<double> protocol_half_width;  ///< of an error independent of theirs

  /// Bounds of both errors: halves of independent intervals add up by their squares.
  [[nodiscard]] double low() const {
    return seconds - std::hypot(seconds - sampling_low, protocol_half_width.value_or(0));
  }
  [[nodiscard]] double high() const {
    return seconds + std::hypot(sampling_high - seconds, protocol_half_width.value_or(0));
  }
};

struct prediction {
  result::configuration_name configuration;
  std::vector<std::string> files;       ///< whose rows could serve
  std::string cache;                    ///< state of the timings that are added up
  std::string method;                   ///< in words
  bool derived = false;                 ///< the step is from a shape file, not from a manifest
  std::int64_t threads = 0;             ///< 0: the files do not say
  double coverage = 0;                  ///< executions measured / executions in a step
  std::vector<std::string> missing;     ///< layers without a timing, in manifest order
  std::vector<layer_time> layers;       ///< layers with one, in manifest order
  std::size_t rounds = 0;               ///< that all measured layers have
  bool interrupted = false;             ///< a file's measuring was, so that rounds are missing
  double disturbed = 0;                 ///< share of the layers' timings that were disturbed
  std::optional<double> naive_seconds;  ///< sum of hot timings; nothing while one is missing
  std::optional<step_time> step;        ///< nothing when refused: a layer is missing
  std::optional<peaks> limits = {};     ///< what the device attains, where that was measured

  /// Whether the step lacks layers although it has a time.
  [[nodiscard]] bool partial() const { return step && !missing.empty(); }
  [[nodiscard]] std::optional<double> images_per_second() const {
    if (!step) return std::nullopt;
    return static_cast<double>(configuration.batch * configuration.ranks()) / step->seconds;
  }
};

}  // namespace layerbench::analysis
