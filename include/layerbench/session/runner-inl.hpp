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
#include <ranges>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/progress.hpp>
#include <layerbench/base/quiet.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/machine/machine_watch.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/session/budget_watch.hpp>
#include <layerbench/session/measurer.hpp>
#include <layerbench/session/runner.hpp>
#include <layerbench/session/stopping_criterion.hpp>
#include <layerbench/session/work_queue.hpp>

namespace layerbench::run {

LAYERBENCH_INLINE runner::runner(const std::vector<benchmark_row*>& rows,
                                 const std::vector<chain_spec>& chains,
                                 const stopping_limits& limits,
                                 const preparation_options& preparation,
                                 processor_reader read_processors, probe_maker make_probe,
                                 std::function<double()> now, const energy_request& energy,
                                 stream_group* streams)
    : now_(std::move(now)),
      queue_(make_work_queue(rows, chains)),
      criterion_(limits),
      budget_(criterion_, queue_, now_),
      preparation_(preparation),
      measurer_(std::move(make_probe)),
      read_processors_(std::move(read_processors)),
      energy_of_layers_(energy.of_layers),
      streams_(streams) {
  if (energy.counter) energy_.emplace(energy.counter, now_);
}

LAYERBENCH_INLINE bool runner::run(result::results& results,
                                   const std::function<void()>& checkpoint,
                                   const std::function<void()>& before_round) {
  const interrupt_guard guard;
  results_ = &results;
  checkpoint_ = &checkpoint;
  before_round_ = &before_round;
  next_round_ = restore(results, queue_);
  for (case_group& group : queue_) {
    for (case_state& model_case : group) criterion_.mark_done(model_case);
  }
  measure_idle();
  display_ = std::make_unique<progress>(criterion_.passes_left(queue_) + windows_left());
  rest_seconds_ = budget_.elapsed();  // another start plans, too
  try {
    refuse_too_large();
    for (case_group& group : queue_) {
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

LAYERBENCH_INLINE std::string runner::shortfall() const {
  if (!budget_.exists() || (left_out_ == 0 && cut_ == 0)) return {};
  std::string text = fmt::format("--budget={:g}: ", criterion_.limits().budget);
  text += left_out_ > 0 ? fmt::format("{} of the rows and chains left out", left_out_)
                        : "all rows have timings";
  if (cut_ > 0) {
    text += fmt::format(", {} case{} fewer rounds than {}", cut_, cut_ == 1 ? " has" : "s have",
                        criterion_.limits().min_rounds);
  }
  return text;
}

LAYERBENCH_INLINE std::optional<double> runner::rest_seconds() const {
  return is_estimated_ ? std::optional(rest_seconds_) : std::nullopt;
}

LAYERBENCH_INLINE const std::vector<std::pair<result::case_name, std::string>>& runner::endings()
    const {
  return endings_;
}

LAYERBENCH_INLINE void runner::run_group(case_group& group) {
  if (std::ranges::all_of(group, &case_state::done)) return;
  prepare(group);
  for (std::int64_t round = next_round_; !interrupt_guard::interrupted(); ++round) {
    if (!run_round(group, round)) break;
  }
  if (streams_ != nullptr) streams_->end_case();
  for (case_state& model_case : group) {
    if (model_case.end_to_end) model_case.end_to_end->chain.reset();
    for (row_state& row : model_case.rows) row.benchmark->release();
  }
}

LAYERBENCH_INLINE void runner::prepare(case_group& group) {
  for (case_state& model_case : group) {
    if (model_case.done) continue;  // cut by a budget, beside one with rows that it left out
    if (budget_.exists()) {
      prepare_what_fits(model_case);
      continue;
    }
    for (row_state& row : model_case.rows) prepare(row);
    prepare_chain(model_case);
  }
}

LAYERBENCH_INLINE void runner::prepare(row_state& row) {
  if (row.done || interrupt_guard::interrupted()) return;
  display_->note("preparing " + row.benchmark->name().text());
  attempt(row, [&] { prepare(*row.benchmark); });
  row.share = row.benchmark->share();
}

LAYERBENCH_INLINE void runner::prepare_chain(case_state& model_case) {
  if (!model_case.end_to_end || model_case.done) return;
  display_->note("preparing the chain of " + model_case.name.text());
  attempt_chain(model_case,
                [&] { model_case.end_to_end->chain = model_case.end_to_end->model.make(); });
  if (!model_case.end_to_end) criterion_.mark_done(model_case);
}

LAYERBENCH_INLINE void runner::prepare_what_fits(case_state& model_case) {
  for (row_state& row : model_case.rows) {
    if (row.done || interrupt_guard::interrupted()) continue;
    attempt(row, [&] { row.setup_cost = setup_cost_of(row.benchmark->spec()); });
  }
  std::vector<scheduled_pass> wanted = by_importance(model_case);
  double passes = 0;  // seconds of the first round
  while (!wanted.empty() && !interrupt_guard::interrupted()) {
    // What matters less must not take time that a later case leaves to what matters more.
    const auto matters_less = [&](const scheduled_pass& one) {
      return kind_of(one) > kind_of(wanted.front());
    };
    const auto end = returns_ ? wanted.end() : std::ranges::find_if(wanted, matters_less);
    const std::span candidates(wanted.begin(), end);
    auto next = std::ranges::find_if(candidates, [&](const scheduled_pass& one) {
      return budget_.fits(model_case, margin * (passes + expected_seconds(one)));
    });
    if (next == candidates.end()) next = cheapest_that_may_fit(candidates, passes);
    if (next == candidates.end()) break;
    const scheduled_pass chosen = *next;
    wanted.erase(wanted.begin() + (next - candidates.begin()));
    const double start = now_();
    const double first = chosen.row != nullptr ? try_out(*chosen.row) : try_out_chain(model_case);
    const double taken = now_() - start;
    // The other rows were verified with these.
    const bool tells = chosen.row != nullptr && adds_up(chosen) && first > 0;
    if (tells) budget_.learn(*chosen.row, taken + first);
    model_case.prepared += taken;
    passes += first;
  }
  leave_out(model_case, /*prepared_ones=*/false);
}

LAYERBENCH_INLINE double runner::setup_cost_of(const row_spec& what) {
  const op_in_context context = what.make_context ? what.make_context() : op_in_context{};
  double sum = 0;
  if (context.cache != cache_state::model) return sum;
  for (const operand_history& history : context.operands) {
    if (!history.producer) continue;
    sum += relative_cost(*history.producer, history.producer_pass, what.request.type);
  }
  return sum;
}

LAYERBENCH_INLINE std::span<runner::scheduled_pass>::iterator runner::cheapest_that_may_fit(
    std::span<scheduled_pass> wanted, double passes) {
  const auto cost = [](const scheduled_pass& one) {
    return one.row == nullptr ? HUGE_VAL : budget_watch::cost_of(*one.row);
  };
  const auto cheapest = std::ranges::min_element(wanted, {}, cost);
  const bool may_fit =
      cheapest != wanted.end() && cheapest->row != nullptr && budget_.guesses(*cheapest->row) &&
      budget_.fits(*cheapest->model_case, passes + budget_.hoped_seconds(*cheapest->row));
  return may_fit ? cheapest : wanted.end();
}

LAYERBENCH_INLINE double runner::try_out(row_state& row) {
  prepare(row);
  if (row.done || !row.benchmark->prepared()) return 0;
  attempt(row, [&] { row.first_call_seconds = seconds_of_first_calls(*row.benchmark); });
  if (row.done) return 0;
  row.pass_seconds = criterion_.first_pass_seconds(row.first_call_seconds);
  return row.pass_seconds;
}

LAYERBENCH_INLINE double runner::seconds_of_first_calls(benchmark_row& row) {
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

LAYERBENCH_INLINE double runner::try_out_chain(case_state& model_case) {
  const double step = expected_step_seconds(model_case);
  prepare_chain(model_case);
  if (!model_case.end_to_end) return 0;
  model_case.end_to_end->step_seconds = step;
  model_case.chain_pass_seconds = criterion_.first_chain_pass_seconds(step);
  return chain_passes(model_case) * model_case.chain_pass_seconds;
}

LAYERBENCH_INLINE double runner::expected_step_seconds(const case_state& model_case) {
  const bool some_in_model = std::ranges::any_of(model_case.rows, &row_state::in_model);
  double sum = 0;
  for (const row_state& row : model_case.rows) {
    if (row.in_model == some_in_model) sum += row.step_seconds(row.call_seconds());
  }
  return sum;
}

LAYERBENCH_INLINE double runner::expected_seconds(const scheduled_pass& one) const {
  if (one.row != nullptr) return budget_.expected_seconds(*one.row);
  // A chain has the plans of the rows, and fewer copies of their operands.
  constexpr double of_rows = 0.5;
  return of_rows * one.model_case->prepared +
         most_chain_passes *
             criterion_.first_chain_pass_seconds(expected_step_seconds(*one.model_case));
}

LAYERBENCH_INLINE bool runner::adds_up(const scheduled_pass& of) {
  return of.row->in_model == std::ranges::any_of(of.model_case->rows, &row_state::in_model);
}

LAYERBENCH_INLINE int runner::kind_of(const scheduled_pass& of) {
  if (of.row == nullptr) return 1;
  return adds_up(of) ? 0 : 2;
}

LAYERBENCH_INLINE double runner::uncovered_seconds() const {
  double sum = 0;
  for (const case_group& group : queue_) {
    for (const case_state& model_case : group) {
      const bool some_in_model = std::ranges::any_of(model_case.rows, &row_state::in_model);
      for (const row_state& row : model_case.rows) {
        const bool lacks = !row.timed() && (row.left_out || !row.done);
        if (!lacks || row.in_model != some_in_model) continue;
        const double seconds = margin * budget_.expected_seconds(row);
        // A row that does not fit in any case must not stop the others.
        if (seconds <= budget_.rest()) sum += seconds;
      }
    }
  }
  return sum;
}

LAYERBENCH_INLINE bool runner::more_important(const scheduled_pass& a, const scheduled_pass& b) {
  const auto rank = [](const scheduled_pass& one) {
    if (one.row->timed()) return std::tuple(true, true, 0.0);
    return std::tuple(false, !adds_up(one), -one.row->step_seconds(one.row->cost));
  };
  return rank(a) < rank(b);
}

LAYERBENCH_INLINE std::vector<runner::scheduled_pass> runner::by_importance(
    case_state& model_case) const {
  std::vector<scheduled_pass> order;
  for (row_state& row : model_case.rows) {
    if (!row.done) order.push_back({&model_case, &row});
  }
  std::ranges::stable_sort(order, more_important);
  if (model_case.end_to_end && criterion_.lacks_chain(model_case)) {
    const auto predicts = [](const scheduled_pass& one) { return adds_up(one); };
    order.insert(std::ranges::find_if_not(order, predicts), {&model_case, nullptr});
  }
  return order;
}

LAYERBENCH_INLINE void runner::leave_out(case_state& model_case, bool prepared_ones) {
  if (!budget_.exists() || interrupt_guard::interrupted()) return;
  for (row_state& row : model_case.rows) {
    if (row.done || row.timed() || (row.benchmark->prepared() && !prepared_ones)) continue;
    row.left_out = row.done = true;
  }
  const end_to_end_run* whole = model_case.end_to_end.get();
  if (whole == nullptr || model_case.chain_rounds > 0) return;
  if (whole->chain && !prepared_ones) return;
  model_case.end_to_end->chain.reset();
  model_case.left_out_chain = std::move(model_case.end_to_end);
}

LAYERBENCH_INLINE bool runner::lacks_rounds(const row_state& row) const {
  return row.timed() && std::ssize(row.timing.rounds) < criterion_.limits().min_rounds;
}

LAYERBENCH_INLINE void runner::return_to_left_out() {
  returns_ = true;
  for (case_group& group : queue_) {
    if (interrupt_guard::interrupted()) return;
    bool lacks_some = false;
    for (case_state& model_case : group) {
      const bool lacks_rows = std::ranges::any_of(model_case.rows, &row_state::left_out);
      const bool is_cut = std::ranges::any_of(
          model_case.rows, [&](const row_state& row) { return !row.done && lacks_rounds(row); });
      if (!lacks_rows && !is_cut && !model_case.left_out_chain) continue;
      if (model_case.left_out_chain) {
        model_case.end_to_end = std::move(model_case.left_out_chain);
        for (row_state& row : model_case.rows) row.done = row.done && !row.timed();
      }
      for (row_state& row : model_case.rows) {
        if (std::exchange(row.left_out, false)) row.done = false;
      }
      criterion_.mark_done(model_case);
      lacks_some = true;
    }
    if (lacks_some) run_group(group);
  }
}

LAYERBENCH_INLINE void runner::report_left_out() {
  if (!budget_.exists() || interrupt_guard::interrupted() || !lost_.empty()) return;
  for (case_group& group : queue_) {
    for (case_state& model_case : group) {
      const auto lacks = [&](const row_state& row) { return lacks_rounds(row); };
      if (std::ranges::any_of(model_case.rows, lacks)) ++cut_;
      const double missing = missing_seconds(model_case);
      if (missing > 0) rest_seconds_ += model_case.prepared + missing;
      for (const row_state& row : model_case.rows) {
        if (!row.left_out) continue;
        results_->rows.push_back(failed_row(*row.benchmark, left_out_text()));
        ++left_out_;
        is_estimated_ = is_estimated_ && !budget_.guesses(row);
      }
      if (!model_case.left_out_chain) continue;
      result::measurement& chain = results_->chains.emplace_back();
      chain.name = result::row_name::chain(model_case.name);
      chain.error = left_out_text();
      ++left_out_;
    }
  }
}

LAYERBENCH_INLINE std::string runner::left_out_text() const {
  return fmt::format("{}--budget={:g} was spent", result::left_out_begin,
                     criterion_.limits().budget);
}

LAYERBENCH_INLINE double runner::missing_seconds(const case_state& model_case) const {
  const std::int64_t least = criterion_.limits().min_rounds;
  double sum = 0;
  double passes = 0;  // a round of the rows that were prepared
  for (const row_state& row : model_case.rows) passes += row.pass_seconds;
  const double share = passes > 0 ? passes / (passes + model_case.prepared) : 0.5;
  for (const row_state& row : model_case.rows) {
    if (!row.timed() && !row.left_out) continue;
    const double unprepared = row.pass_seconds > 0 ? 0 : budget_.expected_seconds(row);
    const double pass = std::max(row.pass_seconds, share * unprepared);
    const std::int64_t rounds = std::max<std::int64_t>(0, least - std::ssize(row.timing.rounds));
    sum += unprepared + static_cast<double>(rounds) * pass;
  }
  if (model_case.left_out_chain || model_case.end_to_end) {
    const double pass =
        std::max(model_case.chain_pass_seconds,
                 criterion_.first_chain_pass_seconds(expected_step_seconds(model_case)));
    const std::int64_t rounds = std::max<std::int64_t>(0, least - model_case.chain_rounds);
    sum += static_cast<double>(rounds * most_chain_passes) * pass;
  }
  return sum;
}

LAYERBENCH_INLINE void runner::prepare(benchmark_row& benchmark) const {
  constexpr int most_plans = 3;  // after the library's own choice
  for (int plans = 0;; ++plans) {
    try {
      return benchmark.prepare(preparation_);
    } catch (const wrong_result& e) {
      if (!benchmark.reject_plan(e.what()) || plans == most_plans) throw;
    }
  }
}

LAYERBENCH_INLINE void runner::refuse_too_large() {
  for (case_group& group : queue_) {
    for (case_state& model_case : group) {
      if (!model_case.end_to_end || model_case.done) continue;
      const chain_spec& model = model_case.end_to_end->model;
      if (!model.bytes || interrupt_guard::interrupted()) continue;
      display_->note("planning the chain of " + model_case.name.text());
      attempt_chain(model_case, [&] {
        model_case.rows.front().benchmark->device().require_memory(model.bytes());
      });
    }
  }
}

LAYERBENCH_INLINE result::measurement runner::failed_row(const benchmark_row& benchmark,
                                                         const std::string& reason) {
  result::measurement failed;
  failed.name = benchmark.name();
  failed.label = {benchmark.spec().op.key(), "", benchmark.spec().signature,
                  benchmark.spec().inserted};
  failed.error = reason;
  return failed;
}

LAYERBENCH_INLINE std::string runner::loss_of(compute_device& device, const std::string& name,
                                              const std::string& error) {
  const auto lasting = device.lasting_error();
  if (!lasting) return {};
  return fmt::format("{}: {}; no call on the device succeeds any more ({})", name, error, *lasting);
}

LAYERBENCH_INLINE bool runner::run_round(case_group& group, std::int64_t round) {
  const std::vector<scheduled_pass> order = order_of(group, round);
  if (order.empty()) return false;
  begin_round(round);
  const auto before = read_processors_();
  std::map<case_state*, std::vector<result::measurement>> chains;
  for (const scheduled_pass& pass : order) {
    if (!budget_.fits(*pass.model_case, pass_seconds(pass))) continue;
    if (!run_beside(pass, round)) continue;
    const double start = now_();
    if (pass.row != nullptr) {
      measure_row(*pass.model_case, *pass.row, round);
    } else {
      measure_chain(*pass.model_case, round, chains[pass.model_case]);
    }
    pass_seconds(pass) = now_() - start;
    pass.model_case->spent += pass_seconds(pass);
    if (interrupt_guard::interrupted()) break;
    checkpoint_after(seconds_between_checkpoints);
  }
  const bool interrupted = interrupt_guard::interrupted();
  for (auto& [model_case, passes] : chains) {
    if (interrupted || passes.empty()) continue;
    results_->chains.push_back(merged_passes(std::move(passes)));
    if (model_case->name.streams() > 1) model_case->stream.add_to_chain(results_->chains.back());
    ++model_case->chain_rounds;
  }
  report_streams(group, round);
  if (host_disturbed(before, read_processors_())) mark_disturbed(group, round);
  if (!interrupted) end_round(group);
  return !interrupted;
}

LAYERBENCH_INLINE bool runner::run_beside(const scheduled_pass& pass, std::int64_t round) {
  if (streams_ == nullptr) return true;
  case_state& model_case = *pass.model_case;
  bool runs = false;
  const auto work = [&] {
    streams_->run_beside(model_case.name);
    const bool watches = model_case.name.streams() > 1 && model_case.watched_round != round &&
                         !criterion_.limits().single_call;
    if (watches) {
      model_case.watched_round = round;
      model_case.stream.watch_waits();
    }
    runs = true;
  };
  if (pass.row != nullptr) {
    attempt(*pass.row, work);
  } else if (model_case.end_to_end) {
    attempt_chain(model_case, work);
  }
  return runs;
}

LAYERBENCH_INLINE bool runner::all_run() const {
  return streams_ == nullptr || streams_->all_run();
}

LAYERBENCH_INLINE void runner::report_streams(const case_group& group, std::int64_t round) {
  for (const case_state& model_case : group) {
    if (model_case.watched_round != round) continue;
    auto newest_first = results_->rows | std::views::reverse;
    const auto latest = std::ranges::find_if(newest_first, [&](const result::measurement& row) {
      return row.round == round && row.name.model_case == model_case.name && row.error.empty();
    });
    if (latest != newest_first.end()) model_case.stream.add_to_row(*latest);
  }
}

LAYERBENCH_INLINE void runner::begin_round(std::int64_t round) {
  next_round_ = round + 1;
  const double turn = now_();
  (*before_round_)();
  budget_.leave_out(now_() - turn);
  display_->end_in(budget_.rest());
}

LAYERBENCH_INLINE void runner::end_round(case_group& group) {
  for (case_state& model_case : group) {
    time_layers(model_case);
    measure_energy(model_case);
    leave_out(model_case, /*prepared_ones=*/true);
  }
  for (case_state& model_case : group) {
    budget_.update();
    double next = round_seconds(model_case);
    const bool comes_last = budget_.exists() && !returns_ && next <= budget_.rest() &&
                            next + uncovered_seconds() > budget_.rest();
    if (comes_last) next = HUGE_VAL;
    std::string ending = criterion_.end_round(model_case, queue_, next);
    if (!ending.empty()) endings_.emplace_back(model_case.name, std::move(ending));
  }
  checkpoint_after(0);
}

LAYERBENCH_INLINE double runner::round_seconds(const case_state& model_case) const {
  double sum = chain_passes(model_case) * model_case.chain_pass_seconds;
  for (const row_state& row : model_case.rows) {
    if (!row.done) sum += row.pass_seconds;
  }
  return sum;
}

LAYERBENCH_INLINE std::vector<runner::scheduled_pass> runner::order_of(case_group& group,
                                                                       std::int64_t round) const {
  std::mt19937_64 random(preparation_.seed + static_cast<std::uint64_t>(round));
  std::vector<case_state*> cases;
  for (case_state& model_case : group) {
    if (model_case.open()) cases.push_back(&model_case);
  }
  std::ranges::shuffle(cases, random);
  std::vector<scheduled_pass> order;
  for (case_state* model_case : cases) {
    const auto first = static_cast<std::ptrdiff_t>(order.size());
    for (row_state& row : model_case->rows) {
      if (!row.done && row.benchmark->prepared()) order.push_back({model_case, &row});
    }
    std::shuffle(order.begin() + first, order.end(), random);
    if (budget_.exists()) std::stable_sort(order.begin() + first, order.end(), more_important);
    const auto rows = static_cast<std::ptrdiff_t>(order.size()) - first;
    const int passes = chain_passes(*model_case);
    for (int i = passes; i-- > 0;) {
      order.insert(order.begin() + first + rows * i / std::max(1, passes - 1),
                   {model_case, nullptr});
    }
  }
  return order;
}

LAYERBENCH_INLINE int runner::chain_passes(const case_state& model_case) const {
  constexpr double long_step = 0.5;  // seconds
  if (!model_case.end_to_end || !model_case.end_to_end->chain) return 0;
  if (criterion_.limits().single_call) return 1;
  return model_case.end_to_end->step_seconds > long_step ? 2 : 3;
}

LAYERBENCH_INLINE double& runner::pass_seconds(const scheduled_pass& of) {
  return of.row != nullptr ? of.row->pass_seconds : of.model_case->chain_pass_seconds;
}

LAYERBENCH_INLINE void runner::measure_row(case_state& model_case, row_state& row,
                                           std::int64_t round) {
  display_->step(row.benchmark->name().text());
  result::measurement timed;
  attempt(row, [&] {
    pass_limits limits = limits_of(model_case);
    limits.min_time = criterion_.pass_time(model_case, row);
    limits.step_seconds = model_case.step_seconds();
    limits.call_seconds = row.call_seconds();
    timed = measurer_.time_row(*row.benchmark, limits);
  });
  if (timed.calls == 0 || !all_run()) return;
  timed.round = round;
  row.add_round(timed);
  watch_calls(model_case, row);
  results_->rows.push_back(std::move(timed));
}

LAYERBENCH_INLINE void runner::watch_calls(case_state& model_case, const row_state& row) {
  if (model_case.name.streams() == 1 || !row.in_model) return;
  const int sharing = streams_->shares_of(model_case.name).per_processor();
  const samples& taken = measurer_.latest();
  const auto rounds = std::views::values(row.timing.rounds);
  const double usual = stats::mean({rounds.begin(), rounds.end()}) / sharing;
  model_case.stream.add_calls(taken.seconds, static_cast<double>(taken.calls_per_sample), usual,
                              model_case.step_seconds() / sharing, row.step_seconds(usual));
}

LAYERBENCH_INLINE void runner::measure_chain(case_state& model_case, std::int64_t round,
                                             std::vector<result::measurement>& passes) {
  if (!model_case.end_to_end) return;  // an earlier pass of this round failed
  display_->note("chain of " + model_case.name.text());
  result::measurement timed;
  attempt_chain(model_case, [&] {
    timed = measurer_.time_chain(*model_case.end_to_end->chain, limits_of(model_case));
  });
  if (!model_case.end_to_end) passes.clear();
  if (timed.calls == 0 || !all_run()) return;
  if (model_case.name.streams() > 1) model_case.stream.add_steps(measurer_.latest().seconds);
  timed.name = result::row_name::chain(model_case.name);
  timed.round = round;
  model_case.end_to_end->step_seconds = timed.seconds;
  passes.push_back(std::move(timed));
}

LAYERBENCH_INLINE void runner::time_layers(case_state& model_case) {
  if (model_case.done || !model_case.end_to_end) return;
  end_to_end_run& whole = *model_case.end_to_end;
  if (!whole.chain || !whole.clocks) return;
  if (!budget_.fits(model_case, model_case.chain_pass_seconds)) return;
  display_->note("clocks in the chain of " + model_case.name.text());
  const double start = now_();
  attempt_chain(model_case, [&] {
    if (streams_ != nullptr) streams_->run_beside(model_case.name);
    measurer_.time_layers(*whole.chain, *whole.clocks, limits_of(model_case));
  });
  if (!model_case.end_to_end) return;
  std::vector<result::planned>& step = results_->manifest[model_case.name];
  for (std::size_t i = 0; i < step.size(); ++i) {
    step[i].chain_seconds = whole.clocks->seconds(whole.model.primitives.at(i));
  }
  model_case.spent += now_() - start;
}

LAYERBENCH_INLINE void runner::measure_idle() {
  const auto is_done = [](const case_group& group) {
    return std::ranges::all_of(group, &case_state::done);
  };
  if (!energy_ || std::ranges::all_of(queue_, is_done)) return;
  energy_->measure_idle();
  if (interrupt_guard::interrupted()) return;
  note(fmt::format("energy: {}, by {}; idle power {}, over {:.3g} s; windows of {:.3g} s or more",
                   energy_->source().text(), energy_->source().counter,
                   units::si(energy_->idle_watts(), "W"), energy_->idle_seconds(),
                   energy_->window_seconds()));
}

LAYERBENCH_INLINE std::size_t runner::windows_left() {
  const auto least = static_cast<std::size_t>(criterion_.limits().min_rounds);
  const auto windows = [&](std::size_t rounds) {
    return std::min(most_windows, least - std::min(rounds, least));
  };
  std::size_t sum = 0;
  for (case_group& group : queue_) {
    for (case_state& model_case : group) {
      if (!energy_ || model_case.done) continue;
      if (model_case.end_to_end) sum += windows(static_cast<std::size_t>(model_case.chain_rounds));
      for (row_state& row : model_case.rows) {
        const bool wanted = energy_of_layers_ && adds_up({&model_case, &row});
        if (wanted) sum += windows(row.timing.rounds.size());
      }
    }
  }
  return sum;
}

LAYERBENCH_INLINE void runner::measure_energy(case_state& model_case) {
  if (model_case.done) return;
  if (model_case.end_to_end && model_case.end_to_end->chain) {
    attempt_chain(model_case, [&] {
      add_energy(model_case, results_->chains, result::row_name::chain(model_case.name),
                 model_case.end_to_end->step_seconds,
                 [&](auto& to) { energy_->add_chain(to, *model_case.end_to_end->chain); });
    });
  }
  if (!energy_of_layers_) return;
  for (row_state& row : model_case.rows) {
    if (!adds_up({&model_case, &row}) || !row.benchmark->prepared()) continue;
    attempt(row, [&] {
      add_energy(model_case, results_->rows, row.benchmark->name(), row.pass_seconds,
                 [&](auto& to) { energy_->add_row(to, *row.benchmark); });
    });
  }
}

template <class Add>
void runner::add_energy(case_state& model_case, std::vector<result::measurement>& all,
                        const result::row_name& name, double call_seconds, Add&& add) {
  if (!energy_ || interrupt_guard::interrupted()) return;
  const double needed = call_seconds + 2 * std::max(energy_->window_seconds(), call_seconds);
  if (!budget_.fits(model_case, needed + missing_seconds(model_case))) return;
  result::measurement* latest = nullptr;
  std::size_t windows = 0;
  for (result::measurement& row : all) {
    if (row.name != name || !row.error.empty()) continue;
    if (row.counters.contains("energy_net_j")) ++windows;
    if (row.round == next_round_ - 1) latest = &row;
  }
  if (latest == nullptr || windows >= most_windows) return;
  display_->step("energy of " + name.text());
  const double start = now_();
  try {
    const auto before = read_processors_();
    const double own = own_processor_seconds();
    add(*latest);
    const double ticks =
        (own_processor_seconds() - own) * static_cast<double>(::sysconf(_SC_CLK_TCK));
    const auto seen = machine::disturbance_between(before, read_processors_(), ticks);
    if (seen && latest->counters.contains("energy_net_j")) {
      latest->counters["energy_disturbed"] = seen->others > machine::little_load ? 1 : 0;
    }
  } catch (const energy_error& e) {
    energy_.reset();
    energy_failure_ = e.what();
  }
  model_case.energy += now_() - start;
}

LAYERBENCH_INLINE pass_limits runner::limits_of(const case_state& model_case) const {
  const bool over_budget = criterion_.over_budget(model_case, queue_);
  const result::stream_shares shares =
      streams_ == nullptr ? result::stream_shares{} : streams_->shares_of(model_case.name);
  return {.min_time = criterion_.chain_pass_time(),
          .over_budget = over_budget,
          .repeats = (!over_budget || !budget_.exists()) && shares.streams == 1,
          .steady_clocks = criterion_.limits().steady_clocks && !over_budget,
          .single_call = criterion_.limits().single_call,
          .shares = shares};
}

LAYERBENCH_INLINE void runner::mark_disturbed(case_group& group, std::int64_t round) {
  for (case_state& model_case : group) {
    for (row_state& row : model_case.rows) row.mark_disturbed(round);
  }
  for (auto* rows : {&results_->rows, &results_->chains}) {
    for (result::measurement& row : *rows) {
      if (row.round == round && row.error.empty()) row.counters["disturbed"] = 1;
    }
  }
}

LAYERBENCH_INLINE void runner::checkpoint_after(double seconds) {
  if (results_->rows.empty()) return;
  const double begin = stopwatch::now();
  if (begin - checkpoint_time_ < std::max(seconds, 20 * checkpoint_seconds_)) return;
  (*checkpoint_)();
  checkpoint_time_ = stopwatch::now();
  checkpoint_seconds_ = checkpoint_time_ - begin;
}

}  // namespace layerbench::run
