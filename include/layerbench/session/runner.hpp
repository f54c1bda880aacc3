// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/progress.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/machine/machine_watch.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/session/budget_watch.hpp>
#include <layerbench/session/energy_measurer.hpp>
#include <layerbench/session/measurer.hpp>
#include <layerbench/session/relative_cost.hpp>
#include <layerbench/session/stopping_criterion.hpp>
#include <layerbench/session/streams.hpp>
#include <layerbench/session/work_queue.hpp>

namespace layerbench::run {

/// Measures rows and chains in rounds. Each round has one pass of every row of a group, in a new
/// random order, so that drift of the machine affects all of them alike.
class runner {
 public:
  /// `read_processors` reads what the host of a virtual machine took, `make_probe` makes frequency
  /// probes, `now` is the clock of the budget. `energy`: what energy is measured. `streams`: those
  /// beside the measured one; null where no case has any.
  runner(const std::vector<benchmark_row*>& rows, const std::vector<chain_spec>& chains,
         const stopping_limits& limits, const preparation_options& preparation = {},
         processor_reader read_processors = processor_times_now,
         probe_maker make_probe = frequency_probe_of, std::function<double()> now = stopwatch::now,
         const energy_request& energy = {}, stream_group* streams = nullptr);
  runner(const runner&) = delete;
  runner& operator=(const runner&) = delete;
  ~runner() = default;

  /// Measures until all is done or the user interrupts; returns whether the user did. Adds to
  /// `results`, whose rows count as rounds of an earlier run. What does not fit into the budget is
  /// left out: it is in `results` as a failure. Calls `checkpoint` after rounds, and within long
  /// ones, so often that it takes at most a twentieth of the time. Calls `before_round` before each
  /// round.
  bool run(
      result::results& results, const std::function<void()>& checkpoint,
      const std::function<void()>& before_round = [] {});

  /// Why the run ended early because no call on a device succeeds any more; empty if none did that.
  [[nodiscard]] const std::string& lost() const { return lost_; }

  /// See measurer.
  [[nodiscard]] std::optional<double> slow_share() const { return measurer_.slow_share(); }
  [[nodiscard]] std::optional<double> core_latency() const { return measurer_.core_latency(); }

  /// Why energies are missing; empty if none are.
  [[nodiscard]] const std::string& energy_failure() const { return energy_failure_; }

  /// What the budget was too short for, in words; empty if it sufficed.
  [[nodiscard]] std::string shortfall() const;
  /// Seconds that another start takes for this; nothing while no similar row has told.
  [[nodiscard]] std::optional<double> rest_seconds() const;

  /// Why each case ended, in words.
  [[nodiscard]] const std::vector<std::pair<result::case_name, std::string>>& endings() const;

 private:
  static constexpr double seconds_between_checkpoints = 10;
  static constexpr double margin = 1.5;        ///< of estimated seconds, which are rough
  static constexpr int most_chain_passes = 3;  ///< per round
  static constexpr std::size_t most_windows = stats::min_sample_size;  ///< of energy, per row

  void run_group(case_group& group);

  /// A row, or the case's chain if `row` is null.
  struct scheduled_pass {
    case_state* model_case;
    row_state* row;
  };

  void prepare(case_group& group);

  void prepare(row_state& row);

  void prepare_chain(case_state& model_case);

  /// Prepares what the budget has time for, the most important rows first, such that each fits with
  /// a first pass of all that is prepared. The others are left out. The chain waits until all rows
  /// that predictions add up are prepared, other rows wait for the chain, unless this returns to
  /// what was left out.
  void prepare_what_fits(case_state& model_case);

  /// The estimated cost of the calls before each call of a row that produce its sources, in the
  /// state of the model. Plans the model's step.
  [[nodiscard]] static double setup_cost_of(const row_spec& what);

  /// The row of the least cost, if it fits on a fast machine after `passes` seconds, and no row of
  /// such a cost has told how fast this machine is.
  [[nodiscard]] std::span<scheduled_pass>::iterator cheapest_that_may_fit(
      std::span<scheduled_pass> wanted, double passes);

  /// Prepares a row and calls it. Returns what its first pass takes, by these calls; 0 if it
  /// failed.
  double try_out(row_state& row);

  /// Seconds of the shortest of the first three calls, of fewer where these are long: a call of
  /// some microseconds may start threads or wait for another program, and a step has hundreds of
  /// them.
  double seconds_of_first_calls(benchmark_row& row);

  /// Prepares a chain. Returns what its passes take in the first round, by the calls of the rows; 0
  /// if it failed.
  double try_out_chain(case_state& model_case);

