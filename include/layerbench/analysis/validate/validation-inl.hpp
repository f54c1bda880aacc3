// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include <fmt/format.h>

#include <layerbench/analysis/scaling/data_parallel.hpp>
#include <layerbench/analysis/scaling/overlapped_prediction.hpp>
#include <layerbench/analysis/validate/validation.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/program_path.hpp>

namespace layerbench::analysis {

LAYERBENCH_INLINE std::optional<error_summary> summarize(const std::vector<double>& errors) {
  if (errors.empty()) return std::nullopt;
  std::vector<double> sizes;
  for (const double error : errors) sizes.push_back(std::abs(error));
  const auto within = [&](double bound) {
    const auto count = std::ranges::count_if(sizes, [&](double value) { return value <= bound; });
    return static_cast<double>(count) / static_cast<double>(sizes.size());
  };
  return error_summary{stats::mean(sizes),  stats::median(sizes), std::ranges::max(sizes),
                       stats::mean(errors), within(0.02),         within(0.05),
                       errors.size()};
}

namespace detail {

/// The rows of a case's end-to-end run, from all files of a group.
using chain_rows = std::vector<const result::measurement*>;

/// The end-to-end runs in `files`, in their order.
[[nodiscard]] inline std::vector<std::pair<result::case_name, chain_rows>> chains(
    const group& files) {
  std::vector<std::pair<result::case_name, chain_rows>> all;
  for (const result::results* file : files) {
    for (const result::measurement& row : file->chains) {
      const auto same = std::ranges::find(all, row.name.model_case,
                                          [](const auto& chain) { return chain.first; });
      if (same == all.end()) {
        all.push_back({row.name.model_case, {&row}});
      } else {
        same->second.push_back(&row);
      }
    }
  }
  return all;
}

/// The measured step; nothing if no row has a time.
[[nodiscard]] inline std::optional<measured_step> measured_step_of(const chain_rows& rows) {
  timing step;
  for (const result::measurement* row : rows) {
    if (!row->error.empty()) continue;
    step.add({0, std::ssize(step.rounds)}, *row);
  }
  if (step.rounds.empty()) return std::nullopt;
  std::size_t rounds = 0;
  const step_time sum = add_up(step.seconds(), std::vector<term>{{1, &step}}, rounds);
  const double disturbed = static_cast<double>(step.disturbed.size()) / static_cast<double>(rounds);
  if (result::has_unknown_error(disturbed, rounds)) {
    return measured_step{sum.seconds, sum.seconds, sum.seconds, rounds, disturbed};
  }
  return measured_step{sum.seconds, sum.sampling_low, sum.sampling_high, rounds, disturbed};
}

[[nodiscard]] inline bool is_call_of(const prediction& predicted, const result::measurement& row) {
  return row.error.empty() && row.name.model_case == predicted.model_case &&
         row.name.cache == predicted.cache;
}

/// The only file that has rows of a predicted case, if they were measured in turns; else null.
[[nodiscard]] inline const result::results* file_in_turns(const prediction& predicted,
                                                          const group& files) {
  const result::results* found = nullptr;
  for (const result::results* file : files) {
    const auto is_call = [&](const auto& row) { return is_call_of(predicted, row); };
    if (std::ranges::none_of(file->rows, is_call)) continue;
    if (found != nullptr) return nullptr;
    found = file;
  }
  return found != nullptr && found->context.contains("turns") ? found : nullptr;
}

/// The seconds of the predicted calls in each whole round.
[[nodiscard]] inline std::map<std::int64_t, double> calls_by_round(const prediction& predicted,
                                                                   const result::results& file) {
  std::map<std::int64_t, double> rounds;
  std::map<std::int64_t, std::size_t> rows;
  std::size_t most = 0;
  for (const result::measurement& row : file.rows) {
    if (!is_call_of(predicted, row)) continue;
    const auto count = row.counters.find("count");
    const double executions = count == row.counters.end() ? 1 : count->second;
    rounds[row.round] += executions * estimated_seconds(row);
    most = std::max(most, ++rows[row.round]);
  }
  // An interrupted run has a part of its last round.
  std::erase_if(rounds, [&](const auto& round) { return rows.at(round.first) < most; });
  return rounds;
}

/// The quieter half of the rounds that both sides have: those in which the calls and the measured
/// step together took least, each relative to its median. What disturbs a virtual machine for
/// seconds may hit only one of them. Nothing for fewer than 6 rounds, or if a round occurs twice:
/// then all undisturbed rounds count.
[[nodiscard]] inline std::set<std::int64_t> quiet_rounds(
    const std::map<std::int64_t, double>& calls, const chain_rows& measured) {
  constexpr std::size_t least = 6;
  std::vector<std::int64_t> rounds;
  std::vector<double> of_calls;
  std::vector<double> of_steps;
  for (const result::measurement* row : measured) {
    const auto same = calls.find(row->round);
    if (!row->error.empty() || same == calls.end()) continue;
    if (std::ranges::find(rounds, row->round) != rounds.end()) return {};
    rounds.push_back(row->round);
    of_calls.push_back(same->second);
    of_steps.push_back(estimated_seconds(*row));
  }
  if (rounds.size() < least) return {};
  const double usual_calls = stats::median(of_calls);
  const double usual_step = stats::median(of_steps);
  std::vector<std::pair<double, std::int64_t>> order;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    order.emplace_back(of_calls[i] / usual_calls + of_steps[i] / usual_step, rounds[i]);
  }
  std::ranges::sort(order);
  std::set<std::int64_t> quiet;
  for (std::size_t i = 0; i < (order.size() + 1) / 2; ++i) quiet.insert(order[i].second);
  return quiet;
}

/// A prediction and the measured step, both of their quiet rounds if `calls`, the file that has the
/// rows, is not null. A quiet round counts even if it is marked as disturbed, so that both sides
/// have the same rounds; `disturbed` remains the share of all rounds. If that is most of them, the
/// intervals hold those of all rounds, too.
[[nodiscard]] inline validated validated_pair(const planned_case& planned, prediction predicted,
                                              const measured_step& step, const chain_rows& rows,
                                              const result::results* calls, const group& files,
                                              const options& chosen) {
  validated pair{std::move(predicted), step};
  if (calls == nullptr) return pair;
  const std::set<std::int64_t> quiet = quiet_rounds(calls_by_round(pair.predicted, *calls), rows);
  if (quiet.empty()) return pair;
  const auto in_quiet_rounds = [&](const result::measurement& row) {
    return quiet.contains(row.round);
  };
  const auto as_undisturbed = [](result::measurement row) {
    row.counters.erase("disturbed");
    return row;
  };
  timings measured;
  for (const result::results* file : files) {
    result::results part;
    for (const result::measurement& row : file->rows) {
      const bool own = file == calls && row.name.model_case == pair.predicted.model_case;
      if (own && !in_quiet_rounds(row)) continue;
      part.rows.push_back(own ? as_undisturbed(row) : row);
    }
    measured.add(part);
  }
  prediction of_quiet_rounds = predict_case(planned, measured, files, chosen);
  if (!of_quiet_rounds.step) return pair;  // a layer failed in them
  of_quiet_rounds.disturbed = pair.predicted.disturbed;
  if (pair.predicted.mostly_disturbed()) {
    step_time& narrow = *of_quiet_rounds.step;
    narrow.sampling_low = std::min(narrow.sampling_low, pair.predicted.step->sampling_low);
    narrow.sampling_high = std::max(narrow.sampling_high, pair.predicted.step->sampling_high);
  }
  pair.predicted = std::move(of_quiet_rounds);
  pair.of_quieter_half = true;
  std::vector<result::measurement> steps;
  for (const result::measurement* row : rows) {
    if (in_quiet_rounds(*row)) steps.push_back(as_undisturbed(*row));
  }
  chain_rows quiet_steps;
  for (const result::measurement& row : steps) quiet_steps.push_back(&row);
  pair.measured = *measured_step_of(quiet_steps);
  pair.measured.disturbed = step.disturbed;
  if (step.disturbed > result::mostly_disturbed) {
    pair.measured.low = std::min(pair.measured.low, step.low);
    pair.measured.high = std::max(pair.measured.high, step.high);
  }
  return pair;
}

/// Whether a file has all rows of a chain.
[[nodiscard]] inline bool has_chain(const result::results& file, const chain_rows& rows) {
  return std::ranges::all_of(rows, [&](const result::measurement* row) {
    return std::ranges::any_of(file.chains, [&](const auto& own) { return &own == row; });
  });
}

/// The prediction of a step that sends gradients while it computes, from the contention measured in
/// `files`. Throws error if they have none, and what graph_of() and overlapped() throw.
[[nodiscard]] inline prediction overlapped_prediction(prediction sequential, const group& files,
                                                      const options& chosen) {
  const auto known = contention_of(sequential.model_case, files, chosen.cache);
  if (!known) {
    throw error("no contention: rows of its backward part during all-reduces are missing");
  }
  const model::graph graph = graph_of(sequential.model_case, files, chosen);
  return overlapped(std::move(sequential), known->factors, graph, training_of(files));
}

/// Adds a case to `all`: to the validated ones if possible, else to those left out.
inline void validate_case(const result::case_name& model_case, const chain_rows& rows,
                          const std::vector<planned_case>& cases, const timings& measured,
                          const group& files, const options& chosen, validation& all) {
  const auto planned =
      std::ranges::find(cases, without_all_reduces(model_case), &planned_case::model_case);
  const auto leave_out = [&](std::string reason) {
    all.left_out.push_back({model_case, {}, std::move(reason)});
    for (const result::results* file : files) all.left_out.back().files.push_back(file->file);
  };
  const std::optional<measured_step> step = measured_step_of(rows);
  if (!step && rows.front()->left_out()) {
    std::string reason =
        "the step was not measured: " + rows.front()->error.substr(result::left_out_begin.size());
    const auto file = std::ranges::find_if(files, [&](auto* one) { return has_chain(*one, rows); });
    if (file != files.end() && !(*file)->file.empty()) {
      reason +=
          fmt::format("; measure it: {} --resume={}", program_path("bench_model"), (*file)->file);
    }
    return leave_out(reason);
  }
  if (!step) return leave_out("the chain failed: " + rows.front()->error);
  if (planned == cases.end()) return leave_out("no manifest has the case");
  prediction predicted = predict_case(*planned, measured, files, chosen);
  if (!predicted.step) {
    return leave_out(fmt::format("layers without a timing: {}", fmt::join(predicted.missing, " ")));
  }
  if (!model_case.contended()) {
    const result::results* calls = file_in_turns(predicted, files);
    if (calls != nullptr && !has_chain(*calls, rows)) calls = nullptr;
    all.cases.push_back(
        validated_pair(*planned, std::move(predicted), *step, rows, calls, files, chosen));
    for (const result::results* file : files) {
      auto known = result::measured_latencies(file->chains, model_case);
      if (known) all.cases.back().latencies = known;
    }
    return;
  }
  try {
    all.cases.push_back({overlapped_prediction(std::move(predicted), files, chosen), *step});
  } catch (const error& e) {
    leave_out(e.what());
  }
}

}  // namespace detail

