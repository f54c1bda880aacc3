// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/result/measurement.hpp>
#include <layerbench/run/agenda.hpp>
#include <layerbench/run/machine_watch.hpp>
#include <layerbench/run/progress.hpp>
#include <layerbench/run/sampler.hpp>
#include <layerbench/run/speed_probe.hpp>
#include <layerbench/run/step_sampler.hpp>
#include <layerbench/run/visit.hpp>

namespace layerbench::run {

/// Measures rows in rounds: each round visits every row of a group once, in an order of its own, so
/// that the machine's drift is common to all of them. Rows measured before (of a resumed file)
/// count as rounds done.
class scheduler {
 public:
  /// `processors` says what became of the processors' time, `speed` how fast they are.
  scheduler(const std::vector<fixture*>& rows, const std::vector<chain_plan>& chains, schedule plan,
            processor_reader processors = processor_times_now, probe_maker speed = speed_probe_of)
      : agenda_(rows, chains, plan), processors_(std::move(processors)), speed_(std::move(speed)) {}

  /// Runs until all is done or the user interrupts. `into` is added to; `checkpoint` is called
  /// after each round, and every ten seconds. Returns whether it was interrupted.
  bool run(result::results& into, const std::function<void()>& checkpoint) {
    const interrupt_guard guard;
    into_ = &into;
    checkpoint_ = &checkpoint;
    next_round_ = agenda_.take_over(into.rows);
    display_ = std::make_unique<progress>(agenda_.visits_to_do());
    for (case_group& each : agenda_.groups()) {
      run_group(each);
      if (interrupt_guard::interrupted()) break;
    }
    display_.reset();
    return interrupt_guard::interrupted();
  }

  /// Share of the time in which the processors were slower than usual; nothing before one looked.
  [[nodiscard]] std::optional<double> slow_share() const {
    std::optional<double> most;
    for (const auto& [here, speed] : probes_) {
      most = std::max(most, std::optional(speed->slow_share()));
    }
    return most;
  }

  /// What ended each case, in words.
  [[nodiscard]] const std::vector<std::pair<result::case_name, std::string>>& endings() const {
    return endings_;
  }

 private:
  static constexpr double seconds_between_checkpoints = 10;
  static constexpr int most_retries = 2;
  static constexpr int chain_visits = 3;  ///< a round

  void run_group(case_group& members) {
    if (std::ranges::all_of(members.cases, &measured_case::done)) return;
    prepare(members);
    for (std::int64_t round = next_round_; !interrupt_guard::interrupted(); ++round) {
      if (!run_round(members, round)) break;
    }
    for (measured_case& each : members.cases) {
      each.whole.reset();
      for (measured_row& row : each.rows) row.what->release();
    }
  }

  void prepare(case_group& members) {
    for (measured_case& each : members.cases) {
      for (measured_row& row : each.rows) {
        if (row.done || interrupt_guard::interrupted()) continue;
        display_->note("preparing " + row.what->name().text());
        row.done = !attempt(*row.what, [&] { row.what->prepare(agenda_.plan().how); });
      }
      if (each.truth.make && !each.done) attempt_chain(each);
    }
  }

  /// Runs `work` for a row; a row that fails is reported and has no timing.
  template <class Work>
  bool attempt(const fixture& what, Work&& work) {
    result::measurement failed;
    try {
      work();
      return true;
    } catch (const std::bad_alloc&) {
      failed.error = "not enough memory for its operands";
    } catch (const std::exception& slip) {  // whatever it is, the other rows are worth having
      failed.error = slip.what();
    }
    failed.name = what.name();
    failed.label = {what.what().op.key(), "", what.what().signature, what.what().inserted};
    std::erase_if(into_->rows, [&](const auto& row) { return row.name == failed.name; });
    into_->rows.push_back(std::move(failed));
    return false;
  }

  void attempt_chain(measured_case& each) {
    display_->note("preparing the chain of " + each.owner.text());
    try {
      each.whole = each.truth.make();
    } catch (const std::exception& slip) {
      result::measurement failed;
      failed.name = result::row_name::chain(each.owner);
      failed.error = slip.what();
      into_->chains.push_back(std::move(failed));
    }
  }

