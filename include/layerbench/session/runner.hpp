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

#include <fmt/format.h>

#include <layerbench/base/progress.hpp>
#include <layerbench/machine/watch.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/session/measurer.hpp>
#include <layerbench/session/work_queue.hpp>

namespace layerbench::run {

/// Measures rows in rounds: each round visits every row of a group once, in an order of its own, so
/// that the machine's drift is common to all of them. Rows measured before (of a resumed file)
/// count as rounds done.
class scheduler {
 public:
  /// `processors` says what became of the processors' time, `speed` how fast they are.
  scheduler(const std::vector<benchmark_case*>& rows, const std::vector<chain_plan>& chains,
            run_configuration plan, processor_reader processors = processor_times_now,
            probe_maker speed = frequency_probe_of)
      : work_queue_(rows, chains, plan),
        measurer_(work_queue_, std::move(speed)),
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
    next_round_ = work_queue_.restore(into);
    display_ = std::make_unique<progress>(work_queue_.passes_to_do());
    refuse_too_large();
    for (configuration_group& group : work_queue_.groups()) {
      run_group(group);
      if (interrupt_guard::interrupted()) break;
    }
    display_.reset();
    return interrupt_guard::interrupted();
  }

  /// See visitor.
  [[nodiscard]] std::optional<double> slow_share() const { return measurer_.slow_share(); }
  [[nodiscard]] std::optional<double> core_latency() const { return measurer_.core_latency(); }

  /// What ended each case, in words.
  [[nodiscard]] const std::vector<std::pair<result::configuration_name, std::string>>& endings()
      const {
    return endings_;
  }

 private:
  static constexpr double seconds_between_checkpoints = 10;

  /// Visits of a chain in a round: of a step that takes long only before and after the rows.
  [[nodiscard]] static int chain_passes(const measured_configuration& of) {
    constexpr double long_step = 0.5;  // seconds
    if (!of.chain_run) return 0;
    return of.step_seconds > long_step ? 2 : 3;
  }

  void run_group(configuration_group& members) {
    if (std::ranges::all_of(members.cases, &measured_configuration::done)) return;
    prepare(members);
    for (std::int64_t round = next_round_; !interrupt_guard::interrupted(); ++round) {
      if (!run_round(members, round)) break;
    }
    for (measured_configuration& configuration : members.cases) {
      configuration.chain_run.reset();
      for (measured_row& row : configuration.rows) row.what->release();
    }
  }

  void prepare(configuration_group& members) {
    for (measured_configuration& configuration : members.cases) {
      for (measured_row& row : configuration.rows) {
        if (row.done || interrupt_guard::interrupted()) continue;
        display_->note("preparing " + row.what->name().text());
        row.done = !attempt(*row.what, [&] { row.what->prepare(work_queue_.plan().how); });
        if (row.done) row.rounds.clear();
      }
      if (!configuration.end_to_end.make || configuration.done) continue;
      display_->note("preparing the chain of " + configuration.configuration.text());
      attempt_chain(configuration,
                    [&] { configuration.chain_run = configuration.end_to_end.make(); });
      if (!configuration.chain_run) work_queue_.mark_done(configuration);
    }
  }

  /// Runs `work` for a row; a row that fails is reported and has no timing.
  template <class Work>
  bool attempt(const benchmark_case& what, Work&& work) {
    result::measurement failed;
    try {
      work();
      return true;
    } catch (const not_enough_memory& e) {
      failed.error =
          fmt::format("{}; use a smaller --batch, or leave it out (--benchmark_filter)", e.what());
    } catch (const std::bad_alloc&) {
      failed.error = "not enough memory for its operands";
    } catch (const std::exception& e) {  // whatever it is, the other rows are worth having
      failed.error = e.what();
    }
    failed.name = what.name();
    failed.label = {what.what().op.key(), "", what.what().signature, what.what().inserted};
    std::erase_if(into_->rows, [&](const auto& row) { return row.name == failed.name; });
    into_->rows.push_back(std::move(failed));
    return false;
  }

  /// Leaves out cases whose chains need more memory than there is, before they have any.
  void refuse_too_large() {
    for (configuration_group& members : work_queue_.groups()) {
      for (measured_configuration& configuration : members.cases) {
        if (!configuration.end_to_end.bytes || configuration.done || interrupt_guard::interrupted())
          continue;
        display_->note("planning the chain of " + configuration.configuration.text());
        attempt_chain(configuration, [&] {
          configuration.rows.front().what->device().require_memory(
              configuration.end_to_end.bytes());
        });
      }
    }
  }

  /// Runs `work` for a case's chain. Where that needs too much memory its rows are left out, too:
  /// they would tell of a step that cannot run here.
  template <class Work>
  void attempt_chain(measured_configuration& item, Work&& work) {
    result::measurement failed;
    try {
      work();
      return;
    } catch (const not_enough_memory& e) {
      failed.error = fmt::format("{}; use a smaller --batch, or do without --chain", e.what());
      for (measured_row& row : item.rows) row.done = true;
      item.done = true;
    } catch (const std::exception& e) {
      failed.error = e.what();
    }
    item.end_to_end.make = nullptr;
    item.chain_run.reset();
    failed.name = result::row_name::chain(item.configuration);
    into_->chains.push_back(std::move(failed));
  }