LAYERBENCH_INLINE validation validate(std::span<const result::results> files,
                                      const options& chosen) {
  if (std::ranges::all_of(files, [](const auto& file) { return file.chains.empty(); })) {
    throw nothing_matched(
        "no measured step to validate against: the files have no rows chain/...; measure with " +
        program_path("bench_model") + " --chain");
  }
  detail::require_rounds(group_of(files));
  const std::vector<model_choice> choices = resolve_models(files, chosen.models, chosen.shapes);
  const options used{.models = chosen.models, .shapes = chosen.shapes, .cache = chosen.cache};
  validation all;
  for (const group& alike : group_by_context(files)) {
    const timings measured = detail::timings_of(alike);
    const std::vector<planned_case> cases = planned_cases(alike);
    for (const auto& [model_case, rows] : detail::chains(alike)) {
      if (!is_chosen(model_case, chosen, choices)) continue;
      detail::validate_case(model_case, rows, cases, measured, alike, used, all);
    }
  }
  return all;
}

namespace detail {

/// Whether an engine's chain ran the step that was predicted, on as many threads and on data of the
/// same class. Names of backends differ, and so may layouts, which engines choose themselves.
[[nodiscard]] inline bool same_step(const prediction& predicted, const result::case_name& chain,
                                    std::int64_t threads) {
  const result::case_name& own = predicted.model_case;
  const auto conditions = [](const result::case_name& of) {
    return std::tuple(of.model, of.phase(), of.dtype, of.batch, of.ranks(), of.streams(),
                      of.count("tokens"), of.count("context"), of.parameter("data", ""));
  };
  return conditions(own) == conditions(chain) && predicted.threads == threads;
}

/// The profile of an engine's case; null if there is none.
[[nodiscard]] inline const std::vector<result::engine_node>* profile_of(
    const result::case_name& model_case, const group& files) {
  for (const result::results* file : files) {
    const auto found = file->engine_layers.find(model_case.text());
    if (found != file->engine_layers.end() && !found->second.empty()) return &found->second;
  }
  return nullptr;
}

/// Gives the layers of a case their times in an engine's profile, if it names layers. A node's time
/// is that of the predicted call that has the first layer of the node; a call may have several
/// joined layers.
inline void add_profile(validated& entry, const std::vector<result::engine_node>& nodes) {
  const auto names_layers = [](const result::engine_node& node) { return !node.layers.empty(); };
  const bool by_layer = std::ranges::any_of(nodes, names_layers);
  const auto is_unnamed = [](const layer_time& call) {
    return call.layers.empty() && call.count > 1;
  };
  entry.has_unnamed_layers = by_layer && std::ranges::any_of(entry.predicted.layers, is_unnamed);
  if (entry.has_unnamed_layers) return;
  std::map<std::string, layer_time*, std::less<>> calls;  // by layer
  for (layer_time& call : entry.predicted.layers) {
    if (by_layer) call.chain_seconds = 0;
    for (const std::string& joined : call.layers.empty() ? std::vector{call.name} : call.layers) {
      std::istringstream names(joined);
      for (std::string name; std::getline(names, name, '+');) calls.emplace(name, &call);
    }
  }
  entry.profiled = 0;
  for (const result::engine_node& node : nodes) {
    *entry.profiled += node.seconds;
    const auto known = std::ranges::find_if(
        node.layers, [&](const std::string& name) { return calls.contains(name); });
    if (known != node.layers.end()) {
      layer_time& call = *calls.at(*known);
      *call.chain_seconds += node.seconds / static_cast<double>(call.count);
      continue;
    }
    auto kind =
        std::ranges::find(entry.in_no_layer, node.type, &std::pair<std::string, double>::first);
    if (kind == entry.in_no_layer.end()) {
      kind = entry.in_no_layer.insert(kind, {node.type, 0});
    }
    kind->second += node.seconds;
  }
}

}  // namespace detail

