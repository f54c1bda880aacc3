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

/// Training steps of devices that each compute their own images and add up their gradients.
namespace layerbench::analysis {

/// When a bucket was sent: seconds from the begin of the step.
struct sending {
  double begin;
  double end;
};

/// How many times as long computing and sending take while both go on.
struct slowdowns {
  double computing = 1;
  double sending = 1;
};

/// One step of all devices, in seconds. The backward part computes gradients; a bucket is sent when
/// its last one is ready and the one before is through (Li et al., PyTorch Distributed, 2020; Shi
/// and Chu, Performance Modeling and Evaluation of Distributed Deep Learning Frameworks on GPUs,
/// 2018, call it wait-free backpropagation); the update waits for all. While both go on, computing
/// and sending are as slow as their contention says. The bounds hold as long as that is no worse
/// than taking turns: 1 / computing + 1 / sending is 1 or more.
struct parallel_step {
  double seconds = 0;
  double communication = 0;  ///< of all buckets
  double exposed = 0;        ///< of these, when nothing is computed
  double slowed = 0;         ///< more than the backward part takes alone
  double no_overlap = 0;     ///< the step if all were sent after the backward part
  double full_overlap = 0;   ///< the step if gradients were ready when the backward part begins
  std::vector<sending> sent;
  double backward_end = 0;  ///< from the begin of the step
};

namespace detail {

/// Follows the backward part and what is sent meanwhile. Times are from its begin on.
class backward_part {
 public:
  backward_part(double work, const slowdowns& slower) : work_(work), slower_(slower) {}

  /// Sends what is ready when so much is computed; alone that takes so many seconds.
  sending send(double ready, double seconds) {
    // Whatever has slowed down computing so far is over when the channel is free.
    const double begin = std::max(free_, ready + slowed_);
    done_ = std::max(done_, ready);
    const double computed = std::min(work_ - done_, seconds * slower_.sending / slower_.computing);
    const double both = computed * slower_.computing;
    done_ += computed;
    slowed_ += both - computed;
    free_ = begin + both + std::max(0.0, seconds - both / slower_.sending);
    return {begin, free_};
  }
  /// Seconds by which computing took longer.
  [[nodiscard]] double slowed() const { return slowed_; }

 private:
  double work_;
  slowdowns slower_;
  double free_ = 0;  ///< when the channel is
  double done_ = 0;  ///< seconds of work, when the channel was last free
  double slowed_ = 0;
};

}  // namespace detail

/// One step of what a device computes, all of it `speed` times as long, when the all-reduce of so
/// many bytes takes `seconds_of(bytes)`; without buckets the step of a single device.
[[nodiscard]] inline parallel_step parallel_step_of(const compute_step& step,
                                                    const std::function<double(double)>& seconds_of,
                                                    const slowdowns& slower, double speed = 1) {
  const double forward = speed * step.seconds(model::step_part::forward);
  const double backward = speed * step.seconds(model::step_part::backward);
  const double alone = speed * step.whole.seconds;
  parallel_step result;
  detail::backward_part part(backward, slower);
  for (const timed_bucket& bucket : step.buckets) {
    const double seconds = seconds_of(static_cast<double>(bucket.what.bytes));
    const sending sent = part.send(speed * bucket.ready, seconds);
    result.sent.push_back({forward + sent.begin, forward + sent.end});
    result.communication += seconds;
  }
  result.slowed = part.slowed();
  result.backward_end = forward + backward + result.slowed;
  if (!result.sent.empty())
    result.exposed = std::max(0.0, result.sent.back().end - result.backward_end);
  result.seconds = alone + result.slowed + result.exposed;
  result.no_overlap = alone + result.communication;
  detail::backward_part at_once(backward, slower);
  const sending all = at_once.send(0, result.communication);
  result.full_overlap = alone - backward + std::max(all.end, backward + at_once.slowed());
  return result;
}

/// When each call of the step runs, from the begin of the step, in their order; while something is
/// sent `contention` times as long.
[[nodiscard]] inline std::vector<sending> computing(const compute_step& item,
                                                    const parallel_step& step, double contention) {
  std::vector<sending> all;
  double now = 0;
  std::size_t next = 0;  // that is not through yet
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
  for (const timed_call& call : item.calls) {
    if (call.part == model::step_part::update && !step.sent.empty()) {
      now = std::max(now, step.sent.back().end);
    }
    const double begin = now;
    compute(call.seconds);
    all.push_back({begin, now});
  }
  return all;
}

/// What is kept when there are more devices: each one's batch, or all their images together.
enum class scaling { weak, strong };

/// Where a factor of contention comes from.
enum class contention_source { assumed, given, measured };

}  // namespace layerbench::analysis

