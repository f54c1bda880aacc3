// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/analysis/scaling/compute_step.hpp>
#include <layerbench/analysis/scaling/network.hpp>
#include <layerbench/shape/record.hpp>

/// Data-parallel training steps: each device computes a part of the images, and gradients are
/// reduced.
namespace layerbench::analysis {

/// A span of time in seconds from the start of the step.
struct time_span {
  double begin;
  double end;
};

/// The factors by which computing and sending slow down while they overlap.
struct slowdowns {
  double computing = 1;
  double sending = 1;
};

/// One step of all devices, in seconds. The backward part computes gradients. A bucket is sent when
/// its last gradient is ready and the previous bucket has been sent (Li et al., PyTorch
/// Distributed, 2020; wait-free backpropagation in Shi and Chu, Performance Modeling and Evaluation
/// of Distributed Deep Learning Frameworks on GPUs, 2018). The update waits for all buckets. While
/// they overlap, computing and sending are slowed by contention. The bounds hold if overlapping is
/// no slower than taking turns, that is if 1 / computing + 1 / sending is at least 1.
struct parallel_step {
  double seconds = 0;
  double communication = 0;  ///< of all buckets
  double exposed = 0;        ///< part of it that does not overlap with computing
  double slowed = 0;         ///< delay of the backward part by contention
  double no_overlap = 0;     ///< the step if all were sent after the backward part
  double full_overlap = 0;   ///< the step if gradients were ready when the backward part begins
  std::vector<time_span> sent;
  double backward_end = 0;  ///< from the start of the step
};

/// One step on several devices. All computing takes `factor` times as long as in `step`, and the
/// all-reduce of a bucket takes `seconds_of(bytes)`. Without buckets it is the step of one device.
[[nodiscard]] parallel_step parallel_step_of(const compute_step& step,
                                             const std::function<double(double)>& seconds_of,
                                             const slowdowns& slower, double factor = 1);

/// The time span of each call of the step, in their order. While a bucket is sent, calls take
/// `contention` times as long.
[[nodiscard]] std::vector<time_span> call_spans(const compute_step& computed,
                                                const parallel_step& step, double contention);

/// What stays constant as devices are added: the batch of each (weak) or of all together (strong).
enum class scaling { weak, strong };

/// The source of a contention.
enum class contention_source { assumed, given, measured };

[[nodiscard]] constexpr std::array<std::string_view, 2> list_names(scaling /*tag*/) {
  return {"weak", "strong"};
}
[[nodiscard]] constexpr std::array<std::string_view, 3> list_names(contention_source /*tag*/) {
  return {"assumed", "given", "measured"};
}

/// Slowdowns with their 95 % interval; with few rounds it spans their extremes.
struct slowdown_interval {
  slowdowns usual = {};
  slowdowns low = {};
  slowdowns high = {};
};

/// The slowdowns with factors below 1 raised to 1.
[[nodiscard]] slowdown_interval at_least_one(slowdown_interval of);

/// The contention with which a step is predicted.
struct used_contention {
  slowdown_interval factors = {};
  contention_source from = contention_source::assumed;
  std::vector<std::string> files = {};  ///< files that it was measured in
  bool sending_known = true;            ///< otherwise sending is assumed not to slow down
};

/// A training step on a number of devices.
struct scaled_step {
  std::int64_t devices = 1;
  std::int64_t batch = 1;  ///< of each device
  used_contention contention = {};
  parallel_step step;
  double seconds_low =
      0;  ///< step.seconds with computing, network and contention at their low ends
  double seconds_high = 0;
  bool extrapolated = false;  ///< the network was not measured with that many devices or bytes
  double efficiency = 1;      ///< images/s relative to that of independent devices

  [[nodiscard]] double images_per_second() const {
    return static_cast<double>(devices * batch) / step.seconds;
  }
  /// Whether the interval of the time is known.
  [[nodiscard]] bool is_interval() const { return seconds_low < seconds_high; }
};

/// The step on several devices, each of which computes `computed` on a batch. Efficiency is
/// relative to `alone`, the images/s of a single device. One device sends nothing, so its step is
/// the plain prediction. Each bound takes computing, network and contention at their bounds at
/// once. Throws usage_error if the network is too small.
[[nodiscard]] scaled_step scale(const compute_step& computed, std::int64_t batch,
                                std::int64_t devices, const network& interconnect,
                                const used_contention& contention, double alone);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/scaling/parallel_step-inl.hpp>
#endif