  /// One visit of a round: a row, or the chain of a case where `row` is null.
  struct visit_plan {
    measured_case* owner;
    measured_row* row;
  };

  /// Rows in random order, chains at equal distances between them.
  [[nodiscard]] std::vector<visit_plan> order_of(case_group& members, std::int64_t round) const {
    std::vector<visit_plan> order;
    std::vector<visit_plan> chains;
    for (measured_case& each : members.cases) {
      if (each.done) continue;
      for (measured_row& row : each.rows) {
        if (!row.done) order.push_back({&each, &row});
      }
      if (each.whole) chains.push_back({&each, nullptr});
    }
    std::mt19937_64 random(agenda_.plan().how.seed + static_cast<std::uint64_t>(round));
    std::ranges::shuffle(order, random);
    const std::size_t rows = order.size();
    for (int i = chain_visits; i-- > 0 && !order.empty();) {
      const std::size_t before = rows * static_cast<std::size_t>(i) / (chain_visits - 1);
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(before), chains.begin(),
                   chains.end());
    }
    return order;
  }

  /// Visits all that is not done. False when nothing was left to visit.
  bool run_round(case_group& members, std::int64_t round) {
    const std::vector<visit_plan> order = order_of(members, round);
    if (order.empty()) return false;
    next_round_ = round + 1;
    const auto before = processors_();
    const bool whole = visit_all(order, round);
    if (host_disturbed(before, processors_())) mark_disturbed(round);
    if (!whole) return false;
    for (measured_case& each : members.cases) clock_layers(each);
    for (measured_case& each : members.cases) {
      std::string ending = agenda_.close_round(each);
      if (!ending.empty()) endings_.emplace_back(each.owner, std::move(ending));
    }
    save();
    return true;
  }

  /// False when it was interrupted; then the round has no chains.
  bool visit_all(const std::vector<visit_plan>& order, std::int64_t round) {
    std::map<const measured_case*, std::vector<result::measurement>> chains;
    for (const visit_plan& each : order) {
      const double start = stopwatch::now();
      if (each.row != nullptr) {
        visit_row(*each.owner, *each.row, round);
      } else {
        visit_chain(*each.owner, round, chains[each.owner]);
      }
      each.owner->spent += stopwatch::now() - start;
      if (interrupt_guard::interrupted()) return false;
      if (stopwatch::now() - saved_ > seconds_between_checkpoints) save();
    }
    for (auto& [owner, visits] : chains) add_chain(visits);
    return true;
  }

  /// Marks all that was timed in the round: it is not known which visits the host disturbed.
  void mark_disturbed(std::int64_t round) {
    for (auto* rows : {&into_->rows, &into_->chains}) {
      for (result::measurement& row : *rows) {
        if (row.round == round && row.error.empty()) row.counters["disturbed"] = 1;
      }
    }
  }

  void save() {
    (*checkpoint_)();
    saved_ = stopwatch::now();
  }

  [[nodiscard]] static sampling sampled_for(double least_time) {
    return {.least_time = least_time, .most_time = 4 * least_time};
  }

  void visit_row(const measured_case& owner, measured_row& row, std::int64_t round) {
    fixture& what = *row.what;
    display_->step(what.name().text());
    result::measurement best;
    const bool fine = attempt(what, [&] {
      what.activate();
      rotation& calls = what.calls();
      stopwatch& watch = watch_of(what.threads());
      sampling how = sampled_for(agenda_.least_time(owner, row));
      how.most_calls = calls.most_calls();
      best = best_visit(what.threads(), [&] {
        return sample(
            watch, [&](std::int64_t n) { calls.ready(n); }, [&](std::int64_t n) { calls.call(n); },
            how, &interrupt_guard::interrupted, speed_of(what.here(), owner));
      });
    });
    if (!fine) row.done = true;
    if (best.calls == 0) return;
    best.name = what.name();
    best.round = round;
    best.label = {what.what().op.key(), what.plan().algorithm(), what.what().signature,
                  what.what().inserted};
    what.describe(best);
    row.rounds[round] = best.mean_seconds();
    into_->rows.push_back(std::move(best));
  }

