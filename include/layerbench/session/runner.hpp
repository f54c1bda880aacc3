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
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/progress.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/machine/watch.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/session/budget_watch.hpp>
#include <layerbench/session/measurer.hpp>
#include <layerbench/session/stopping_criterion.hpp>
#include <layerbench/session/work_queue.hpp>

namespace layerbench::run {

/// Measures rows and chains in rounds. Each round has one pass of every row of a group, in a new
/// random order, so that drift of the machine affects all of them alike.
class runner {
 public:
  /// `read_processors` reads what the host of a virtual machine took, `make_probe` makes frequency
  /// probes, `now` is the clock of the budget.
  runner(const std::vector<benchmark_row*>& rows, const std::vector<chain_spec>& chains,
         const stopping_limits& limits, const preparation_options& preparation = {},
         processor_reader read_processors = processor_times_now,
         probe_maker make_probe = frequency_probe_of, std::function<double()> now = stopwatch::now)
      : now_(std::move(now)),
        queue_(make_work_queue(rows, chains)),
        criterion_(limits),
        budget_(criterion_, queue_, now_),
        preparation_(preparation),
        measurer_(std::move(make_probe)),
        read_processors_(std::move(read_processors)) {}
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
      const std::function<void()>& before_round = [] {}) {
    const interrupt_guard guard;
    results_ = &results;
    checkpoint_ = &checkpoint;
    before_round_ = &before_round;
    next_round_ = restore(results, queue_);
    for (configuration_group& group : queue_) {
      for (configuration_state& configuration : group) criterion_.mark_done(configuration);
    }
    display_ = std::make_unique<progress>(criterion_.passes_left(queue_));
    rest_seconds_ = budget_.elapsed();  // another start plans, too
    try {
      refuse_too_large();
      for (configuration_group& group : queue_) {
        run_group(group);
        if (interrupt_guard::interrupted()) break;
      }
      if (budget_.exists()) return_to_left_out();
    } catch (const device_lost& e) {
      lost_ = e.what();
    }
    report_left_out();
    display_.reset();
    return interrupt_guard::interrupted();
  }

  /// Why the run ended early because no call on a device succeeds any more; empty if none did that.
  [[nodiscard]] const std::string& lost() const { return lost_; }

  /// See measurer.
  [[nodiscard]] std::optional<double> slow_share() const { return measurer_.slow_share(); }
  [[nodiscard]] std::optional<double> core_latency() const { return measurer_.core_latency(); }

  /// What the budget was too short for, in words; empty if it sufficed.
  [[nodiscard]] std::string shortfall() const {
    if (!budget_.exists() || (left_out_ == 0 && cut_ == 0)) return {};
    std::string text = fmt::format("--budget={:g}: ", criterion_.limits().budget);
    if (left_out_ > 0) {
      text += fmt::format("{} of the rows and chains left out", left_out_);
    }
    if (cut_ > 0) {
      text += fmt::format("{}{} case{} fewer rounds than {}", left_out_ > 0 ? ", " : "", cut_,
                          cut_ == 1 ? " has" : "s have", criterion_.limits().min_rounds);
    }
    return text;
  }
  /// Seconds that another start takes for this; nothing while no similar row has told.
  [[nodiscard]] std::optional<double> rest_seconds() const {
    return is_estimated_ ? std::optional(rest_seconds_) : std::nullopt;
  }

  /// Why each configuration ended, in words.
  [[nodiscard]] const std::vector<std::pair<result::configuration_name, std::string>>& endings()
      const {
    return endings_;
  }

 private:
  static constexpr double seconds_between_checkpoints = 10;
  static constexpr int most_chain_passes = 3;  ///< per round

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

  /// A row, or the configuration's chain if `row` is null.
  struct scheduled_pass {
    configuration_state* configuration;
    row_state* row;
  };

  void prepare(configuration_group& group) {
    for (configuration_state& configuration : group) {
      if (configuration.done) continue;  // cut by a budget, beside one with rows that it left out
      if (budget_.exists()) {
        prepare_what_fits(configuration);
        continue;
      }
      for (row_state& row : configuration.rows) prepare(row);
      prepare_chain(configuration);
    }
  }

