// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/progress.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/machine/watch.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/session/measurer.hpp>
#include <layerbench/session/stopping_criterion.hpp>
#include <layerbench/session/work_queue.hpp>

namespace layerbench::run {

/// Measures rows and chains in rounds. Each round has one pass of every row of a group, in a new
/// random order, so that drift of the machine affects all of them alike.
class runner {
 public:
  /// `read_processors` reads what the host of a virtual machine took, `make_probe` makes frequency
  /// probes.
  runner(const std::vector<benchmark_row*>& rows, const std::vector<chain_spec>& chains,
         const stopping_limits& limits, const preparation_options& preparation = {},
         processor_reader read_processors = processor_times_now,
         probe_maker make_probe = frequency_probe_of)
      : queue_(make_work_queue(rows, chains)),
        criterion_(limits),
        preparation_(preparation),
        measurer_(std::move(make_probe)),
        read_processors_(std::move(read_processors)) {}
  runner(const runner&) = delete;
  runner& operator=(const runner&) = delete;
  ~runner() = default;

  /// Measures until all is done or the user interrupts; returns whether the user did. Adds to
  /// `results`, whose rows count as rounds of an earlier run. Calls `checkpoint` after rounds, and
  /// within long ones, so often that it takes at most a twentieth of the time. Calls `before_round`
  /// before each round.
  bool run(
      result::results& results, const std::function<void()>& checkpoint,
      const std::function<void()>& before_round = [] {}) {
    const interrupt_guard guard;
    results_ = &results;
    checkpoint_ = &checkpoint;
    before_round_ = &before_round;
    started_ = stopwatch::now();
    next_round_ = restore(results, queue_);
    for (configuration_group& group : queue_) {
      for (configuration_state& configuration : group) criterion_.mark_done(configuration);
    }
    display_ = std::make_unique<progress>(criterion_.passes_left(queue_));
    try {
      refuse_too_large();
      for (configuration_group& group : queue_) {
        run_group(group);
        if (interrupt_guard::interrupted()) break;
      }
    } catch (const device_lost& e) {
      lost_ = e.what();
    }
    display_.reset();
    return interrupt_guard::interrupted();
  }

  /// Why the run ended early because no call on a device succeeds any more; empty if none did that.
  [[nodiscard]] const std::string& lost() const { return lost_; }

  /// See measurer.
  [[nodiscard]] std::optional<double> slow_share() const { return measurer_.slow_share(); }
  [[nodiscard]] std::optional<double> core_latency() const { return measurer_.core_latency(); }

  /// Why each configuration ended, in words.
  [[nodiscard]] const std::vector<std::pair<result::configuration_name, std::string>>& endings()
      const {
    return endings_;
  }

 private:
  static constexpr double seconds_between_checkpoints = 10;

  void run_group(configuration_group& group) {
    if (std::ranges::all_of(group, &configuration_state::done)) return;
    prepare(group);
    for (std::int64_t round = next_round_; !interrupt_guard::interrupted(); ++round) {
      if (!run_round(group, round)) break;
    }
    for (configuration_state& configuration : group) {
      if (configuration.end_to_end) configuration.end_to_end->chain.reset();
      for (row_state& row : configuration.rows) row.benchmark->release();
    }
  }

  void prepare(configuration_group& group) {
    for (configuration_state& configuration : group) {
      for (row_state& row : configuration.rows) {
        if (row.done || interrupt_guard::interrupted()) continue;
        display_->note("preparing " + row.benchmark->name().text());
        attempt(row, [&] { prepare(*row.benchmark); });
        row.share = row.benchmark->share();
      }
      if (!configuration.end_to_end || configuration.done) continue;
      display_->note("preparing the chain of " + configuration.name.text());
      attempt_chain(configuration, [&] {
        configuration.end_to_end->chain = configuration.end_to_end->model.make();
      });
      if (!configuration.end_to_end) criterion_.mark_done(configuration);
    }
  }