  /// Visits again what was disturbed; the best visit is what counts.
  template <class Take>
  result::measurement best_visit(int threads, Take&& take) {
    result::measurement best;
    std::optional<visit_quality> known;
    for (int retry = 0; retry <= most_retries && !interrupt_guard::interrupted(); ++retry) {
      result::measurement row;
      const visit_quality quality = visit(threads, watch_of(threads), take, row);
      if (!known || quality.better_than(*known)) {
        known = quality;
        best = std::move(row);
      }
      best.counters["retries"] = retry;
      if (!quality.pushed_off) break;
    }
    return best;
  }

  void visit_chain(const measured_case& owner, std::int64_t round,
                   std::vector<result::measurement>& visits) {
    display_->note("chain of " + owner.owner.text());
    chain& whole = *owner.whole;
    whole.activate();
    stopwatch& watch = watch_of(whole.threads());
    result::measurement row = best_visit(whole.threads(), [&] {
      step_sampler steps(whole, watch, speed_of(whole.here(), owner),
                         &interrupt_guard::interrupted);
      return steps.sample(sampled_for(agenda_.plan().least_time));
    });
    if (row.calls == 0) return;
    row.name = result::row_name::chain(owner.owner);
    row.round = round;
    row.counters["count"] = 1;
    row.counters["footprint_bytes"] = static_cast<double>(whole.bytes());
    visits.push_back(std::move(row));
  }

  /// Runs a round of the clocks inside the chain, where they are wanted.
  void clock_layers(measured_case& each) {
    if (!each.whole || !each.clocks || each.done) return;
    display_->note("clocks in the chain of " + each.owner.text());
    const double start = stopwatch::now();
    each.whole->activate();
    each.clocks->visit(*each.whole, speed_of(each.whole->here(), each),
                       sampled_for(agenda_.plan().least_time));
    std::vector<result::planned>& step = into_->manifest[each.owner];
    for (std::size_t i = 0; i < step.size(); ++i) {
      step[i].chain_seconds = each.clocks->seconds(each.truth.primitives.at(i));
    }
    each.spent += stopwatch::now() - start;
  }

  /// The visits of one round as one row: the median one of those that nothing disturbed, or of all
  /// where there is none. Visits that differ say that the machine changed within the round.
  void add_chain(std::vector<result::measurement>& visits) {
    if (visits.empty()) return;
    if (!std::ranges::all_of(visits, &result::measurement::disturbed)) {
      std::erase_if(visits, &result::measurement::disturbed);
    }
    std::ranges::sort(visits, {}, &result::measurement::mean_seconds);
    result::measurement row = visits[visits.size() / 2];
    constexpr double much = 0.1;
    const double apart = visits.back().mean_seconds() / visits.front().mean_seconds() - 1;
    row.counters["spread"] = apart;
    if (apart > much) row.counters["disturbed"] = 1;
    into_->chains.push_back(std::move(row));
  }

  stopwatch& watch_of(int threads) {
    const int kind = std::min(threads, 2);
    auto& known = watches_[kind];
    if (!known) known = std::make_unique<stopwatch>(threads);
    return *known;
  }

  /// For a visit of the case.
  speed_probe& speed_of(device& here, const measured_case& owner) {
    auto& known = probes_[&here];
    if (!known) known = speed_(here);
    known->hurry(agenda_.behind(owner));
    return *known;
  }

  agenda agenda_;
  processor_reader processors_;
  probe_maker speed_;
  result::results* into_ = nullptr;
  const std::function<void()>* checkpoint_ = nullptr;
  std::unique_ptr<progress> display_;
  std::map<int, std::unique_ptr<stopwatch>> watches_;
  std::map<const device*, std::unique_ptr<speed_probe>> probes_;
  std::vector<std::pair<result::case_name, std::string>> endings_;
  std::int64_t next_round_ = 0;
  double saved_ = stopwatch::now();
};

}  // namespace layerbench::run
