// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/result/measurement.hpp>
#include <layerbench/run/chain.hpp>
#include <layerbench/run/fixture.hpp>
#include <layerbench/run/progress.hpp>
#include <layerbench/run/visit.hpp>

namespace layerbench::run {

/// How long things are measured. A case, or a row where rows are what counts, is done when it has
/// the least number of rounds and is known precisely enough, or has had its time.
struct schedule {
  preparation how;
  std::int64_t rounds = 7;   ///< the least number
  double least_time = 0.05;  ///< seconds a row is measured in that many rounds
  double precision = 0.01;   ///< half the width of the 95 % interval / median
  double most_time = 15;     ///< seconds for a case
  double budget = std::numeric_limits<double>::infinity();  ///< seconds for the whole run
  bool whole_models = false;  ///< what is to be precise: the sum of a case's rows, or each row
};

/// Measures rows in rounds: each round visits every row of a group once, in an order of its own, so
/// that the machine's drift is common to all of them. A group is what one compares: all cases of a
/// model, batch and thread count (threads that wait for work would disturb a case of fewer). Rows
/// measured before (of a resumed file) count as rounds done.
class scheduler {
 public:
  scheduler(const std::vector<fixture*>& rows, const std::vector<chain_plan>& chains, schedule plan)
      : plan_(plan) {
    for (fixture* each : rows) {
      group& members = group_of(each->name().owner);
      case_of(members, each->name().owner).rows.push_back({each, {}, false});
    }
    for (const chain_plan& each : chains) {
      case_of(group_of(each.owner), each.owner).chain_of = each.make;
    }
  }

  /// Runs until all is done or the user interrupts. `into` is added to; `checkpoint` is called
  /// after each round, and every ten seconds. Returns whether it was interrupted.
  bool run(result::results& into, const std::function<void()>& checkpoint) {
    const interrupt_guard guard;
    into_ = &into;
    checkpoint_ = &checkpoint;
    take_over();
    display_ = std::make_unique<progress>(visits_to_do());
    for (group& each : groups_) {
      run_group(each);
      if (interrupt_guard::interrupted()) break;
    }
    display_.reset();
    return interrupt_guard::interrupted();
  }

  /// What ended each case, in words, by case: for people and the result's context.
  [[nodiscard]] const std::vector<std::pair<result::case_name, std::string>>& endings() const {
    return endings_;
  }

 private:
  struct measured_row {
    fixture* what;
    std::map<std::int64_t, double> rounds;  ///< mean seconds of a call
    bool done;
  };
  struct measured_case {
    result::case_name owner;
    std::vector<measured_row> rows;
    std::function<std::unique_ptr<chain>()> chain_of;
    std::unique_ptr<chain> whole;
    double spent = 0;
    bool done = false;
  };
  struct group {
    result::case_name first;
    std::vector<measured_case> cases;

    [[nodiscard]] bool alike(const result::case_name& owner) const {
      const auto threads = [](const result::case_name& of) {
        const auto own = of.parameters.find("threads");
        return own == of.parameters.end() ? "" : own->second;
      };
      return owner.model == first.model && owner.batch == first.batch &&
             threads(owner) == threads(first);
    }
  };

  static constexpr double seconds_between_checkpoints = 10;
  static constexpr int most_retries = 2;
  static constexpr int chain_visits = 3;  ///< a round

  group& group_of(const result::case_name& owner) {
    for (group& each : groups_) {
      if (each.alike(owner)) return each;
    }
    return groups_.emplace_back(group{owner, {}});
  }
  static measured_case& case_of(group& members, const result::case_name& owner) {
    const auto known = std::ranges::find(members.cases, owner, &measured_case::owner);
    if (known != members.cases.end()) return *known;
    measured_case& made = members.cases.emplace_back();
    made.owner = owner;
    return made;
  }

  /// Takes over the rounds of earlier runs. New ones are numbered after them: a round is what was
  /// measured close together.
  void take_over() {
    std::map<result::row_name, std::map<std::int64_t, double>> known;
    for (const result::measurement& row : into_->rows) {
      const auto mean = row.counters.find("mean_s");
      known[row.name][row.round] = mean == row.counters.end() ? row.seconds : mean->second;
      next_round_ = std::max(next_round_, row.round + 1);
    }
    for (group& each : groups_) {
      for (measured_case& one : each.cases) {
        for (measured_row& row : one.rows) {
          row.rounds = known[row.what->name()];
          row.done = static_cast<std::int64_t>(row.rounds.size()) >= plan_.rounds;
        }
        one.done = std::ranges::all_of(one.rows, &measured_row::done);
      }
    }
  }

