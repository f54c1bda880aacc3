// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/base/cases.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/split.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/fusion.hpp>
#include <layerbench/model/peak.hpp>
#include <layerbench/model/reuse_distance.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/model/training.hpp>
#include <layerbench/op/builtin.hpp>
#include <layerbench/result/context_difference.hpp>

namespace layerbench::analysis {

LAYERBENCH_INLINE group group_of(std::span<const result::results> files) {
  group all;
  for (const result::results& file : files) all.push_back(&file);
  return all;
}

LAYERBENCH_INLINE std::vector<group> group_by_context(std::span<const result::results> files) {
  std::vector<group> groups;
  for (const result::results& file : files) {
    const auto same = std::ranges::find_if(groups, [&](const group& known) {
      return result::differing_context(*known.front(), file).empty();
    });
    if (same == groups.end()) {
      groups.push_back({&file});
    } else {
      same->push_back(&file);
    }
  }
  return groups;
}

LAYERBENCH_INLINE std::vector<std::string> incompatible_files(
    std::span<const result::results> files) {
  const std::vector<group> groups = group_by_context(files);
  std::vector<std::string> sentences;
  for (std::size_t i = 1; i < groups.size(); ++i) {
    const result::results& first = *groups.front().front();
    const result::results& other = *groups[i].front();
    sentences.push_back(
        fmt::format("{} and {} are not merged: they differ in {}", first.file, other.file,
                    result::both_values(first, other, result::differing_context(first, other))));
  }
  return sentences;
}

namespace detail {

LAYERBENCH_INLINE std::int64_t threads(const result::case_name& model_case, const group& files) {
  const std::string in_context = files.front()->context_value("threads").value_or("");
  return result::detail::count_of(model_case.parameter("threads", in_context)).value_or(0);
}

/// How complete a manifest's step is: the number of its entries, then of those with a cache state,
/// with a time inside an end-to-end run, with known traffic, and with the names of all layers.
[[nodiscard]] inline std::tuple<std::size_t, std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t,
                                std::ptrdiff_t>
completeness(const std::vector<result::planned>& step) {
  const auto has_state = [](const result::planned& one) { return !one.state.empty(); };
  const auto has_time = [](const result::planned& one) { return one.chain_seconds.has_value(); };
  const auto has_traffic = [](const result::planned& one) { return !one.traffic.empty(); };
  const auto has_layers = [](const result::planned& one) { return !one.layers.empty(); };
  return {step.size(), std::ranges::count_if(step, has_state),
          std::ranges::count_if(step, has_time), std::ranges::count_if(step, has_traffic),
          std::ranges::count_if(step, has_layers)};
}

}  // namespace detail

LAYERBENCH_INLINE model::parameter_values replaced_parameters(const model::graph& shipped,
                                                              const result::case_name& model_case) {
  model::parameter_values replaced;
  if (model_case.batch != model::batch(shipped)) replaced["batch"] = model_case.batch;
  for (const std::string_view name : model::text_parameters) {
    if (const auto value = model_case.count(name)) replaced[std::string(name)] = *value;
  }
  return replaced;
}

LAYERBENCH_INLINE std::vector<planned_case> planned_cases(const group& files) {
  result::manifest cases;
  for (const result::results* file : files) {
    for (const auto& [model_case, step] : file->manifest) {
      std::vector<result::planned>& known = cases[model_case];
      if (detail::completeness(step) > detail::completeness(known)) known = step;
    }
  }
  std::vector<planned_case> planned;
  for (auto& [model_case, step] : cases) planned.push_back({model_case, std::move(step)});
  return planned;
}

namespace detail {

/// The measured cases of `files`, with the model replaced.
[[nodiscard]] inline std::vector<result::case_name> measured_cases(const group& files,
                                                                   const std::string& model) {
  std::vector<result::case_name> cases;
  std::set<result::case_name> seen;
  for (const result::results* file : files) {
    for (const result::measurement& row : file->rows) {
      result::case_name model_case = row.name.model_case;
      if (model_case.model == layerbench::model::peak_model || model_case.contended()) {
        continue;
      }
      model_case.model = model;
      if (seen.insert(model_case).second) cases.push_back(model_case);
    }
  }
  return cases;
}

/// The ops that ran in place; nothing if the context does not say.
[[nodiscard]] inline std::optional<model::op_names> in_place_ops(const group& files) {
  const auto names = files.front()->context_value("in_place");
  if (!names) return std::nullopt;
  model::op_names ops;
  for (const std::string_view name : split(*names, ',')) ops.emplace(name);
  return ops;
}

/// Whether calls of equal work behind other ops have rows of their own; older files do not.
[[nodiscard]] inline bool rows_name_writers(const group& files) {
  return std::ranges::any_of(files, [](const result::results* file) {
    return std::ranges::any_of(file->rows, [](const result::measurement& row) {
      return row.label.state.find(",after:") != std::string::npos;
    });
  });
}

LAYERBENCH_INLINE model::training training_of(const group& files) {
  const auto optimizer = files.front()->context_value("optimizer");
  return optimizer ? model::training_of(*optimizer) : model::training{};
}

/// The model as a fusion plan of that name fuses it; nothing if no such plan is shipped, or if its
/// calls depend on the run.
[[nodiscard]] inline std::optional<model::graph> fused_by(const std::string& plan,
                                                          const model::graph& graph, dtype type) {
  try {
    const op::catalog catalog = op::builtin_catalog();
    const std::filesystem::path path = model::find_fusion(plan, model::default_shapes_directory());
    const model::fusion_plan loaded = model::load_fusion(path, catalog);
    if (loaded.names_backends()) return std::nullopt;
    return model::fused(graph, loaded, catalog, type);
  } catch (const nothing_matched&) {
    return std::nullopt;
  }
}

LAYERBENCH_INLINE std::optional<derived_step> derived_step_of(const model::graph& shipped,
                                                              const std::filesystem::path& path,
                                                              const result::case_name& model_case,
                                                              const group& files) {
  const model::parameter_values replaced = replaced_parameters(shipped, model_case);
  for (const auto& [name, value] : replaced) {
    if (!shipped.parameters.contains(name)) return std::nullopt;
  }
  std::optional<model::graph> graph = replaced.empty() ? shipped : model::load(path, replaced);
  const std::string plan = model_case.parameter("fusion", "");
  const dtype type = dtype_from(model_case.dtype).value_or(dtype::f32);
  if (!plan.empty()) graph = fused_by(plan, *graph, type);
  if (!graph) return std::nullopt;
  const model::op_names ops = in_place_ops(files).value_or(model::usually_in_place());
  model::step calls = model::step_of(*graph, model_case.phase(), type, ops, training_of(files));
  return derived_step{std::move(*graph), std::move(calls)};
}

LAYERBENCH_INLINE std::vector<result::planned> planned_of(const derived_step& derived,
                                                          const result::case_name& model_case,
                                                          const group& files, bool with_states) {
  const bool trains = model_case.phase() == "training";
  // Only the library knows the bytes of its tensors, and so which of them share memory.
  const bool reordered = trains || model_case.parameter("layout", "nhwc") == "any" ||
                         model_case.parameters.contains("memory");
  const model::step& calls = derived.calls;
  std::optional<model::step_memory> memory;
  if (with_states && in_place_ops(files) && dtype_from(model_case.dtype) && !reordered)
    memory.emplace(calls, model::least_operand_bytes(calls.type));
  std::vector<result::planned> step;
  const auto primitives =
      rows_name_writers(files) ? model::primitives(calls) : model::primitives_by_work(calls);
  for (const model::primitive& primitive : primitives) {
    step.push_back(
        memory ? result::planned_of(primitive, memory->most_frequent_state(primitive), calls.type)
               : result::planned_of(primitive));
    step.back().left_out = derived.graph.left_out;
  }
  return step;
}

LAYERBENCH_INLINE bool same_work(const std::vector<result::planned>& known,
                                 const std::vector<result::planned>& derived) {
  const auto work = [](const std::vector<result::planned>& step) {
    std::map<std::string, std::int64_t> counts;
    for (const result::planned& planned : step) {
      if (!planned.inserted) counts[planned.work()] += planned.count;
    }
    return counts;
  };
  return work(known) == work(derived);
}

}  // namespace detail

LAYERBENCH_INLINE std::vector<planned_case> cases_of_file(const group& files,
                                                          const std::filesystem::path& path) {
  const model::graph shipped = model::load(path);
  std::vector<planned_case> known = planned_cases(files);
  std::erase_if(
      known, [&](const planned_case& planned) { return planned.model_case.model != shipped.name; });
  if (known.empty()) {
    for (const auto& model_case : detail::measured_cases(files, shipped.name)) {
      known.push_back({model_case, {}});
    }
  }
  std::vector<planned_case> cases;
  for (planned_case& planned : known) {
    std::optional<std::vector<result::planned>> derived;
    if (const auto found = detail::derived_step_of(shipped, path, planned.model_case, files))
      derived = detail::planned_of(*found, planned.model_case, files);
    // The step of a plan that is not shipped is known from the manifest alone.
    const bool known_step = !planned.step.empty() && planned.model_case.fused();
    if (!derived && !known_step) continue;
    if (derived && !detail::same_work(planned.step, *derived)) {
      planned = {planned.model_case, std::move(*derived), true};
    }
    if (shipped.left_out) {  // a result file may be older than the mark
      for (result::planned& one : planned.step) one.left_out = shipped.left_out;
    }
    cases.push_back(std::move(planned));
  }
  return cases;
}

}  // namespace layerbench::analysis
