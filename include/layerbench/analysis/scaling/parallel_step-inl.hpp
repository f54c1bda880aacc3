// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

#include <layerbench/analysis/scaling/parallel_step.hpp>
#include <layerbench/base/compiled.hpp>

namespace layerbench::analysis {

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

LAYERBENCH_INLINE parallel_step parallel_step_of(const compute_step& step,
                                                 const std::function<double(double)>& seconds_of,
                                                 const slowdowns& slower, double factor) {
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

LAYERBENCH_INLINE std::vector<time_span> call_spans(const compute_step& computed,
                                                    const parallel_step& step, double contention) {
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

LAYERBENCH_INLINE slowdown_interval at_least_one(slowdown_interval of) {
  for (slowdowns* factors : {&of.usual, &of.low, &of.high}) {
    factors->computing = std::max(1.0, factors->computing);
    factors->sending = std::max(1.0, factors->sending);
  }
  return of;
}

LAYERBENCH_INLINE scaled_step scale(const compute_step& computed, std::int64_t batch,
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
