// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <layerbench/machine/energy_counter.hpp>
#include <layerbench/machine/machine_watch.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/session/benchmark_row.hpp>
#include <layerbench/session/chain.hpp>
#include <layerbench/timing/clock.hpp>
#include <layerbench/timing/interrupt.hpp>

namespace layerbench::run {

/// Whose energy a run measures, and by which counter.
struct energy_request {
  std::shared_ptr<energy_counter> counter = {};  ///< null: no energy is measured
  bool of_layers = false;                        ///< of rows, too, not only of steps
};

/// Measures the energy of calls in windows, in which they are repeated. What comes before each call
/// is repeated alone as often, and its energy subtracted.
class energy_measurer {
 public:
  /// `now` is the clock.
  explicit energy_measurer(std::shared_ptr<energy_counter> counter,
                           std::function<double()> now = stopwatch::now)
      : counter_(std::move(counter)), now_(std::move(now)) {}

  [[nodiscard]] const energy_source& source() const { return counter_->source(); }
  /// Seconds of repeated calls that a window has at least: long in relation to a reading, and to
  /// the time that a reading stays the same.
  [[nodiscard]] double window_seconds() const {
    constexpr double least = 2;
    constexpr double readings = 20;
    constexpr double updates = 40;
    return std::max({least, readings * counter_->reading_seconds(), updates * update_seconds_});
  }
  [[nodiscard]] double idle_seconds() const {
    constexpr double least = 3;
    return std::max(least, window_seconds());
  }

  /// Measures how often readings change, then the idle power, while `wait(seconds)` does nothing.
  /// Throws energy_error.
  template <class Wait>
  void measure_idle(Wait&& wait) {
    measure_update(wait);
    const interval idle = count([&] { wait(idle_seconds()); });
    idle_watts_ = idle.joules / (idle.seconds + idle.outside);
  }
  /// The same, where waiting ends with an interrupt.
  void measure_idle() {
    measure_idle([&](double seconds) {
      const double end = now_() + seconds;
      while (now_() < end && !interrupt_guard::interrupted()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
  }
  /// Watts.
  [[nodiscard]] double idle_watts() const { return idle_watts_; }

  /// Adds the energy of a call to `row` (docs/formats.md). `call(true)` does what comes before
  /// calls, and makes as many as it returns; `call(false)` does all but these calls. Nothing is
  /// added after an interrupt. Throws energy_error, and what `call` throws.
  template <class Call>
  void add_window(result::measurement& row, Call&& call) {
    static_cast<void>(call(true));  // the first one is unlike the others
    const double length = window_seconds();
    std::int64_t repetitions = 0;
    std::int64_t calls = 0;
    const interval with_calls = count([&] {
      const double start = now_();
      do {
        calls += call(true);
        ++repetitions;
      } while (now_() - start < length && !interrupt_guard::interrupted());
    });
    const interval without = count([&] {
      for (std::int64_t i = 0; i < repetitions && !interrupt_guard::interrupted(); ++i) {
        static_cast<void>(call(false));
      }
    });
    if (interrupt_guard::interrupted()) return;
    const auto per_call = [&](double sum) { return sum / static_cast<double>(calls); };
    const double seconds = per_call(with_calls.seconds - without.seconds);
    const double gross = per_call(own_joules(with_calls) - own_joules(without));
    row.counters["energy_gross_j"] = gross;
    row.counters["energy_net_j"] = gross - idle_watts_ * seconds;
    row.counters["idle_w"] = idle_watts_;
    row.counters["energy_window_s"] = with_calls.seconds;
    row.counters["energy_calls"] = static_cast<double>(calls);
  }

  /// Adds the energy of a call of a prepared row. Its rings turn as fast as calls can, since a
  /// pause between calls would be as long without them.
  void add_row(result::measurement& to, benchmark_row& row) {
    constexpr double some_time = 0.01;  // seconds of a batch
    constexpr std::int64_t most_calls = 64;
    row.activate();
    row.set_step_seconds(0);
    row.warm_shared_cache(/*warm_up_follows=*/true);
    const std::int64_t batch =
        std::clamp<std::int64_t>(std::llround(some_time / to.mean_seconds()), 1,
                                 std::min(most_calls, row.calls().most_calls()));
    add_window(to, [&](bool calls) {
      row.set_up(batch);
      if (calls) {
        row.call(batch);
        row.device().synchronize();
      } else {
        row.skip(batch);
      }
      return batch;
    });
  }

  /// Adds the energy of a step of a chain.
  void add_chain(result::measurement& to, chain& model) {
    model.activate();
    add_window(to, [&](bool calls) {
      model.set_up();
      if (calls) {
        model.run(0, model.layers());
        model.device().synchronize();
      }
      return std::int64_t{1};
    });
  }

 private:
  /// Counted work.
  struct interval {
    double joules;
    double seconds;  ///< of the work
    double outside;  ///< seconds beside the work that were counted, too
  };

  /// Watches readings until they have changed twice. Watts may stay the same while a machine idles.
  template <class Wait>
  void measure_update(Wait&& wait) {
    constexpr double pause = 0.02;
    constexpr double most = 10;  // seconds
    const double begin = now_();
    double value = counter_->reading();
    double first_seen = begin;  // this value
    double last_seen = begin;
    int changes = 0;
    while (!interrupt_guard::interrupted() && now_() - begin < most) {
      wait(pause);
      const double next = counter_->reading();
      const double time = now_();
      if (next != value) {
        if (++changes == 2) {
          update_seconds_ = last_seen - first_seen;
          return;
        }
        value = next;
        first_seen = time;
      }
      last_seen = time;
    }
    if (!counter_->reads_joules() || interrupt_guard::interrupted()) return;
    throw energy_error(
        fmt::format("{}: its joules changed less than twice in {} s, too seldom to measure by; "
                    "name a meter of watts (--meter-unit=W)",
                    source().counter, most));
  }

  template <class Work>
  [[nodiscard]] interval count(Work&& work) {
    const double begin = now_();
    counter_->start();
    const double work_begin = now_();
    try {
      work();
    } catch (...) {
      end_counting();
      throw;
    }
    const double work_end = now_();
    const double joules = counter_->stop();
    const double end = now_();
    return {joules, work_end - work_begin,
            counter_->counted_share() * (work_begin - begin + end - work_end)};
  }

  /// Ends what start() began, such as a thread that reads a meter, where there is nothing to count.
  void end_counting() {
    try {
      static_cast<void>(counter_->stop());
    } catch (const energy_error&) {
      return;  // the error of the work says more
    }
  }

  /// The energy of the work alone: the machine idles while the counter is read.
  [[nodiscard]] double own_joules(const interval& of) const {
    return of.joules - idle_watts_ * of.outside;
  }

  std::shared_ptr<energy_counter> counter_;
  std::function<double()> now_;
  double update_seconds_ = 0;  ///< that a reading stays the same, as far as could be told
  double idle_watts_ = 0;
};

}  // namespace layerbench::run
