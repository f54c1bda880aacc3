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

#include <layerbench/base/progress.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/run/agenda.hpp>
#include <layerbench/run/machine_watch.hpp>
#include <layerbench/run/visitor.hpp>

namespace layerbench::run {

/// Measures rows in rounds: each round visits every row of a group once, in an order of its own, so
/// that the machine's drift is common to all of them. Rows measured before (of a resumed file)
/// count as rounds done.
class scheduler {
 public:
  /// `processors` says what became of the processors' time, `speed` how fast they are.
  scheduler(const std::vector<fixture*>& rows, const std::vector<chain_plan>& chains, schedule plan,
            processor_reader processors = processor_times_now, probe_maker speed = speed_probe_of)
      : agenda_(rows, chains, plan),
        visitor_(agenda_, std::move(speed)),
        processors_(std::move(processors)) {}
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;
  ~scheduler() = default;

  /// Runs until all is done or the user interrupts. `into` is added to; `checkpoint` is called
  /// after rounds, and within long ones, as often as its own time permits. Returns whether it was
  /// interrupted.
  bool run(result::results& into, const std::function<void()>& checkpoint) {
    const interrupt_guard guard;
    into_ = &into;
    checkpoint_ = &checkpoint;
    next_round_ = agenda_.take_over(into);
    display_ = std::make_unique<progress>(agenda_.visits_to_do());
    refuse_too_large();
    for (case_group& each : agenda_.groups()) {
      run_group(each);
      if (interrupt_guard::interrupted()) break;
    }
    display_.reset();
    return interrupt_guard::interrupted();
  }

  /// See visitor.
  [[nodiscard]] std::optional<double> slow_share() const { return visitor_.slow_share(); }
  [[nodiscard]] std::optional<double> round_trip() const { return visitor_.round_trip(); }

  /// What ended each case, in words.
  [[nodiscard]] const std::vector<std::pair<result::case_name, std::string>>& endings() const {
    return endings_;
  }

 private:
  static constexpr double seconds_between_checkpoints = 10;

