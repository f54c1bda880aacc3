// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include <layerbench/base/stats.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/run/clock.hpp>
#include <layerbench/run/fixture.hpp>
#include <layerbench/run/progress.hpp>
#include <layerbench/run/sampler.hpp>

namespace layerbench::run {

/// Turns SIGINT and SIGTERM into a question, for as long as it lives. A second signal kills.
class interrupt_guard {
 public:
  interrupt_guard() {
    seen() = 0;
    std::signal(SIGINT, &note);
    std::signal(SIGTERM, &note);
  }
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;
  ~interrupt_guard() {
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
  }
  [[nodiscard]] static bool interrupted() { return seen() != 0; }

 private:
  static volatile std::sig_atomic_t& seen() {
    static volatile std::sig_atomic_t value = 0;
    return value;
  }
  static void note(int signal) {
    seen() = 1;
    std::signal(signal, SIG_DFL);
    constexpr std::string_view text = "\nlayerbench: stopping after this call (again: at once)\n";
    [[maybe_unused]] const ssize_t told = ::write(STDERR_FILENO, text.data(), text.size());
  }
};

struct schedule {
  preparation how;
  std::int64_t rounds = 5;
  double least_time = 0.2;  ///< seconds a case is measured, over all rounds
};

/// Measures cases in rounds: each round visits every case once, so that the machine's drift is
/// common to all of them. Rows measured before (of a resumed file) count as rounds done.
class scheduler {
 public:
  scheduler(std::vector<fixture*> cases, schedule plan,
            std::map<result::case_name, std::int64_t> footprint)
      : cases_(std::move(cases)), plan_(plan), footprint_(std::move(footprint)) {}

  /// Runs until all rounds are done or the user interrupts. `rows` is added to; `checkpoint` is
  /// called after each round, and every ten seconds. Returns whether it was interrupted.
  bool run(std::vector<result::measurement>& rows, const std::function<void()>& checkpoint) {
    const interrupt_guard guard;
    for (const result::measurement& row : rows) {
      std::int64_t& done = rounds_done_[row.name];
      done = std::max(done, row.round + 1);
    }
    std::int64_t to_do = 0;
    for (const fixture* each : cases_) {
      to_do += std::max<std::int64_t>(0, plan_.rounds - rounds_done_[each->name()]);
    }
    progress display(static_cast<std::size_t>(to_do));
    double work_done = 0;
    double saved = display.elapsed();
    for (std::int64_t round = 0; round < plan_.rounds; ++round) {
      for (std::size_t i = 0; i < cases_.size(); ++i) {
        fixture& what = *cases_[i];
        if (failed_.contains(what.name()) || rounds_done_[what.name()] > round) continue;
        display.step(what.name().text(), seconds_left(work_done, to_do, display.elapsed()));
        add(measure(what, round), rows);
        ++work_done;
        if (interrupt_guard::interrupted()) return true;
        if (i + 1 == cases_.size() || display.elapsed() - saved > seconds_between_checkpoints) {
          checkpoint();
          saved = display.elapsed();
        }
      }
    }
    return false;
  }

 private:
  /// Rounds cost about the same, but the first, which also prepares and verifies.
  [[nodiscard]] double seconds_left(double done, std::int64_t to_do, double elapsed) const {
    if (done < static_cast<double>(cases_.size()) / 4) return -1;
    return elapsed / done * (static_cast<double>(to_do) - done);
  }

  result::measurement measure(fixture& what, std::int64_t round) {
    result::measurement row;
    row.name = what.name();
    row.round = round;
    row.label = {what.op().key(), "", "", what.inserted()};  // hot has no signature
    try {
      what.prepare(plan_.how);
      row.label.algorithm = what.algorithm();
      time(what, row);
      keep_or_release(what);
    } catch (const std::bad_alloc&) {
      row.error = "not enough memory for its operands";
    } catch (const std::exception& slip) {  // whatever it is, the other rows are worth having
      row.error = slip.what();
    }
    if (!row.error.empty()) {
      if (kept_.erase(&what) > 0) kept_bytes_ -= what.bytes();
      what.release();
      failed_.insert(what.name());
    }
    return row;
  }