  /// Prepares a row; with the library's next plan where the results of one are wrong.
  void prepare(benchmark_row& benchmark) const {
    constexpr int most_plans = 3;  // after the library's own choice
    for (int plans = 0;; ++plans) {
      try {
        return benchmark.prepare(preparation_);
      } catch (const wrong_result& e) {
        if (!benchmark.reject_plan(e.what()) || plans == most_plans) throw;
      }
    }
  }

  /// Leaves out configurations whose chains need more memory than there is, before anything is
  /// allocated.
  void refuse_too_large() {
    for (configuration_group& group : queue_) {
      for (configuration_state& configuration : group) {
        if (!configuration.end_to_end || configuration.done) continue;
        const chain_spec& model = configuration.end_to_end->model;
        if (!model.bytes || interrupt_guard::interrupted()) continue;
        display_->note("planning the chain of " + configuration.name.text());
        attempt_chain(configuration, [&] {
          configuration.rows.front().benchmark->device().require_memory(model.bytes());
        });
      }
    }
  }

  /// Does `work` for a row. A row that fails is reported, and is done without a timing.
  template <class Work>
  void attempt(row_state& row, Work&& work) {
    benchmark_row& benchmark = *row.benchmark;
    result::measurement failed;
    std::string lost;
    try {
      work();
      return;
    } catch (const not_enough_memory& e) {
      failed.error =
          fmt::format("{}; use a smaller --batch, or leave it out (--benchmark_filter)", e.what());
    } catch (const std::bad_alloc&) {
      failed.error = "not enough memory for its operands";
    } catch (const device_lost& e) {
      lost = failed.error = e.what();
    } catch (const std::exception& e) {  // no error of one row may cost the timings of the others
      failed.error = e.what();
      std::string name = benchmark.name().text();
      if (benchmark.is_suspect()) name += " by " + benchmark.algorithm();
      lost = loss_of(benchmark.device(), name, failed.error);
      if (!lost.empty() && benchmark.is_suspect()) {
        static_cast<void>(benchmark.reject_plan(failed.error));
      }
    }
    row.done = true;
    row.rounds.clear();
    failed.name = benchmark.name();
    failed.label = {benchmark.spec().op.key(), "", benchmark.spec().signature,
                    benchmark.spec().inserted};
    std::erase_if(results_->rows, [&](const auto& other) { return other.name == failed.name; });
    results_->rows.push_back(std::move(failed));
    if (!lost.empty()) throw device_lost(lost);
  }

  /// What a user must know if no call on the device succeeds after `error`; empty if calls do.
  [[nodiscard]] static std::string loss_of(compute_device& device, const std::string& name,
                                           const std::string& error) {
    const auto lasting = device.lasting_error();
    if (!lasting) return {};
    return fmt::format("{}: {}; no call on the device succeeds any more ({})", name, error,
                       *lasting);
  }

  /// Does `work` for a configuration's chain. A chain that fails is reported and dropped. If it
  /// needs too much memory the rows are left out, too: they would predict a step that cannot run
  /// here.
  template <class Work>
  void attempt_chain(configuration_state& configuration, Work&& work) {
    result::measurement failed;
    std::string lost;
    try {
      work();
      return;
    } catch (const device_lost& e) {
      lost = failed.error = e.what();
    } catch (const not_enough_memory& e) {
      failed.error = fmt::format("{}; use a smaller --batch, or do without --chain", e.what());
      for (row_state& row : configuration.rows) row.done = true;
      configuration.done = true;
    } catch (const std::exception& e) {
      failed.error = e.what();
      lost = loss_of(configuration.rows.front().benchmark->device(),
                     "the chain of " + configuration.name.text(), failed.error);
    }
    configuration.end_to_end.reset();
    failed.name = result::row_name::chain(configuration.name);
    results_->chains.push_back(std::move(failed));
    if (!lost.empty()) throw device_lost(lost);
  }

  /// Runs all passes of a round. Returns false if nothing was left to measure, or on an interrupt.
  bool run_round(configuration_group& group, std::int64_t round) {
    const std::vector<scheduled_pass> order = order_of(group, round);
    if (order.empty()) return false;
    next_round_ = round + 1;
    (*before_round_)();
    const auto before = read_processors_();
    const double start = stopwatch::now();
    const bool complete = run_passes(order, round);
    if (host_disturbed(before, read_processors_())) mark_disturbed(round);
    if (!complete) return false;
    for (configuration_state& configuration : group) time_layers(configuration);
    warn_of_budget(order.size(), stopwatch::now() - start);
    for (configuration_state& configuration : group) {
      std::string ending = criterion_.end_round(configuration, queue_);
      if (!ending.empty()) endings_.emplace_back(configuration.name, std::move(ending));
    }
    checkpoint_after(0);
    return true;
  }