  void prepare(row_state& row) {
    if (row.done || interrupt_guard::interrupted()) return;
    display_->note("preparing " + row.benchmark->name().text());
    attempt(row, [&] { prepare(*row.benchmark); });
    row.share = row.benchmark->share();
  }

  void prepare_chain(configuration_state& configuration) {
    if (!configuration.end_to_end || configuration.done) return;
    display_->note("preparing the chain of " + configuration.name.text());
    attempt_chain(configuration, [&] {
      configuration.end_to_end->chain = configuration.end_to_end->model.make();
    });
    if (!configuration.end_to_end) criterion_.mark_done(configuration);
  }

  /// Prepares what the budget has time for, the most important rows first, such that each fits with
  /// a first pass of all that is prepared. The others are left out.
  void prepare_what_fits(configuration_state& configuration) {
    constexpr double margin = 1.5;  // estimates are rough
    for (row_state& row : configuration.rows) {
      if (row.done || interrupt_guard::interrupted()) continue;
      attempt(row, [&] { row.setup_cost = setup_cost_of(row.benchmark->spec()); });
    }
    std::vector<scheduled_pass> wanted = by_importance(configuration);
    double passes = 0;  // seconds of the first round
    while (!interrupt_guard::interrupted()) {
      auto next = std::ranges::find_if(wanted, [&](const scheduled_pass& one) {
        return budget_.fits(configuration, margin * (passes + expected_seconds(one)));
      });
      if (next == wanted.end()) next = cheapest_that_may_fit(wanted, passes);
      if (next == wanted.end()) break;
      const scheduled_pass chosen = *next;
      wanted.erase(next);
      const double start = now_();
      const double first =
          chosen.row != nullptr ? try_out(*chosen.row) : try_out_chain(configuration);
      const double taken = now_() - start;
      // The other rows were verified with these.
      const bool tells = chosen.row != nullptr && adds_up(chosen) && first > 0;
      if (tells) budget_.learn(*chosen.row, taken + first);
      configuration.prepared += taken;
      passes += first;
    }
    leave_out(configuration, /*prepared_ones=*/false);
  }

  /// The estimated cost of the calls before each call of a row that produce its sources, in the
  /// state of the model. Plans the model's step.
  [[nodiscard]] static double setup_cost_of(const row_spec& what) {
    const op_in_context context = what.make_context ? what.make_context() : op_in_context{};
    double sum = 0;
    if (context.cache != cache_state::model) return sum;
    for (const operand_history& history : context.operands) {
      if (!history.producer) continue;
      sum += estimated_cost(*history.producer, history.producer_pass, what.request.type);
    }
    return sum;
  }

  /// The row of the least cost, if it fits on a fast machine after `passes` seconds, and no row of
  /// such a cost has told how fast this machine is.
  [[nodiscard]] std::vector<scheduled_pass>::iterator cheapest_that_may_fit(
      std::vector<scheduled_pass>& wanted, double passes) {
    const auto cost = [](const scheduled_pass& one) {
      return one.row == nullptr ? HUGE_VAL : budget_watch::cost_of(*one.row);
    };
    const auto cheapest = std::ranges::min_element(wanted, {}, cost);
    const bool may_fit =
        cheapest != wanted.end() && cheapest->row != nullptr && budget_.guesses(*cheapest->row) &&
        budget_.fits(*cheapest->configuration, passes + budget_.hoped_seconds(*cheapest->row));
    return may_fit ? cheapest : wanted.end();
  }

  /// Prepares a row and calls it. Returns what its first pass takes, by these calls; 0 if it
  /// failed.
  double try_out(row_state& row) {
    prepare(row);
    if (row.done || !row.benchmark->prepared()) return 0;
    attempt(row, [&] { row.first_call_seconds = seconds_of_first_calls(*row.benchmark); });
    if (row.done) return 0;
    row.pass_seconds = criterion_.first_pass_seconds(row.first_call_seconds);
    return row.pass_seconds;
  }