  /// Visits of a chain in a round: of a step that takes long only before and after the rows.
  [[nodiscard]] static int chain_visits(const measured_case& of) {
    constexpr double long_step = 0.5;  // seconds
    if (!of.whole) return 0;
    return of.step_seconds > long_step ? 2 : 3;
  }

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
        if (row.done) row.rounds.clear();
      }
      if (!each.truth.make || each.done) continue;
      display_->note("preparing the chain of " + each.owner.text());
      attempt_chain(each, [&] { each.whole = each.truth.make(); });
      if (!each.whole) agenda_.mark_done(each);
    }
  }

  /// Runs `work` for a row; a row that fails is reported and has no timing.
  template <class Work>
  bool attempt(const fixture& what, Work&& work) {
    result::measurement failed;
    try {
      work();
      return true;
    } catch (const not_enough_memory& slip) {
      failed.error = fmt::format("{}; use a smaller --batch, or leave it out (--benchmark_filter)",
                                 slip.what());
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

  /// Leaves out cases whose chains need more memory than there is, before they have any.
  void refuse_too_large() {
    for (case_group& members : agenda_.groups()) {
      for (measured_case& each : members.cases) {
        if (!each.truth.bytes || each.done || interrupt_guard::interrupted()) continue;
        display_->note("planning the chain of " + each.owner.text());
        attempt_chain(each,
                      [&] { each.rows.front().what->here().require_memory(each.truth.bytes()); });
      }
    }
  }

  /// Runs `work` for a case's chain. Where that needs too much memory its rows are left out, too:
  /// they would tell of a step that cannot run here.
  template <class Work>
  void attempt_chain(measured_case& each, Work&& work) {
    result::measurement failed;
    try {
      work();
      return;
    } catch (const not_enough_memory& slip) {
      failed.error = fmt::format("{}; use a smaller --batch, or do without --chain", slip.what());
      for (measured_row& row : each.rows) row.done = true;
      each.done = true;
    } catch (const std::exception& slip) {
      failed.error = slip.what();
    }
    each.truth.make = nullptr;
    each.whole.reset();
    failed.name = result::row_name::chain(each.owner);
    into_->chains.push_back(std::move(failed));
  }

  /// One visit of a round: a row, or the chain of a case where `row` is null.
  struct visit_plan {
    measured_case* owner;
    measured_row* row;
  };

  /// Case by case in random order, so that what adds up is measured close together, and among its
  /// own kind: a case's rows in random order, its chain at equal distances between them.
  [[nodiscard]] std::vector<visit_plan> order_of(case_group& members, std::int64_t round) const {
    std::mt19937_64 random(agenda_.plan().how.seed + static_cast<std::uint64_t>(round));
    std::vector<measured_case*> cases;
    for (measured_case& each : members.cases) {
      if (each.open()) cases.push_back(&each);
    }
    std::ranges::shuffle(cases, random);
    std::vector<visit_plan> order;
    for (measured_case* owner : cases) {
      const auto first = static_cast<std::ptrdiff_t>(order.size());
      for (measured_row& row : owner->rows) {
        if (!row.done) order.push_back({owner, &row});
      }
      std::shuffle(order.begin() + first, order.end(), random);
      const auto rows = static_cast<std::ptrdiff_t>(order.size()) - first;
      const int visits = chain_visits(*owner);
      for (int i = visits; i-- > 0;) {
        order.insert(order.begin() + first + rows * i / (visits - 1), {owner, nullptr});
      }
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
    save_after(0);
    return true;
  }

  /// False when it was interrupted; then the round has no chains.
  bool visit_all(const std::vector<visit_plan>& order, std::int64_t round) {
    std::map<measured_case*, std::vector<result::measurement>> chains;
    for (const visit_plan& each : order) {
      const double start = stopwatch::now();
      if (each.row != nullptr) {
        visit_row(*each.owner, *each.row, round);
      } else {
        visit_chain(*each.owner, round, chains[each.owner]);
      }
      each.owner->spent += stopwatch::now() - start;
      if (interrupt_guard::interrupted()) return false;
      save_after(seconds_between_checkpoints);
    }
    for (auto& [owner, visits] : chains) {
      if (visits.empty()) continue;
      into_->chains.push_back(joined(std::move(visits)));
      ++owner->chain_rounds;
    }
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

  /// Not before so many seconds, and so that it takes no more than a twentieth of the time.
  void save_after(double seconds) {
    const double begin = stopwatch::now();
    if (begin - saved_ < std::max(seconds, 20 * saving_)) return;
    (*checkpoint_)();
    saved_ = stopwatch::now();
    saving_ = saved_ - begin;
  }

  void visit_row(const measured_case& owner, measured_row& row, std::int64_t round) {
    display_->step(row.what->name().text());
    result::measurement timed;
    if (!attempt(*row.what, [&] { timed = visitor_.time_row(owner, row); })) {
      row.done = true;
      row.rounds.clear();
    }
    if (timed.calls == 0) return;
    timed.round = round;
    row.rounds[round] = timed.mean_seconds();
    into_->rows.push_back(std::move(timed));
  }

  void visit_chain(measured_case& owner, std::int64_t round,
                   std::vector<result::measurement>& visits) {
    if (!owner.whole) return;  // it failed earlier in this round
    display_->note("chain of " + owner.owner.text());
    result::measurement timed;
    attempt_chain(owner, [&] { timed = visitor_.time_chain(owner); });
    if (!owner.whole) visits.clear();
    if (timed.calls == 0) return;
    timed.round = round;
    owner.step_seconds = timed.seconds;
    visits.push_back(std::move(timed));
  }

  /// Runs a round of the clocks inside the chain, where they are wanted.
  void clock_layers(measured_case& each) {
    if (!each.whole || !each.clocks || each.done) return;
    display_->note("clocks in the chain of " + each.owner.text());
    const double start = stopwatch::now();
    attempt_chain(each, [&] { visitor_.clock_layers(each); });
    if (!each.whole) return;
    std::vector<result::planned>& step = into_->manifest[each.owner];
    for (std::size_t i = 0; i < step.size(); ++i) {
      step[i].chain_seconds = each.clocks->seconds(each.truth.primitives.at(i));
    }
    each.spent += stopwatch::now() - start;
  }

  agenda agenda_;
  visitor visitor_;
  processor_reader processors_;
  result::results* into_ = nullptr;
  const std::function<void()>* checkpoint_ = nullptr;
  std::unique_ptr<progress> display_;
  std::vector<std::pair<result::case_name, std::string>> endings_;
  std::int64_t next_round_ = 0;
  double saved_ = stopwatch::now();
  double saving_ = 0;  ///< seconds that it took
};

}  // namespace layerbench::run