  /// A row that failed has no timing: what earlier rounds said of it goes. A row that was
  /// interrupted before its first sample says nothing.
  static void add(result::measurement row, std::vector<result::measurement>& rows) {
    if (!row.error.empty()) {
      std::erase_if(rows, [&](const result::measurement& r) { return r.name == row.name; });
    } else if (row.calls == 0) {
      return;
    }
    rows.push_back(std::move(row));
  }

  void time(fixture& what, result::measurement& row) {
    const clock used = clock_for(what.threads());
    const double cost = cost_of(used);
    const double wall_before = now(clock::wall);
    const double cpu_before = now(clock::process_cpu);
    const long switches_before = involuntary_switches();
    samples taken = sample(
        [&] { return now(used); }, [&](std::int64_t n) { what.call(n); },
        {.clock_cost = cost, .least_time = plan_.least_time / static_cast<double>(plan_.rounds)},
        &interrupt_guard::interrupted);
    if (taken.seconds.empty()) return;
    const double wall = now(clock::wall) - wall_before;
    const double cpu = now(clock::process_cpu) - cpu_before;
    std::ranges::sort(taken.seconds);
    row.seconds = stats::quantile(taken.seconds, 0.5);
    row.calls = taken.calls;
    // Threads that wait spin, so an undisturbed round keeps all of them busy all the time. Work
    // that the library does on fewer threads does not; then nobody was pushed off a processor
    // either.
    const double share = cpu / wall / what.threads();
    const bool pushed = what.threads() == 1 || involuntary_switches() > switches_before;
    row.cpu_seconds =
        used == clock::thread_cpu ? row.seconds : row.seconds * share * what.threads();
    fill_counters(what, taken.seconds, row);
    row.counters["clock_s"] = cost;
    row.counters["disturbed"] = share < undisturbed_share && pushed ? 1 : 0;
  }

  /// How often something else took a processor from one of this process's threads.
  [[nodiscard]] static long involuntary_switches() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return used.ru_nivcsw;
  }

  void fill_counters(const fixture& what, const std::vector<double>& sorted,
                     result::measurement& row) const {
    const op::work work = what.op().work(what.request().pass);
    const auto operands = what.op().operands(what.request().pass, what.request().type);
    auto& counters = row.counters;
    if (const auto range = stats::median_interval(sorted)) {
      counters["low_s"] = range->low;
      counters["high_s"] = range->high;
    }
    counters["min_s"] = sorted.front();
    counters["p95_s"] = stats::quantile(sorted, 0.95);
    counters["samples"] = static_cast<double>(sorted.size());
    counters["cpu_s"] = row.cpu_seconds;
    counters["count"] = static_cast<double>(what.count());
    counters["flops"] = static_cast<double>(work.flops);
    counters["flops_exact"] = static_cast<double>(work.flops_exact);
    counters["bytes"] = static_cast<double>(op::least_bytes(operands));
    counters["ring_bytes"] = 0;  // hot: the same operands every call
    counters["touched_bytes"] = 0;
    counters["footprint_bytes"] = static_cast<double>(footprint_.at(what.name().owner));
    counters["workspace_bytes"] = static_cast<double>(what.workspace_bytes());
    counters["verified"] = 1;  // prepare() throws otherwise
  }

  /// Prepared cases stay in memory while that holds half of what is available; the rest are made
  /// anew each round.
  void keep_or_release(fixture& what) {
    if (kept_.contains(&what)) return;
    if (kept_bytes_ + what.bytes() > memory_budget()) {
      what.release();
      return;
    }
    kept_.insert(&what);
    kept_bytes_ += what.bytes();
  }

  [[nodiscard]] static std::size_t memory_budget() {
    static const std::size_t half_of_free = static_cast<std::size_t>(::sysconf(_SC_AVPHYS_PAGES)) *
                                            static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / 2;
    return half_of_free;
  }

  double cost_of(clock which) {
    const auto [known, is_new] = clock_costs_.try_emplace(which, 0);
    if (is_new) known->second = clock_cost(which);
    return known->second;
  }

  static constexpr double undisturbed_share = 0.9;
  static constexpr double seconds_between_checkpoints = 10;

  std::vector<fixture*> cases_;
  schedule plan_;
  std::map<result::case_name, std::int64_t> footprint_;
  std::map<result::row_name, std::int64_t> rounds_done_;
  std::set<result::row_name> failed_;
  std::set<const fixture*> kept_;
  std::size_t kept_bytes_ = 0;
  std::map<clock, double> clock_costs_;
};

}  // namespace layerbench::run