  /// Seconds of the shortest of the first three calls, of fewer where these are long: a call of
  /// some microseconds may start threads or wait for another program, and a step has hundreds of
  /// them.
  double seconds_of_first_calls(benchmark_row& row) {
    constexpr int calls = 3;
    constexpr double long_time = 0.5;  // seconds
    row.activate();
    double shortest = std::numeric_limits<double>::infinity();
    double sum = 0;
    for (int i = 0; i < calls && sum < long_time; ++i) {
      const double start = now_();
      row.set_up(1);
      row.call(1);
      row.device().synchronize();
      const double taken = now_() - start;
      shortest = std::min(shortest, taken);
      sum += taken;
    }
    return shortest;
  }

  /// Prepares a chain. Returns what its passes take in the first round, by the calls of the rows; 0
  /// if it failed.
  double try_out_chain(configuration_state& configuration) {
    const double step = expected_step_seconds(configuration);
    prepare_chain(configuration);
    if (!configuration.end_to_end) return 0;
    configuration.end_to_end->step_seconds = step;
    configuration.chain_pass_seconds = criterion_.first_chain_pass_seconds(step);
    return chain_passes(configuration) * configuration.chain_pass_seconds;
  }

  /// Seconds of a step by the calls of its rows so far.
  [[nodiscard]] static double expected_step_seconds(const configuration_state& configuration) {
    const bool some_in_model = std::ranges::any_of(configuration.rows, &row_state::in_model);
    double sum = 0;
    for (const row_state& row : configuration.rows) {
      if (row.in_model == some_in_model) sum += row.step_seconds(row.call_seconds());
    }
    return sum;
  }

  /// Seconds that it takes to prepare this and to measure it once.
  [[nodiscard]] double expected_seconds(const scheduled_pass& one) const {
    if (one.row != nullptr) return budget_.expected_seconds(*one.row);
    // A chain has the plans of the rows, and fewer copies of their operands.
    constexpr double of_rows = 0.5;
    return of_rows * one.configuration->prepared +
           most_chain_passes *
               criterion_.first_chain_pass_seconds(expected_step_seconds(*one.configuration));
  }

  /// Whether predictions add up the row: those in the state of the model, if there are any.
  [[nodiscard]] static bool adds_up(const scheduled_pass& of) {
    return of.row->in_model == std::ranges::any_of(of.configuration->rows, &row_state::in_model);
  }

  /// Orders rows without a timing before all others; among them those that predictions add up, and
  /// those with a larger share of the step.
  [[nodiscard]] static bool more_important(const scheduled_pass& a, const scheduled_pass& b) {
    const auto rank = [](const scheduled_pass& one) {
      if (one.row->timed()) return std::tuple(true, true, 0.0);
      return std::tuple(false, !adds_up(one), -one.row->step_seconds(one.row->cost));
    };
    return rank(a) < rank(b);
  }

  /// What is left to measure of a configuration: first the rows that predictions add up, then the
  /// chain, then the other rows.
  [[nodiscard]] std::vector<scheduled_pass> by_importance(
      configuration_state& configuration) const {
    std::vector<scheduled_pass> order;
    for (row_state& row : configuration.rows) {
      if (!row.done) order.push_back({&configuration, &row});
    }
    std::ranges::stable_sort(order, more_important);
    if (configuration.end_to_end && criterion_.lacks_chain(configuration)) {
      const auto predicts = [](const scheduled_pass& one) { return adds_up(one); };
      order.insert(std::ranges::find_if_not(order, predicts), {&configuration, nullptr});
    }
    return order;
  }

  /// Leaves out the rows without a timing, and a chain without a round; of those that are prepared
  /// only with `prepared_ones`.
  void leave_out(configuration_state& configuration, bool prepared_ones) {
    if (!budget_.exists() || interrupt_guard::interrupted()) return;
    for (row_state& row : configuration.rows) {
      if (row.done || row.timed() || (row.benchmark->prepared() && !prepared_ones)) continue;
      row.left_out = row.done = true;
    }
    const end_to_end_run* whole = configuration.end_to_end.get();
    if (whole == nullptr || configuration.chain_rounds > 0) return;
    if (whole->chain && !prepared_ones) return;
    configuration.end_to_end->chain.reset();
    configuration.left_out_chain = std::move(configuration.end_to_end);
  }