  /// Seconds of a step by the calls of its rows so far.
  [[nodiscard]] static double expected_step_seconds(const case_state& model_case);

  /// Seconds that it takes to prepare this and to measure it once.
  [[nodiscard]] double expected_seconds(const scheduled_pass& one) const;

  /// Whether predictions add up the row: those in the state of the model, if there are any.
  [[nodiscard]] static bool adds_up(const scheduled_pass& of);

  /// 0: a row that predictions add up, 1: the chain, 2: another row. The least is prepared first.
  [[nodiscard]] static int kind_of(const scheduled_pass& of);

  /// Seconds to prepare and measure once the rows, of all cases, that predictions add up and that
  /// have no timing but may still fit. They come before further rounds of other rows.
  [[nodiscard]] double uncovered_seconds() const;

  /// Orders rows without a timing before all others; among them those that predictions add up, and
  /// those with a larger share of the step.
  [[nodiscard]] static bool more_important(const scheduled_pass& a, const scheduled_pass& b);

  /// What is left to measure of a case: first the rows that predictions add up, then the
  /// chain, then the other rows.
  [[nodiscard]] std::vector<scheduled_pass> by_importance(case_state& model_case) const;

  /// Leaves out the rows without a timing, and a chain without a round; of those that are prepared
  /// only with `prepared_ones`.
  void leave_out(case_state& model_case, bool prepared_ones);

  /// Whether a row has some rounds, but fewer than the least number.
  [[nodiscard]] bool lacks_rounds(const row_state& row) const;

  /// Measures what was left out, if other cases took less than their share. Each
  /// group has all that is left.
  void return_to_left_out();

  /// Adds what was left out to the results, as failures. Sums up what the budget was too short for.
  void report_left_out();

  [[nodiscard]] std::string left_out_text() const;

  /// Seconds that the missing rounds of a case take, by what was measured of it.
  [[nodiscard]] double missing_seconds(const case_state& model_case) const;

  /// Prepares a row; with the library's next plan where the results of one are wrong.
  void prepare(benchmark_row& benchmark) const;

  /// Leaves out cases whose chains need more memory than there is, before anything is
  /// allocated.
  void refuse_too_large();

  /// Does `work` for a row. A row that fails is reported, and is done without a timing.
  template <class Work>
  void attempt(row_state& row, Work&& work) {
    benchmark_row& benchmark = *row.benchmark;
    std::string reason;
    std::string lost;
    try {
      work();
      return;
    } catch (const not_enough_memory& e) {
      reason =
          fmt::format("{}; use a smaller --batch, or leave it out (--benchmark_filter)", e.what());
    } catch (const std::bad_alloc&) {
      reason = "not enough memory for its operands";
    } catch (const device_lost& e) {
      lost = reason = e.what();
    } catch (const std::exception& e) {  // no error of one row may cost the timings of the others
      reason = e.what();
      std::string name = benchmark.name().text();
      if (benchmark.is_suspect()) name += " by " + benchmark.algorithm();
      lost = loss_of(benchmark.device(), name, reason);
      if (!lost.empty() && benchmark.is_suspect()) {
        static_cast<void>(benchmark.reject_plan(reason));
      }
    }
    row.done = true;
    row.timing = {};
    std::erase_if(results_->rows,
                  [&](const auto& other) { return other.name == benchmark.name(); });
    results_->rows.push_back(failed_row(benchmark, reason));
    if (!lost.empty()) throw device_lost(lost);
  }

  /// A row that has no timing for that reason.
  [[nodiscard]] static result::measurement failed_row(const benchmark_row& benchmark,
                                                      const std::string& reason);

  /// What a user must know if no call on the device succeeds after `error`; empty if calls do.
  [[nodiscard]] static std::string loss_of(compute_device& device, const std::string& name,
                                           const std::string& error);

  /// Does `work` for a case's chain. A chain that fails is reported and dropped. If it
  /// needs too much memory the rows are left out, too: they would predict a step that cannot run
  /// here.
  template <class Work>
  void attempt_chain(case_state& model_case, Work&& work) {
    result::measurement failed;
    std::string lost;
    try {
      work();
      return;
    } catch (const device_lost& e) {
      lost = failed.error = e.what();
    } catch (const not_enough_memory& e) {
      failed.error = fmt::format("{}; use a smaller --batch, or do without {}", e.what(),
                                 energy_ ? "--energy" : "--chain");
      for (row_state& row : model_case.rows) row.done = true;
      model_case.done = true;
    } catch (const std::exception& e) {
      failed.error = e.what();
      lost = loss_of(model_case.rows.front().benchmark->device(),
                     "the chain of " + model_case.name.text(), failed.error);
    }
    model_case.end_to_end.reset();
    failed.name = result::row_name::chain(model_case.name);
    results_->chains.push_back(std::move(failed));
    if (!lost.empty()) throw device_lost(lost);
  }