LAYERBENCH_INLINE std::vector<engine_validation> validate_engines(
    std::span<const result::results> files, std::span<const result::results> engines,
    const options& chosen, std::span<const result::results> overheads) {
  if (std::ranges::all_of(engines, [](const auto& file) { return file.chains.empty(); })) {
    throw nothing_matched("no measured step of an engine; measure with tools/engines.py");
  }
  const options used{.models = chosen.models, .shapes = chosen.shapes, .cache = chosen.cache};
  detail::require_rounds(group_of(files));
  const std::vector<model_choice> choices = resolve_models(files, chosen.models, chosen.shapes);
  std::vector<detail::predicted_case> cases;
  for (const group& alike : group_by_context(files)) {
    std::ranges::move(detail::predicted_cases(alike, choices, used), std::back_inserter(cases));
  }
  if (cases.empty()) throw nothing_matched("nothing to predict: " + list_cases(files));
  std::vector<engine_validation> all;
  for (const group& alike : group_by_context(engines)) {
    for (const auto& [model_case, rows] : detail::chains(alike)) {
      if (!is_chosen(model_case, chosen, choices)) continue;
      auto engine = std::ranges::find(all, model_case.backend, &engine_validation::engine);
      if (engine == all.end()) engine = all.insert(all.end(), {model_case.backend, {}});
      validation& pairs = engine->pairs;
      const auto leave_out = [&](std::string reason) {
        pairs.left_out.push_back({model_case, {}, std::move(reason)});
        for (const result::results* file : alike) pairs.left_out.back().files.push_back(file->file);
      };
      const std::optional<measured_step> step = detail::measured_step_of(rows);
      if (!step) {
        leave_out("the chain failed: " + rows.front()->error);
        continue;
      }
      const std::int64_t threads = detail::threads(model_case, alike);
      const std::vector<result::engine_node>* nodes = detail::profile_of(model_case, alike);
      bool found = false;
      for (const auto& [planned, its_files, predicted] : cases) {
        if (!detail::same_step(predicted, model_case, threads)) continue;
        if (detail::device_of(predicted, files) != alike.front()->device()) continue;
        found = true;
        if (!predicted.step) {
          leave_out(fmt::format("layers without a timing: {}", fmt::join(predicted.missing, " ")));
          continue;
        }
        validated entry =
            detail::validated_pair(planned, predicted, *step, rows,
                                   detail::file_in_turns(predicted, its_files), its_files, used);
        // These clocks are of the chains of `files`.
        for (layer_time& call : entry.predicted.layers) call.chain_seconds.reset();
        if (!overheads.empty()) {
          const std::string reason =
              add_engine_overhead(entry.predicted, files, engine->engine, overheads);
          if (!reason.empty()) {
            leave_out(reason);
            continue;
          }
        }
        if (nodes != nullptr) detail::add_profile(entry, *nodes);
        pairs.cases.push_back(std::move(entry));
      }
      if (!found) leave_out("no prediction of this step on as many threads of this device");
    }
  }
  return all;
}

}  // namespace layerbench::analysis