  /// Measures what was left out, if other configurations took less than their share. Each
  /// group has all that is left.
  void return_to_left_out() {
    for (configuration_group& group : queue_) {
      if (interrupt_guard::interrupted()) return;
      bool lacks_some = false;
      for (configuration_state& configuration : group) {
        const bool lacks_rows = std::ranges::any_of(configuration.rows, &row_state::left_out);
        if (!lacks_rows && !configuration.left_out_chain) continue;
        if (configuration.left_out_chain) {
          configuration.end_to_end = std::move(configuration.left_out_chain);
          for (row_state& row : configuration.rows) row.done = row.done && !row.timed();
        }
        for (row_state& row : configuration.rows) {
          if (std::exchange(row.left_out, false)) row.done = false;
        }
        criterion_.mark_done(configuration);
        lacks_some = true;
      }
      if (lacks_some) run_group(group);
    }
  }

  /// Adds what was left out to the results, as failures. Sums up what the budget was too short for.
  void report_left_out() {
    if (!budget_.exists() || interrupt_guard::interrupted() || !lost_.empty()) return;
    const std::int64_t least = criterion_.limits().min_rounds;
    for (configuration_group& group : queue_) {
      for (configuration_state& configuration : group) {
        const auto lacks = [&](const row_state& row) {
          return row.timed() && std::ssize(row.rounds) < least;
        };
        if (std::ranges::any_of(configuration.rows, lacks)) ++cut_;
        const double missing = missing_seconds(configuration);
        if (missing > 0) rest_seconds_ += configuration.prepared + missing;
        for (const row_state& row : configuration.rows) {
          if (!row.left_out) continue;
          results_->rows.push_back(failed_row(*row.benchmark, left_out_text()));
          ++left_out_;
          is_estimated_ = is_estimated_ && !budget_.guesses(row);
        }
        if (!configuration.left_out_chain) continue;
        result::measurement& chain = results_->chains.emplace_back();
        chain.name = result::row_name::chain(configuration.name);
        chain.error = left_out_text();
        ++left_out_;
      }
    }
  }

  [[nodiscard]] std::string left_out_text() const {
    return fmt::format("{}--budget={:g} was spent", result::left_out_begin,
                       criterion_.limits().budget);
  }

  /// Seconds that the missing rounds of a configuration take, by what was measured of it.
  [[nodiscard]] double missing_seconds(const configuration_state& configuration) const {
    const std::int64_t least = criterion_.limits().min_rounds;
    double sum = 0;
    double passes = 0;  // a round of the rows that were prepared
    for (const row_state& row : configuration.rows) passes += row.pass_seconds;
    const double share = passes > 0 ? passes / (passes + configuration.prepared) : 0.5;
    for (const row_state& row : configuration.rows) {
      if (!row.timed() && !row.left_out) continue;
      const double unprepared = row.pass_seconds > 0 ? 0 : budget_.expected_seconds(row);
      const double pass = std::max(row.pass_seconds, share * unprepared);
      const std::int64_t rounds = std::max<std::int64_t>(0, least - std::ssize(row.rounds));
      sum += unprepared + static_cast<double>(rounds) * pass;
    }
    if (configuration.left_out_chain || configuration.end_to_end) {
      const double pass =
          std::max(configuration.chain_pass_seconds,
                   criterion_.first_chain_pass_seconds(expected_step_seconds(configuration)));
      const std::int64_t rounds = std::max<std::int64_t>(0, least - configuration.chain_rounds);
      sum += static_cast<double>(rounds * most_chain_passes) * pass;
    }
    return sum;
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
    row.rounds.clear();
    std::erase_if(results_->rows,
                  [&](const auto& other) { return other.name == benchmark.name(); });
    results_->rows.push_back(failed_row(benchmark, reason));
    if (!lost.empty()) throw device_lost(lost);
  }