  /// Says after the first round, of `passes` in `seconds`, whether the least number of rounds takes
  /// longer than the budget. All passes are taken to be alike.
  void warn_of_budget(std::size_t passes, double seconds) {
    if (std::exchange(budget_checked_, true)) return;
    const double left =
        static_cast<double>(criterion_.passes_left(queue_)) * seconds / static_cast<double>(passes);
    const double least = stopwatch::now() - started_ + left;
    const stopping_limits& limits = criterion_.limits();
    if (least <= limits.budget) return;
    display_->say(
        fmt::format("--budget={:g}: the least number of rounds ({}) takes about {}; fewer models, "
                    "rows or --benchmark_repetitions take less",
                    limits.budget, limits.min_rounds, units::duration(least)));
  }

  /// One pass of a round: of a row, or of the configuration's chain if `row` is null.
  struct scheduled_pass {
    configuration_state* configuration;
    row_state* row;
  };

  /// Shuffles the configurations, and the rows within each: what adds up to a step is measured
  /// close together. Passes of the chain stand at equal distances between the rows.
  [[nodiscard]] std::vector<scheduled_pass> order_of(configuration_group& group,
                                                     std::int64_t round) const {
    std::mt19937_64 random(preparation_.seed + static_cast<std::uint64_t>(round));
    std::vector<configuration_state*> configurations;
    for (configuration_state& configuration : group) {
      if (configuration.open()) configurations.push_back(&configuration);
    }
    std::ranges::shuffle(configurations, random);
    std::vector<scheduled_pass> order;
    for (configuration_state* configuration : configurations) {
      const auto first = static_cast<std::ptrdiff_t>(order.size());
      for (row_state& row : configuration->rows) {
        if (!row.done) order.push_back({configuration, &row});
      }
      std::shuffle(order.begin() + first, order.end(), random);
      const auto rows = static_cast<std::ptrdiff_t>(order.size()) - first;
      const int passes = chain_passes(*configuration);
      for (int i = passes; i-- > 0;) {
        order.insert(order.begin() + first + rows * i / std::max(1, passes - 1),
                     {configuration, nullptr});
      }
    }
    return order;
  }

  /// Passes of a chain per round: at both ends of the round, and in its middle if steps are short.
  [[nodiscard]] int chain_passes(const configuration_state& configuration) const {
    constexpr double long_step = 0.5;  // seconds
    if (!configuration.end_to_end || !configuration.end_to_end->chain) return 0;
    if (criterion_.limits().single_call) return 1;
    return configuration.end_to_end->step_seconds > long_step ? 2 : 3;
  }

  /// Returns false on an interrupt; the round then has no chains.
  bool run_passes(const std::vector<scheduled_pass>& order, std::int64_t round) {
    std::map<configuration_state*, std::vector<result::measurement>> chains;
    for (const scheduled_pass& pass : order) {
      const double start = stopwatch::now();
      if (pass.row != nullptr) {
        measure_row(*pass.configuration, *pass.row, round);
      } else {
        measure_chain(*pass.configuration, round, chains[pass.configuration]);
      }
      pass.configuration->spent += stopwatch::now() - start;
      if (interrupt_guard::interrupted()) return false;
      checkpoint_after(seconds_between_checkpoints);
    }
    for (auto& [configuration, passes] : chains) {
      if (passes.empty()) continue;
      results_->chains.push_back(merged_passes(std::move(passes)));
      ++configuration->chain_rounds;
    }
    return true;
  }