template <>
inline constexpr std::array<std::string_view, 2>
    layerbench::enum_names<layerbench::analysis::scaling>{"weak", "strong"};
template <>
inline constexpr std::array<std::string_view, 3>
    layerbench::enum_names<layerbench::analysis::contention_source>{"assumed", "given", "measured"};

namespace layerbench::analysis {

/// A contention, and how sure it is: a 95 % interval, of few rounds their extremes.
struct sure_slowdowns {
  slowdowns usual = {};
  slowdowns low = {};
  slowdowns high = {};
};

/// The same without what would make anything faster.
[[nodiscard]] inline sure_slowdowns slowing(sure_slowdowns of) {
  for (slowdowns* item : {&of.usual, &of.low, &of.high}) {
    item->computing = std::max(1.0, item->computing);
    item->sending = std::max(1.0, item->sending);
  }
  return of;
}

/// The contention with which a step is predicted.
struct used_contention {
  sure_slowdowns factors = {};
  contention_source from = contention_source::assumed;
  std::vector<std::string> files = {};  ///< that it was measured in
  bool sending_known = true;            ///< else it is taken to be as fast as ever
};

/// A training step on so many devices.
struct scaled_step {
  std::int64_t devices = 1;
  std::int64_t batch = 1;  ///< of each device
  used_contention contention = {};
  parallel_step step;
  double seconds_low = 0;  ///< of step.seconds: computing, network and contention at theirs
  double seconds_high = 0;
  bool extrapolated = false;  ///< the network was not measured with so many devices or bytes
  double efficiency = 1;      ///< images a second, of those that devices alone would have

  [[nodiscard]] double images_per_second() const {
    return static_cast<double>(devices * batch) / step.seconds;
  }
  /// Whether anything says how sure the time is.
  [[nodiscard]] bool is_interval() const { return seconds_low < seconds_high; }
};

/// The step on n devices, each of which computes `each` for a batch of its own. `alone` is the
/// throughput in images/s of a single device, to which that of all is compared. One device sends
/// nothing: its step is the plain prediction. Bounds are those of computing, of the network and of
/// the contention at once, on the side of each. Throws usage_error where the network cannot hold so
/// many.
[[nodiscard]] inline scaled_step scale(const compute_step& item, std::int64_t batch,
                                       std::int64_t devices, const network& joined,
                                       const used_contention& contention, double alone) {
  require_room(joined, devices);
  const used_contention used = devices == 1 ? used_contention{} : contention;
  const auto step = [&](double collective_time::* bound, const slowdowns& slower, double speed) {
    const auto seconds_of = [&](double bytes) {
      return allreduce_time(joined, bytes, devices).*bound;
    };
    return parallel_step_of(item, seconds_of, slower, speed);
  };
  const double seconds = item.whole.seconds;
  const auto& [usual, low, high] = used.factors;
  scaled_step result{devices, batch, used, step(&collective_time::seconds, usual, 1)};
  result.seconds_low = step(&collective_time::low, low, item.whole.low() / seconds).seconds;
  result.seconds_high = step(&collective_time::high, high, item.whole.high() / seconds).seconds;
  result.extrapolated = std::ranges::any_of(item.buckets, [&](const timed_bucket& bucket) {
    return extrapolates(joined, static_cast<double>(bucket.what.bytes), devices);
  });
  result.efficiency = result.images_per_second() / (static_cast<double>(devices) * alone);
  return result;
}

}  // namespace layerbench::analysis