  /// One visit of a round: a row, or the chain of a case where `row` is null.
  struct scheduled_pass {
    measured_configuration* configuration;
    measured_row* row;
  };

  /// Case by case in random order, so that what adds up is measured close together, and among its
  /// own kind: a case's rows in random order, its chain at equal distances between them.
  [[nodiscard]] std::vector<scheduled_pass> order_of(configuration_group& members,
                                                     std::int64_t round) const {
    std::mt19937_64 random(work_queue_.plan().how.seed + static_cast<std::uint64_t>(round));
    std::vector<measured_configuration*> cases;
    for (measured_configuration& item : members.cases) {
      if (item.open()) cases.push_back(&item);
    }
    std::ranges::shuffle(cases, random);
    std::vector<scheduled_pass> order;
    for (measured_configuration* configuration : cases) {
      const auto first = static_cast<std::ptrdiff_t>(order.size());
      for (measured_row& row : configuration->rows) {
        if (!row.done) order.push_back({configuration, &row});
      }
      std::shuffle(order.begin() + first, order.end(), random);
      const auto rows = static_cast<std::ptrdiff_t>(order.size()) - first;
      const int passes = chain_passes(*configuration);
      for (int i = passes; i-- > 0;) {
        order.insert(order.begin() + first + rows * i / (passes - 1), {configuration, nullptr});
      }
    }
    return order;
  }

  /// Visits all that is not done. False when nothing was left to visit.
  bool run_round(configuration_group& members, std::int64_t round) {
    const std::vector<scheduled_pass> order = order_of(members, round);
    if (order.empty()) return false;
    next_round_ = round + 1;
    const auto before = processors_();
    const bool chain_run = measure_all(order, round);
    if (host_disturbed(before, processors_())) mark_disturbed(round);
    if (!chain_run) return false;
    for (measured_configuration& item : members.cases) clock_layers(item);
    for (measured_configuration& configuration : members.cases) {
      std::string ending = work_queue_.end_round(configuration);
      if (!ending.empty()) endings_.emplace_back(configuration.configuration, std::move(ending));
    }
    save_after(0);
    return true;
  }

  /// False when it was interrupted; then the round has no chains.
  bool measure_all(const std::vector<scheduled_pass>& order, std::int64_t round) {
    std::map<measured_configuration*, std::vector<result::measurement>> chains;
    for (const scheduled_pass& pass : order) {
      const double start = stopwatch::now();
      if (pass.row != nullptr) {
        measure_row(*pass.configuration, *pass.row, round);
      } else {
        measure_chain(*pass.configuration, round, chains[pass.configuration]);
      }
      pass.configuration->spent += stopwatch::now() - start;
      if (interrupt_guard::interrupted()) return false;
      save_after(seconds_between_checkpoints);
    }
    for (auto& [configuration, passes] : chains) {
      if (passes.empty()) continue;
      into_->chains.push_back(merged_passes(std::move(passes)));
      ++configuration->chain_rounds;
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

  void measure_row(const measured_configuration& configuration, measured_row& row,
                   std::int64_t round) {
    display_->step(row.what->name().text());
    result::measurement timed;
    if (!attempt(*row.what, [&] { timed = measurer_.time_row(configuration, row); })) {
      row.done = true;
      row.rounds.clear();
    }
    if (timed.calls == 0) return;
    timed.round = round;
    row.rounds[round] = timed.mean_seconds();
    into_->rows.push_back(std::move(timed));
  }

  void measure_chain(measured_configuration& configuration, std::int64_t round,
                     std::vector<result::measurement>& passes) {
    if (!configuration.chain_run) return;  // it failed earlier in this round
    display_->note("chain of " + configuration.configuration.text());
    result::measurement timed;
    attempt_chain(configuration, [&] { timed = measurer_.time_chain(configuration); });
    if (!configuration.chain_run) passes.clear();
    if (timed.calls == 0) return;
    timed.round = round;
    configuration.step_seconds = timed.seconds;
    passes.push_back(std::move(timed));
  }

  /// Runs a round of the clocks inside the chain, where they are wanted.
  void clock_layers(measured_configuration& item) {
    if (!item.chain_run || !item.clocks || item.done) return;
    display_->note("clocks in the chain of " + item.configuration.text());
    const double start = stopwatch::now();
    attempt_chain(item, [&] { measurer_.clock_layers(item); });
    if (!item.chain_run) return;
    std::vector<result::planned>& step = into_->manifest[item.configuration];
    for (std::size_t i = 0; i < step.size(); ++i) {
      step[i].chain_seconds = item.clocks->seconds(item.end_to_end.primitives.at(i));
    }
    item.spent += stopwatch::now() - start;
  }

  work_queue work_queue_;
  measurer measurer_;
  processor_reader processors_;
  result::results* into_ = nullptr;
  const std::function<void()>* checkpoint_ = nullptr;
  std::unique_ptr<progress> display_;
  std::vector<std::pair<result::configuration_name, std::string>> endings_;
  std::int64_t next_round_ = 0;
  double saved_ = stopwatch::now();
  double saving_ = 0;  ///< seconds that it took
};

}  // namespace layerbench::run
