// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/analysis/scaling/compute_step.hpp>
#include <layerbench/analysis/scaling/network.hpp>

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

namespace detail {

/// Simulates the backward part and the buckets sent meanwhile. Times are from its start.
class backward_part {
 public:
  backward_part(double work, const slowdowns& slower) : work_(work), slower_(slower) {}

  /// Sends a bucket that is ready after `ready` seconds of work and takes `seconds` alone.
  time_span send(double ready, double seconds) {
    // All delays of computing so far end before the channel becomes free.
    const double begin = std::max(free_, ready + slowed_);
    done_ = std::max(done_, ready);
    const double computed = std::min(work_ - done_, seconds * slower_.sending / slower_.computing);
    const double overlap = computed * slower_.computing;
    done_ += computed;
    slowed_ += overlap - computed;
    free_ = begin + overlap + std::max(0.0, seconds - overlap / slower_.sending);
    return {begin, free_};
  }
  /// Seconds by which contention has delayed computing.
  [[nodiscard]] double slowed() const { return slowed_; }

 private:
  double work_;
  slowdowns slower_;
  double free_ = 0;  ///< when the channel becomes free
  double done_ = 0;  ///< seconds of work done when the channel last became free
  double slowed_ = 0;
};

}  // namespace detail

/// One step on several devices. All computing takes `factor` times as long as in `step`, and the
/// all-reduce of a bucket takes `seconds_of(bytes)`. Without buckets it is the step of one device.
[[nodiscard]] inline parallel_step parallel_step_of(const compute_step& step,
                                                    const std::function<double(double)>& seconds_of,
                                                    const slowdowns& slower, double factor = 1) {
  const double forward = factor * step.seconds(model::step_part::forward);
  const double backward = factor * step.seconds(model::step_part::backward);
  const double alone = factor * step.whole.seconds;
  parallel_step result;
  detail::backward_part part(backward, slower);
  for (const timed_bucket& bucket : step.buckets) {
    const double seconds = seconds_of(static_cast<double>(bucket.what.bytes));
    const time_span sent = part.send(factor * bucket.ready, seconds);
    result.sent.push_back({forward + sent.begin, forward + sent.end});
    result.communication += seconds;
  }
  result.slowed = part.slowed();
  result.backward_end = forward + backward + result.slowed;
  if (!result.sent.empty()) {
    result.exposed = std::max(0.0, result.sent.back().end - result.backward_end);
  }
  result.seconds = alone + result.slowed + result.exposed;
  result.no_overlap = alone + result.communication;
  detail::backward_part at_once(backward, slower);
  const time_span all = at_once.send(0, result.communication);
  result.full_overlap = alone - backward + std::max(all.end, backward + at_once.slowed());
  return result;
}

/// The time span of each call of the step, in their order. While a bucket is sent, calls take
/// `contention` times as long.
[[nodiscard]] inline std::vector<time_span> call_spans(const compute_step& computed,
                                                       const parallel_step& step,
                                                       double contention) {
  std::vector<time_span> all;
  double now = 0;
  std::size_t next = 0;  // bucket whose sending has not ended
  const auto compute = [&](double work) {
    while (work > 0) {
      while (next < step.sent.size() && step.sent[next].end <= now) ++next;
      const bool known = next < step.sent.size();
      const bool slow = known && step.sent[next].begin <= now;
      const double pace = slow ? contention : 1;
      const double until = slow    ? step.sent[next].end
                           : known ? step.sent[next].begin
                                   : std::numeric_limits<double>::infinity();
      const bool reaches = now + pace * work >= until;
      const double reached = reaches ? until : now + pace * work;
      work = reaches ? work - (until - now) / pace : 0;
      now = reached;
    }
  };
  for (const timed_call& call : computed.calls) {
    if (call.part == model::step_part::update && !step.sent.empty()) {
      now = std::max(now, step.sent.back().end);
    }
    const double begin = now;
    compute(call.seconds);
    all.push_back({begin, now});
  }
  return all;
}

/// What stays constant as devices are added: the batch of each (weak) or of all together (strong).
enum class scaling { weak, strong };

/// The source of a contention.
enum class contention_source { assumed, given, measured };

}  // namespace layerbench::analysis

template <>
inline constexpr std::array<std::string_view, 2>
    layerbench::enum_names<layerbench::analysis::scaling>{"weak", "strong"};
template <>
inline constexpr std::array<std::string_view, 3>
    layerbench::enum_names<layerbench::analysis::contention_source>{"assumed", "given", "measured"};

namespace layerbench::analysis {

/// Slowdowns with their 95 % interval; with few rounds it spans their extremes.
struct slowdown_interval {
  slowdowns usual = {};
  slowdowns low = {};
  slowdowns high = {};
};

/// The slowdowns with factors below 1 raised to 1.
[[nodiscard]] inline slowdown_interval at_least_one(slowdown_interval of) {
  for (slowdowns* factors : {&of.usual, &of.low, &of.high}) {
    factors->computing = std::max(1.0, factors->computing);
    factors->sending = std::max(1.0, factors->sending);
  }
  return of;
}

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
[[nodiscard]] inline scaled_step scale(const compute_step& computed, std::int64_t batch,
                                       std::int64_t devices, const network& interconnect,
                                       const used_contention& contention, double alone) {
  require_capacity(interconnect, devices);
  const used_contention used = devices == 1 ? used_contention{} : contention;
  const auto step = [&](double collective_time::* bound, const slowdowns& slower, double factor) {
    const auto seconds_of = [&](double bytes) {
      return allreduce_time(interconnect, bytes, devices).*bound;
    };
    return parallel_step_of(computed, seconds_of, slower, factor);
  };
  const double seconds = computed.whole.seconds;
  const auto& [usual, low, high] = used.factors;
  scaled_step result{devices, batch, used, step(&collective_time::seconds, usual, 1)};
  result.seconds_low = step(&collective_time::low, low, computed.whole.low() / seconds).seconds;
  result.seconds_high = step(&collective_time::high, high, computed.whole.high() / seconds).seconds;
  result.extrapolated = std::ranges::any_of(computed.buckets, [&](const timed_bucket& bucket) {
    return extrapolates(interconnect, static_cast<double>(bucket.what.bytes), devices);
  });
  result.efficiency = result.images_per_second() / (static_cast<double>(devices) * alone);
  return result;
}

}  // namespace layerbench::analysis