  void measure_row(const configuration_state& configuration, row_state& row, std::int64_t round) {
    display_->step(row.benchmark->name().text());
    result::measurement timed;
    attempt(row, [&] {
      pass_limits limits = limits_of(configuration);
      limits.min_time = criterion_.pass_time(configuration, row);
      limits.step_seconds = configuration.step_seconds();
      limits.call_seconds = row.latest_seconds();
      timed = measurer_.time_row(*row.benchmark, limits);
    });
    if (timed.calls == 0) return;
    timed.round = round;
    row.rounds[round] = timed.mean_seconds();
    results_->rows.push_back(std::move(timed));
  }

  void measure_chain(configuration_state& configuration, std::int64_t round,
                     std::vector<result::measurement>& passes) {
    if (!configuration.end_to_end) return;  // an earlier pass of this round failed
    display_->note("chain of " + configuration.name.text());
    result::measurement timed;
    attempt_chain(configuration, [&] {
      timed = measurer_.time_chain(*configuration.end_to_end->chain, limits_of(configuration));
    });
    if (!configuration.end_to_end) passes.clear();
    if (timed.calls == 0) return;
    timed.name = result::row_name::chain(configuration.name);
    timed.round = round;
    configuration.end_to_end->step_seconds = timed.seconds;
    passes.push_back(std::move(timed));
  }

  /// Times the layers inside the chain, if that is wanted, and adds them to the manifest.
  void time_layers(configuration_state& configuration) {
    if (configuration.done || !configuration.end_to_end) return;
    end_to_end_run& whole = *configuration.end_to_end;
    if (!whole.chain || !whole.clocks) return;
    display_->note("clocks in the chain of " + configuration.name.text());
    const double start = stopwatch::now();
    attempt_chain(configuration, [&] {
      measurer_.time_layers(*whole.chain, *whole.clocks, limits_of(configuration));
    });
    if (!configuration.end_to_end) return;
    std::vector<result::planned>& step = results_->manifest[configuration.name];
    for (std::size_t i = 0; i < step.size(); ++i) {
      step[i].chain_seconds = whole.clocks->seconds(whole.model.primitives.at(i));
    }
    configuration.spent += stopwatch::now() - start;
  }

  /// The limits of a pass of the configuration's chain.
  [[nodiscard]] pass_limits limits_of(const configuration_state& configuration) const {
    const bool over_budget = criterion_.over_budget(configuration, queue_);
    return {.min_time = criterion_.chain_pass_time(),
            .over_budget = over_budget,
            .steady_clocks = criterion_.limits().steady_clocks && !over_budget,
            .single_call = criterion_.limits().single_call};
  }

  /// Marks all timings of the round: the readings do not tell which pass the host disturbed.
  void mark_disturbed(std::int64_t round) {
    for (auto* rows : {&results_->rows, &results_->chains}) {
      for (result::measurement& row : *rows) {
        if (row.round == round && row.error.empty()) row.counters["disturbed"] = 1;
      }
    }
  }

  /// Makes a checkpoint of rows if the latest one ended at least `seconds` ago, and at least twenty
  /// times as long ago as it took.
  void checkpoint_after(double seconds) {
    if (results_->rows.empty()) return;
    const double begin = stopwatch::now();
    if (begin - checkpoint_time_ < std::max(seconds, 20 * checkpoint_seconds_)) return;
    (*checkpoint_)();
    checkpoint_time_ = stopwatch::now();
    checkpoint_seconds_ = checkpoint_time_ - begin;
  }

  work_queue queue_;
  stopping_criterion criterion_;
  preparation_options preparation_;
  measurer measurer_;
  processor_reader read_processors_;
  result::results* results_ = nullptr;
  const std::function<void()>* checkpoint_ = nullptr;
  const std::function<void()>* before_round_ = nullptr;
  std::unique_ptr<progress> display_;
  std::vector<std::pair<result::configuration_name, std::string>> endings_;
  std::string lost_;  ///< see lost()
  std::int64_t next_round_ = 0;
  double started_ = 0;           ///< when run() began
  bool budget_checked_ = false;  ///< see warn_of_budget()
  /// When the latest one ended. The first follows the first pass: a run may end at any time.
  double checkpoint_time_ = -std::numeric_limits<double>::infinity();
  double checkpoint_seconds_ = 0;  ///< how long it took
};

}  // namespace layerbench::run
