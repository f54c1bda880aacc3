// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/result/name.hpp>
#include <layerbench/result/stream_shares.hpp>
#include <layerbench/session/autotuner.hpp>
#include <layerbench/session/plan_search.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/shape/record.hpp>
#include <layerbench/timing/clock.hpp>
#include <layerbench/timing/interrupt.hpp>

namespace layerbench::run {

LAYERBENCH_INLINE void autotuner::restore(const std::string& file, const description& now) {
  const result::results before = result::read(file);
  for (const auto& [name, fact] : now) {
    const std::string was = before.context_value(name).value_or("not known");
    if (was == fact.value) continue;
    throw bad_input(file, "/context/" + name,
                    fmt::format("its plans were chosen where it was {}, here it is {}; choose "
                                "them again with --plans=measured",
                                was, fact.value));
  }
  if (measures_) candidates_ = before.candidates;
  forbid(before.candidates);
  const auto threads = before.context.find("threads");
  const std::string usual_threads = threads == before.context.end() ? "" : threads->second;
  for (const result::measurement& row : before.rows) {
    if (!row.error.empty() || forbids(row, usual_threads)) continue;
    const std::string work = work_name(row, usual_threads);
    known_[work] = row.label.algorithm;
    if (!measures_) replayed_.insert(work);
  }
  if (known_.empty() && !measures_)
    throw bad_input(file, "/benchmarks", "no row that names a plan");
}

LAYERBENCH_INLINE std::string autotuner::choose(const std::string& backend, int threads,
                                                device_context& context, const op::any& op,
                                                const plan_request& request) {
  const std::string work = work_name(backend, threads, op, request);
  const auto known = known_.find(work);
  if (known != known_.end()) {
    used_ = true;
    return known->second;
  }
  if (measures_ && !interrupt_guard::interrupted() && stopwatch::now() < end_) {
    return known_[work] = fastest(work, context, op, request);
  }
  if (!candidates_.contains(work)) return {};
  return known_[work] = first_allowed(work, context, op, request);
}

LAYERBENCH_INLINE bool autotuner::reject(const std::string& backend, int threads, const op::any& op,
                                         const plan_request& request, const std::string& algorithm,
                                         const std::string& why) {
  const std::string work = work_name(backend, threads, op, request);
  if (replayed_.contains(work)) return false;
  known_.erase(work);
  std::vector<result::plan_candidate>& all = candidates_[work];
  auto found = std::ranges::find(all, algorithm, &result::plan_candidate::algorithm);
  if (found == all.end()) found = all.insert(found, {.algorithm = algorithm});
  found->note = why;
  found->forbidden = true;
  note(work, fmt::format("{} is out: {}", algorithm, why));
  return true;
}

LAYERBENCH_INLINE std::string autotuner::full_name(const std::string& backend,
                                                   const std::string& threads,
                                                   const std::string& type,
                                                   const std::string& layout,
                                                   const std::string& work) {
  return fmt::format("{}/threads:{}/{}/{}/{}", backend, threads, type, layout, work);
}

LAYERBENCH_INLINE std::string autotuner::work_name(const std::string& backend, int threads,
                                                   const op::any& op, const plan_request& request) {
  return full_name(backend, std::to_string(threads), std::string(name(request.type)),
                   std::string(name(request.layout)), model::work_of(op, request.pass));
}

LAYERBENCH_INLINE std::string autotuner::work_name(const result::measurement& row,
                                                   const std::string& usual_threads) {
  const result::case_name& model_case = row.name.model_case;
  const auto shares = result::stream_shares::of(model_case, std::atoi(usual_threads.c_str()));
  return full_name(model_case.backend, std::to_string(shares.threads_each()), model_case.dtype,
                   model_case.parameter("layout", "nhwc"),
                   fmt::format("{}/{}/{}", row.name.op, row.name.pass, row.label.key));
}

LAYERBENCH_INLINE void autotuner::forbid(const result::plan_candidates& known) {
  for (const auto& [work, candidates] : known) {
    for (const result::plan_candidate& one : candidates) {
      if (one.forbidden && !is_forbidden(work, one.algorithm)) candidates_[work].push_back(one);
    }
  }
}

LAYERBENCH_INLINE bool autotuner::is_forbidden(const std::string& work,
                                               const std::string& algorithm) const {
  const auto found = candidates_.find(work);
  return found != candidates_.end() &&
         std::ranges::any_of(found->second, [&](const result::plan_candidate& one) {
           return one.forbidden && one.algorithm == algorithm;
         });
}

LAYERBENCH_INLINE std::vector<std::unique_ptr<any_plan>> autotuner::allowed_plans(
    const std::string& work, device_context& context, const op::any& op,
    const plan_request& request, std::size_t others, std::string& own) const {
  std::vector<std::unique_ptr<any_plan>> plans;
  plans.push_back(context.device().make_plan(op, request));
  own = plans.front()->algorithm();
  for (auto& other : context.device().alternatives(*plans.front(), op, request, others)) {
    plans.push_back(std::move(other));
  }
  std::erase_if(plans, [&](const auto& plan) { return is_forbidden(work, plan->algorithm()); });
  if (!plans.empty()) return plans;
  std::string reasons;
  for (const result::plan_candidate& one : candidates_.at(work)) {
    if (one.forbidden) reasons += fmt::format("; {}: {}", one.algorithm, one.note);
  }
  throw unsupported("no plan of the library is left" + reasons);
}

LAYERBENCH_INLINE std::string autotuner::first_allowed(const std::string& work,
                                                       device_context& context, const op::any& op,
                                                       const plan_request& request) {
  std::string own;
  const auto plans = allowed_plans(work, context, op, request, candidates_.at(work).size(), own);
  std::string first = plans.front()->algorithm();
  if (first == own) return {};
  note(work, fmt::format("{} in place of {}", first, own));
  return first;
}

LAYERBENCH_INLINE std::string autotuner::fastest(const std::string& work, device_context& context,
                                                 const op::any& op, const plan_request& request) {
  // About as many as PyTorch times (benchmark_limit of torch.backends.cudnn is 10).
  constexpr std::size_t most_candidates = 12;
  const auto known = candidates_.find(work);
  // Compared by the run that this one resumes, or before the choice was rejected.
  if (known != candidates_.end() && is_complete(known->second)) {
    return chosen(work, known->second);
  }
  std::string own;
  auto plans = allowed_plans(work, context, op, request, most_candidates - 1, own);
  std::string first = plans.front()->algorithm();
  if (first == own) first.clear();
  if (plans.size() == 1) return first;
  context.device().activate();
  detail::plan_search search(context, std::move(plans), seed_);
  std::string lost;
  bool measured = false;
  try {
    measured = search.measure(warmer_);
    if (measured) search.verify_fastest(oracle_.of(op, request.pass));
  } catch (const device_lost& e) {
    lost = fmt::format("{}: {}", work, e.what());
  }
  for (const std::string& text : search.failures()) note(work, text);
  if (!measured && lost.empty()) return first;
  std::vector<result::plan_candidate> times = search.records();
  for (result::plan_candidate& one : times) {
    // A run that resumes this one compares them again, since not all had all their passes.
    if (!measured) one.hot_seconds = one.cold_seconds = std::nullopt;
  }
  keep(candidates_[work], std::move(times), own);
  if (!lost.empty()) throw device_lost(lost);
  return chosen(work, candidates_[work]);
}

LAYERBENCH_INLINE void autotuner::keep(std::vector<result::plan_candidate>& all,
                                       std::vector<result::plan_candidate> found,
                                       const std::string& own) {
  for (result::plan_candidate& one : all) {
    if (!one.forbidden) continue;
    found.insert(one.algorithm == own ? found.begin() : found.end(), std::move(one));
  }
  all = std::move(found);
}

LAYERBENCH_INLINE bool autotuner::is_complete(const std::vector<result::plan_candidate>& all) {
  const auto has_ended = [](const result::plan_candidate& one) {
    return one.cold_seconds || !one.note.empty();
  };
  return detail::fastest_of(all) != nullptr && std::ranges::all_of(all, has_ended);
}

LAYERBENCH_INLINE std::string autotuner::chosen(const std::string& work,
                                                const std::vector<result::plan_candidate>& all) {
  const result::plan_candidate* best = detail::fastest_of(all);
  if (best == nullptr || best == &all.front()) {
    if (all.front().forbidden) throw unsupported("no plan of the library is left");
    return {};
  }
  std::string text = fmt::format("{} in place of {}", best->algorithm, all.front().algorithm);
  const double gain = detail::seconds_of(all.front()) / detail::seconds_of(*best);
  if (std::isfinite(gain)) text += fmt::format(", {:.2f} times as fast", gain);
  note(work, text);
  return best->algorithm;
}

LAYERBENCH_INLINE void autotuner::note(const std::string& work, const std::string& text) {
  notes_.push_back(fmt::format("{}: {}", work, text));
}

}  // namespace layerbench::run
