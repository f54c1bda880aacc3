// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/analysis/base/repeated_rounds.hpp>
#include <layerbench/analysis/compare/comparison.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/op/builtin.hpp>

/// Comparison of backends: the fastest one for each layer, and a step that chooses by layer.
namespace layerbench::analysis {

/// Seconds by backend: of one call, or of a step.
using backend_times = std::map<std::string, double>;

/// The backend with the shortest time.
[[nodiscard]] inline const std::string& fastest(const backend_times& times) {
  return std::ranges::min_element(times, {}, &backend_times::value_type::second)->first;
}

/// A primitive and the backends that have a timing of it.
struct layer_of_backends {
  result::planned primitive;
  backend_times times = {};
  std::string best = {};  ///< that of the step, unless another is faster by more than the margin
};

/// A case on several backends. A row of a sweep is a case without steps.
struct model_of_backends {
  result::case_name model_case;  ///< of the fastest step; if no backend timed all: of the first
  std::string cache;
  std::vector<layer_of_backends> layers = {};  ///< in the order of that step
  backend_times steps = {};                    ///< of backends that timed all layers
  double best_seconds = 0;                     ///< of the step with each layer on its best backend
  std::int64_t moved_calls = 0;                ///< on another backend than that of the fastest step

  [[nodiscard]] bool compares() const {
    return std::ranges::any_of(layers, [](const auto& layer) { return layer.times.size() > 1; });
  }
};

struct backend_comparison {
  std::vector<std::string> files = {};
  std::vector<std::string> notes = {};
  double margin = 0;
  std::vector<model_of_backends> models = {};
};

namespace detail {

/// One case on several backends, by timings of a cache state. Reorders that a backend inserted are
/// in its step, and stay in it where the layers beside them change the backend.
[[nodiscard]] inline model_of_backends best_of(const std::vector<planned_case>& cases,
                                               const timings& measured, const std::string& cache,
                                               double margin) {
  model_of_backends all{.model_case = cases.front().model_case, .cache = cache};
  const planned_case* own = &cases.front();
  std::map<std::string, std::map<std::string, backend_times>> known;  // by layer and work
  for (const planned_case& one : cases) {
    const std::string& backend = one.model_case.backend;
    const covered_step covered = find_timings(one, measured, cache);
    double seconds = 0;
    for (const timed_primitive& timed : covered.step) {
      known[timed.planned->layer][timed.planned->work()][backend] = timed.seconds;
      seconds += static_cast<double>(timed.planned->count) * timed.seconds;
    }
    if (!covered.missing.empty() || one.derived) continue;
    all.steps[backend] = seconds;
    if (fastest(all.steps) == backend) own = &one;
  }
  all.model_case = own->model_case;
  for (const result::planned& primitive : own->step) {
    layer_of_backends layer{.primitive = primitive,
                            .times = known[primitive.layer][primitive.work()]};
    if (!layer.times.empty()) {
      layer.best = fastest(layer.times);
      const double least = layer.times.at(layer.best);
      const auto of_step = layer.times.find(own->model_case.backend);
      if (of_step != layer.times.end() && of_step->second <= (1 + margin) * least)
        layer.best = of_step->first;
      all.best_seconds += static_cast<double>(primitive.count) * layer.times.at(layer.best);
      all.moved_calls += layer.best == own->model_case.backend ? 0 : primitive.count;
    }
    all.layers.push_back(std::move(layer));
  }
  return all;
}

/// Whether calls of the case are of other backends than its own.
[[nodiscard]] inline bool names_backends(const planned_case& of) {
  return std::ranges::any_of(of.step, [](const result::planned& primitive) {
    return !op::backend_of_key(primitive.key).empty();
  });
}

/// The cases of the manifests, and one for each row of another case, as sweeps have.
[[nodiscard]] inline std::vector<planned_case> cases_with_sweeps(const group& files) {
  std::vector<planned_case> all = planned_cases(files);
  std::set<result::case_name> with_steps;
  for (const planned_case& one : all) with_steps.insert(one.model_case);
  std::set<std::tuple<result::case_name, std::string, std::string>> known;  // with layer and work
  for (const result::results* file : files) {
    for (const result::measurement& row : file->rows) {
      if (row.name.is_chain() || with_steps.contains(row.name.model_case)) continue;
      const result::planned call{row.name.layer, row.name.op, row.name.pass, row.label.key};
      if (!known.emplace(row.name.model_case, call.layer, call.work()).second) continue;
      all.push_back({row.name.model_case, {call}, /*derived=*/true});
    }
  }
  return all;
}

}  // namespace detail

/// Compares the backends in `files`, by cases whose calls are all of one. Throws bad_input for
/// files whose contexts differ (unless forced), nothing_matched if no layer has timings of two
/// backends.
[[nodiscard]] inline backend_comparison compare_backends(std::span<const result::results> files,
                                                         const comparison_options& chosen = {}) {
  const group everything = group_of(files);
  detail::require_rounds(everything);
  backend_comparison all{.notes = notes_of(everything), .margin = chosen.margin};
  for (const result::results& file : files) all.files.push_back(file.file);
  for (const std::string& field : detail::differing_within(everything, chosen.force))
    all.notes.push_back("forced: files also differ in " + field);
  const timings measured = detail::timings_of(everything);
  std::vector<std::vector<planned_case>> groups;
  std::map<std::string, std::size_t> group_of_id;
  for (const planned_case& one : detail::cases_with_sweeps(everything)) {
    if (detail::names_backends(one)) {
      const std::string why =
          one.model_case.text() + " is left out: its fusion plan names the backends of calls";
      if (std::ranges::find(all.notes, why) == all.notes.end()) all.notes.push_back(why);
      continue;
    }
    result::case_name shared = one.model_case;
    shared.backend.clear();
    const std::string id =
        shared.text() + (one.derived ? one.step.front().layer + one.step.front().work() : "");
    const std::size_t at = group_of_id.emplace(id, groups.size()).first->second;
    if (at == groups.size()) groups.emplace_back();
    groups[at].push_back(one);
  }
  for (const std::vector<planned_case>& cases : groups) {
    for (const std::string cache : {"model", "hot"}) {
      model_of_backends model = detail::best_of(cases, measured, cache, all.margin);
      if (!model.compares()) continue;
      all.models.push_back(std::move(model));
      break;
    }
  }
  if (all.models.empty()) throw nothing_matched("no layer has timings of two backends");
  return all;
}

}  // namespace layerbench::analysis