  /// A row that has no timing for that reason.
  [[nodiscard]] static result::measurement failed_row(const benchmark_row& benchmark,
                                                      const std::string& reason) {
    result::measurement failed;
    failed.name = benchmark.name();
    failed.label = {benchmark.spec().op.key(), "", benchmark.spec().signature,
                    benchmark.spec().inserted};
    failed.error = reason;
    return failed;
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
    const double turn = now_();
    (*before_round_)();
    budget_.leave_out(now_() - turn);
    display_->end_in(budget_.rest());
    const auto before = read_processors_();
    const bool complete = run_passes(order, round);
    if (host_disturbed(before, read_processors_())) mark_disturbed(round);
    if (!complete) return false;
    for (configuration_state& configuration : group) {
      time_layers(configuration);
      leave_out(configuration, /*prepared_ones=*/true);
    }
    for (configuration_state& configuration : group) {
      budget_.update();
      std::string ending =
          criterion_.end_round(configuration, queue_, round_seconds(configuration));
      if (!ending.empty()) endings_.emplace_back(configuration.name, std::move(ending));
    }
    checkpoint_after(0);
    return true;
  }

  /// Seconds that the next round of a configuration takes, by the latest one.
  [[nodiscard]] double round_seconds(const configuration_state& configuration) const {
    double sum = chain_passes(configuration) * configuration.chain_pass_seconds;
    for (const row_state& row : configuration.rows) {
      if (!row.done) sum += row.pass_seconds;
    }
    return sum;
  }

  /// Shuffles the configurations, and the rows within each: what adds up to a step is measured
  /// close together. With a budget rows without a timing come first, the most important ones before
  /// the others. Passes of the chain stand at equal distances between the rows.
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
        if (!row.done && row.benchmark->prepared()) order.push_back({configuration, &row});
      }
      std::shuffle(order.begin() + first, order.end(), random);
      if (budget_.exists()) std::stable_sort(order.begin() + first, order.end(), more_important);
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
      if (!budget_.fits(*pass.configuration, pass_seconds(pass))) continue;
      const double start = now_();
      if (pass.row != nullptr) {
        measure_row(*pass.configuration, *pass.row, round);
      } else {
        measure_chain(*pass.configuration, round, chains[pass.configuration]);
      }
      const double taken = now_() - start;
      pass.configuration->spent += taken;
      pass_seconds(pass) = taken;
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

  /// Seconds that a pass takes, as far as known.
  [[nodiscard]] static double& pass_seconds(const scheduled_pass& of) {
    return of.row != nullptr ? of.row->pass_seconds : of.configuration->chain_pass_seconds;
  }

  void measure_row(const configuration_state& configuration, row_state& row, std::int64_t round) {
    display_->step(row.benchmark->name().text());
    result::measurement timed;
    attempt(row, [&] {
      pass_limits limits = limits_of(configuration);
      limits.min_time = criterion_.pass_time(configuration, row);
      limits.step_seconds = configuration.step_seconds();
      limits.call_seconds = row.call_seconds();
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
    if (!budget_.fits(configuration, configuration.chain_pass_seconds)) return;
    display_->note("clocks in the chain of " + configuration.name.text());
    const double start = now_();
    attempt_chain(configuration, [&] {
      measurer_.time_layers(*whole.chain, *whole.clocks, limits_of(configuration));
    });
    if (!configuration.end_to_end) return;
    std::vector<result::planned>& step = results_->manifest[configuration.name];
    for (std::size_t i = 0; i < step.size(); ++i) {
      step[i].chain_seconds = whole.clocks->seconds(whole.model.primitives.at(i));
    }
    configuration.spent += now_() - start;
  }

  /// The limits of a pass of the configuration's chain.
  [[nodiscard]] pass_limits limits_of(const configuration_state& configuration) const {
    const bool over_budget = criterion_.over_budget(configuration, queue_);
    return {.min_time = criterion_.chain_pass_time(),
            .over_budget = over_budget,
            .repeats = !over_budget || !budget_.exists(),
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

  std::function<double()> now_;
  work_queue queue_;
  stopping_criterion criterion_;
  budget_watch budget_;
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
  std::int64_t left_out_ = 0;  ///< rows and chains; this and the next two: see shortfall()
  std::int64_t cut_ = 0;       ///< configurations with fewer rounds than the least number
  double rest_seconds_ = 0;    ///< this and the next: see rest_seconds()
  bool is_estimated_ = true;
  /// When the latest one ended. The first follows the first pass: a run may end at any time.
  double checkpoint_time_ = -std::numeric_limits<double>::infinity();
  double checkpoint_seconds_ = 0;  ///< how long it took
};

}  // namespace layerbench::run