  /// Runs all passes of a round. Returns false if nothing was left to measure, or on an interrupt:
  /// the round then has no chains.
  bool run_round(case_group& group, std::int64_t round);
  /// Has the other streams of the case run, and no others. Watches how long this one waits, once in
  /// a round. Returns false where that fails, which is then in the results.
  [[nodiscard]] bool run_beside(const scheduled_pass& pass, std::int64_t round);
  /// Whether the other streams that are to run have not ended.
  [[nodiscard]] bool all_run() const;
  /// Adds what was seen of streams to the last row of each case in the round.
  void report_streams(const case_group& group, std::int64_t round);
  void begin_round(std::int64_t round);
  void end_round(case_group& group);

  /// Seconds that the next round of a case takes, by the latest one.
  [[nodiscard]] double round_seconds(const case_state& model_case) const;

  /// Shuffles the cases, and the rows within each: what adds up to a step is measured close
  /// together. With a budget rows without a timing come first, the most important ones before the
  /// others. Passes of the chain stand at equal distances between the rows.
  [[nodiscard]] std::vector<scheduled_pass> order_of(case_group& group, std::int64_t round) const;

  /// Passes of a chain per round: at both ends of the round, and in its middle if steps are short.
  [[nodiscard]] int chain_passes(const case_state& model_case) const;

  /// Seconds that a pass takes, as far as known.
  [[nodiscard]] static double& pass_seconds(const scheduled_pass& of);

  void measure_row(case_state& model_case, row_state& row, std::int64_t round);

  /// Notes how the calls of the row's latest pass varied, if streams ran beside.
  void watch_calls(case_state& model_case, const row_state& row);

  void measure_chain(case_state& model_case, std::int64_t round,
                     std::vector<result::measurement>& passes);

  /// Times the layers inside the chain, if that is wanted, and adds them to the manifest.
  void time_layers(case_state& model_case);

  /// Measures the idle power, if energy is wanted of what is left to measure. Throws energy_error.
  void measure_idle();

  /// Windows of energy that are missing, for the progress.
  [[nodiscard]] std::size_t windows_left();

  /// Measures the energy of a step of the chain, and of the rows if that is wanted, once in each of
  /// the first rounds, behind all timings of the round. With a budget the least number of rounds
  /// goes first.
  void measure_energy(case_state& model_case);

  /// Adds a window to the timing of this round among `all`, until the row has enough of them. A
  /// call, with what precedes it, takes `call_seconds` at most.
  template <class Add>
  void add_energy(case_state& model_case, std::vector<result::measurement>& all,
                  const result::row_name& name, double call_seconds, Add&& add);

  /// The limits of a pass of the case's chain.
  [[nodiscard]] pass_limits limits_of(const case_state& model_case) const;

  /// Marks all timings of the round: the readings do not tell which pass the host disturbed.
  void mark_disturbed(case_group& group, std::int64_t round);

  /// Makes a checkpoint of rows if the latest one ended at least `seconds` ago, and at least twenty
  /// times as long ago as it took.
  void checkpoint_after(double seconds);

  std::function<double()> now_;
  work_queue queue_;
  stopping_criterion criterion_;
  budget_watch budget_;
  preparation_options preparation_;
  measurer measurer_;
  processor_reader read_processors_;
  std::optional<energy_measurer> energy_;  ///< nothing once its counter has failed
  bool energy_of_layers_ = false;
  std::string energy_failure_;  ///< see energy_failure()
  stream_group* streams_ = nullptr;
  result::results* results_ = nullptr;
  const std::function<void()>* checkpoint_ = nullptr;
  const std::function<void()>* before_round_ = nullptr;
  std::unique_ptr<progress> display_;
  std::vector<std::pair<result::case_name, std::string>> endings_;
  std::string lost_;  ///< see lost()
  std::int64_t next_round_ = 0;
  bool returns_ = false;       ///< to what was left out, see return_to_left_out()
  std::int64_t left_out_ = 0;  ///< rows and chains; this and the next two: see shortfall()
  std::int64_t cut_ = 0;       ///< cases with fewer rounds than the least number
  double rest_seconds_ = 0;    ///< this and the next: see rest_seconds()
  bool is_estimated_ = true;
  /// When the latest one ended. The first follows the first pass: a run may end at any time.
  double checkpoint_time_ = -std::numeric_limits<double>::infinity();
  double checkpoint_seconds_ = 0;  ///< how long it took
};

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/session/runner-inl.hpp>
#endif