  [[nodiscard]] std::size_t visits_to_do() const {
    std::int64_t sum = 0;
    for (const group& each : groups_) {
      for (const measured_case& one : each.cases) {
        for (const measured_row& row : one.rows) {
          sum += std::max<std::int64_t>(
              0, plan_.rounds - static_cast<std::int64_t>(row.rounds.size()));
        }
      }
    }
    return static_cast<std::size_t>(sum);
  }

  void run_group(group& members) {
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

  void prepare(group& members) {
    for (measured_case& each : members.cases) {
      for (measured_row& row : each.rows) {
        if (row.done || interrupt_guard::interrupted()) continue;
        display_->note("preparing " + row.what->name().text());
        row.done = !attempt(*row.what, [&] { row.what->prepare(plan_.how); });
      }
      if (each.chain_of && !each.done) attempt_chain(each);
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
      each.whole = each.chain_of();
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
  [[nodiscard]] std::vector<visit_plan> order_of(group& members, std::int64_t round) const {
    std::vector<visit_plan> order;
    std::vector<visit_plan> chains;
    for (measured_case& each : members.cases) {
      if (each.done) continue;
      for (measured_row& row : each.rows) {
        if (!row.done) order.push_back({&each, &row});
      }
      if (each.whole) chains.push_back({&each, nullptr});
    }
    std::mt19937_64 random(plan_.how.seed + static_cast<std::uint64_t>(round));
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
  bool run_round(group& members, std::int64_t round) {
    const std::vector<visit_plan> order = order_of(members, round);
    if (order.empty()) return false;
    next_round_ = round + 1;
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
    for (measured_case& each : members.cases) close_round(each);
    save();
    return true;
  }

  void save() {
    (*checkpoint_)();
    saved_ = stopwatch::now();
  }

  /// More time for the rows that make up most of the step, so that all contribute alike to its
  /// uncertainty.
  [[nodiscard]] double least_time(const measured_case& owner, const measured_row& row) const {
    const double equal = plan_.least_time / static_cast<double>(plan_.rounds);
    const auto weight = [](const measured_row& each) {
      return each.rounds.empty()
                 ? 0
                 : static_cast<double>(each.what->what().count) * each.rounds.rbegin()->second;
    };
    double sum = 0;
    for (const measured_row& each : owner.rows) sum += weight(each);
    if (!plan_.whole_models || row.rounds.empty() || sum <= 0) return equal;
    const double share = weight(row) / sum * static_cast<double>(owner.rows.size());
    return equal * std::clamp(share, 0.5, 4.0);
  }

  void visit_row(const measured_case& owner, measured_row& row, std::int64_t round) {
    fixture& what = *row.what;
    display_->step(what.name().text());
    result::measurement best;
    const bool fine = attempt(what, [&] {
      what.activate();
      rotation& calls = what.calls();
      const subject timed{what.threads(), calls.most_calls(),
                          [&](std::int64_t n) { calls.ready(n); },
                          [&](std::int64_t n) { calls.call(n); }};
      const double least = least_time(owner, row);
      best = best_visit(timed, {.least_time = least, .most_time = 4 * least});
    });
    if (!fine) row.done = true;
    if (best.calls == 0) return;
    best.name = what.name();
    best.round = round;
    best.label = {what.what().op.key(), what.plan().algorithm(), what.what().signature,
                  what.what().inserted};
    what.describe(best);
    row.rounds[round] = best.counters.at("mean_s");
    into_->rows.push_back(std::move(best));
  }

  /// Visits again what was disturbed; the visit that had most of the processors is what counts.
  result::measurement best_visit(const subject& what, const sampling& how) {
    result::measurement best;
    double busiest = -1;
    for (int retry = 0; retry <= most_retries && !interrupt_guard::interrupted(); ++retry) {
      result::measurement row;
      const visit_quality quality = visit(what, watch_of(what.threads), how, row);
      if (quality.busy > busiest) {
        busiest = quality.busy;
        best = std::move(row);
      }
      best.counters["retries"] = retry;
      if (!quality.disturbed) break;
    }
    return best;
  }

  void visit_chain(const measured_case& owner, std::int64_t round,
                   std::vector<result::measurement>& visits) {
    display_->note("chain of " + owner.owner.text());
    chain& whole = *owner.whole;
    whole.activate();
    const subject timed{whole.threads(), 1, [&](std::int64_t) { whole.ready(); },
                        [&](std::int64_t n) { whole.call(n); }};
    const double least = plan_.least_time;
    result::measurement row = best_visit(timed, {.least_time = least, .most_time = 4 * least});
    if (row.calls == 0) return;
    row.name = result::row_name::chain(owner.owner);
    row.round = round;
    row.counters["count"] = 1;
    row.counters["footprint_bytes"] = static_cast<double>(whole.bytes());
    visits.push_back(std::move(row));
  }

  /// The visits of one round as one row: the median visit. Visits that differ say that the machine
  /// changed within the round.
  void add_chain(std::vector<result::measurement>& visits) {
    if (visits.empty()) return;
    std::ranges::sort(visits, {}, &result::measurement::seconds);
    result::measurement row = visits[visits.size() / 2];
    constexpr double much = 0.1;
    const double apart = visits.back().seconds / visits.front().seconds - 1;
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

  /// Relative half-width of the 95 % interval of the median of `values`; infinite for too few.
  [[nodiscard]] static double precision_of(std::vector<double> values) {
    std::ranges::sort(values);
    const auto range = stats::median_interval(values);
    if (!range) return std::numeric_limits<double>::infinity();
    return (range->high - range->low) / 2 / stats::quantile(values, 0.5);
  }

  /// Sums of the case's rows, round by round, over rounds that all of them have. Where rows of
  /// several cache states are measured, those that predictions use count.
  [[nodiscard]] static std::vector<double> sums(const measured_case& of) {
    std::map<std::int64_t, std::pair<double, std::size_t>> by_round;
    std::size_t rows = 0;
    const auto used = [](const measured_row& row) { return row.what->name().cache == "model"; };
    const bool some_used = std::ranges::any_of(of.rows, used);
    for (const measured_row& row : of.rows) {
      if (row.rounds.empty() || (some_used && !used(row))) continue;
      ++rows;
      for (const auto& [round, seconds] : row.rounds) {
        auto& [sum, terms] = by_round[round];
        sum += static_cast<double>(row.what->what().count) * seconds;
        ++terms;
      }
    }
    std::vector<double> whole;
    for (const auto& [round, sum] : by_round) {
      if (sum.second == rows) whole.push_back(sum.first);
    }
    return whole;
  }

  /// Decides after a round what is done, and why.
  void close_round(measured_case& each) {
    if (each.done) return;
    const double allowed = time_allowed();
    const bool late = each.spent >= allowed;
    const auto enough = [&](const measured_row& row) {
      return row.done || static_cast<std::int64_t>(row.rounds.size()) >= plan_.rounds;
    };
    double precision = 0;
    if (plan_.whole_models) {
      precision = precision_of(sums(each));
      each.done = std::ranges::all_of(each.rows, enough) && (late || precision <= plan_.precision);
    } else {
      for (measured_row& row : each.rows) {
        std::vector<double> seconds;
        for (const auto& [round, value] : row.rounds) seconds.push_back(value);
        const double own = seconds.empty() ? 0 : precision_of(std::move(seconds));
        precision = std::max(precision, own);
        row.done = row.done || (enough(row) && (late || own <= plan_.precision));
      }
      each.done = std::ranges::all_of(each.rows, &measured_row::done);
    }
    if (!each.done) return;
    const bool precise = precision <= plan_.precision;
    endings_.emplace_back(
        each.owner, fmt::format("{} after {:.1f} s: {} known to {:.1f} %",
                                precise ? "precise enough" : "time was up", each.spent,
                                plan_.whole_models ? "the sum of its rows is" : "every row is",
                                100 * precision));
  }

  /// Seconds that a case may take: its own limit, or its share of what the budget leaves.
  [[nodiscard]] double time_allowed() const {
    double spent = 0;
    std::size_t open = 0;
    for (const group& each : groups_) {
      for (const measured_case& one : each.cases) {
        if (one.done) {
          spent += one.spent;
        } else {
          ++open;
        }
      }
    }
    const double share =
        (plan_.budget - spent) / static_cast<double>(std::max<std::size_t>(1, open));
    return std::min(plan_.most_time, share);
  }

  schedule plan_;
  std::vector<group> groups_;
  result::results* into_ = nullptr;
  const std::function<void()>* checkpoint_ = nullptr;
  std::unique_ptr<progress> display_;
  std::map<int, std::unique_ptr<stopwatch>> watches_;
  std::vector<std::pair<result::case_name, std::string>> endings_;
  std::int64_t next_round_ = 0;
  double saved_ = stopwatch::now();
};

}  // namespace layerbench::run
