// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/model/find.hpp>
#include <layerbench/model/graph.hpp>
#include <layerbench/model/peak.hpp>
#include <layerbench/model/reuse.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/model/training.hpp>
#include <layerbench/result/google_json.hpp>
#include <layerbench/result/measurement.hpp>

namespace layerbench::analysis {

/// Files whose rows may serve one another: their contexts agree.
using group = std::vector<const result::results*>;

[[nodiscard]] inline group group_of(std::span<const result::results> files) {
  group all;
  for (const result::results& file : files) all.push_back(&file);
  return all;
}

/// Sorts files into groups, in the order of the files.
[[nodiscard]] inline std::vector<group> group_by_context(std::span<const result::results> files) {
  std::vector<group> groups;
  for (const result::results& file : files) {
    const auto same = std::ranges::find_if(groups, [&](const group& item) {
      return result::differing_context(*item.front(), file).empty();
    });
    if (same == groups.end()) {
      groups.push_back({&file});
    } else {
      same->push_back(&file);
    }
  }
  return groups;
}

/// Which of `files` are kept apart, and why; a sentence each.
[[nodiscard]] inline std::vector<std::string> incompatible_files(
    std::span<const result::results> files) {
  const std::vector<group> groups = group_by_context(files);
  std::vector<std::string> words;
  for (std::size_t i = 1; i < groups.size(); ++i) {
    const result::results& first = *groups.front().front();
    const result::results& other = *groups[i].front();
    words.push_back(fmt::format("{} and {} are not merged: they differ in {}", first.file,
                                other.file,
                                fmt::join(result::differing_context(first, other), ", ")));
  }
  return words;
}

namespace detail {

/// Threads of a case: its own parameter, else what the files' context says.
[[nodiscard]] inline std::int64_t threads(const result::configuration_name& configuration,
                                          const group& files) {
  const std::string common = files.front()->context_value("threads").value_or("");
  return result::detail::count_of(configuration.parameter("threads", common)).value_or(0);
}

}  // namespace detail

/// What one step of a case consists of, and who says so.
struct planned_case {
  result::configuration_name configuration;
  std::vector<result::planned> step;
  bool derived = false;  ///< from a shape file: what a backend would insert is not in it
};

namespace detail {

/// How much a manifest's step says: its entries, those whose state is known, those that clocks in a
/// chain have timed, and those of which it is known what they move.
[[nodiscard]] inline std::tuple<std::size_t, std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t>
completeness(const std::vector<result::planned>& step) {
  const auto stated = [](const result::planned& element) { return !element.state.empty(); };
  const auto clocked = [](const result::planned& item) { return item.chain_seconds.has_value(); };
  const auto moving = [](const result::planned& planned) { return !planned.traffic.empty(); };
  return {step.size(), std::ranges::count_if(step, stated), std::ranges::count_if(step, clocked),
          std::ranges::count_if(step, moving)};
}

}  // namespace detail

/// The cases of the files' manifests, in their order. Where several files know a case, the longest
/// step wins: a program that inserted reorders knows more than one that did not; and among those,
/// the one that knows more.
[[nodiscard]] inline std::vector<planned_case> planned_cases(const group& files) {
  result::manifest cases;
  for (const result::results* file : files) {
    for (const auto& [configuration, step] : file->manifest) {
      std::vector<result::planned>& known = cases[configuration];
      if (detail::completeness(step) > detail::completeness(known)) known = step;
    }
  }
  std::vector<planned_case> plans;
  for (auto& [configuration, step] : cases) plans.push_back({configuration, std::move(step)});
  return plans;
}

namespace detail {

/// The conditions under which rows of `files` were measured, each as a case of model `model`.
[[nodiscard]] inline std::vector<result::configuration_name> measured_conditions(
    const group& files, const std::string& model) {
  std::vector<result::configuration_name> conditions;
  std::set<result::configuration_name> seen;
  for (const result::results* file : files) {
    for (const result::measurement& row : file->rows) {
      result::configuration_name configuration = row.name.configuration;
      if (configuration.model == layerbench::model::peak_model || configuration.contended())
        continue;
      configuration.model = model;
      if (seen.insert(configuration).second) conditions.push_back(configuration);
    }
  }
  return conditions;
}

/// Ops that the files' chains and rows ran in place; nothing where the context does not say.
[[nodiscard]] inline std::optional<model::op_names> in_place_ops(const group& files) {
  const auto words = files.front()->context_value("in_place");
  if (!words) return std::nullopt;
  model::op_names ops;
  for (const std::string_view name : result::detail::split(*words, ',')) ops.emplace(name);
  return ops;
}

/// How the files' training steps update the weights.
[[nodiscard]] inline model::training training_of(const group& files) {
  const auto words = files.front()->context_value("optimizer");
  return words ? model::training_of(*words) : model::training{};
}

/// The step of the case `owner` of model `own`, read from `path`; nothing where that has no
/// parameter for the batch. With the states of its operands where `files` say what runs in place,
/// and the backend inserts nothing, as it may with layout any and in training.
[[nodiscard]] inline std::optional<std::vector<result::planned>> step_of(
    const model::graph& own, const std::filesystem::path& path,
    const result::configuration_name& configuration, const group& files) {
  const bool same = configuration.batch == model::batch(own);
  if (!same && !own.parameters.contains("batch")) return std::nullopt;
  const model::graph graph = same ? own : model::load(path, configuration.batch);
  const auto type = dtype_from(configuration.dtype);
  const auto in_place = in_place_ops(files);
  const bool trains = configuration.phase() == "training";
  const bool reordered = trains || configuration.parameter("layout", "nhwc") == "any";
  const model::op_names ops = in_place.value_or(model::op_names{});
  const dtype of = type.value_or(dtype::f32);
  const model::step calls =
      model::step_of(graph, configuration.phase(), of, ops, training_of(files));
  std::optional<model::step_memory> memory;
  if (in_place && type && !reordered) memory.emplace(calls, model::least_operand_bytes(*type));
  std::vector<result::planned> step;
  for (const model::primitive& primitive : model::primitives(calls)) {
    step.push_back(memory ? result::planned_of(primitive, memory->usual(primitive), of)
                          : result::planned_of(primitive));
  }
  return step;
}

/// Whether a manifest's step, less what a backend inserted, is that of a shape file.
[[nodiscard]] inline bool same_work(const std::vector<result::planned>& known,
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

/// The cases of the model in shape file `path`. Where manifests have cases of a model of that name,
/// it is these: with the manifest's step where that is the same work, which knows what a backend
/// inserts, else with the file's. Where none has, all conditions in `files`; those of its own batch
/// alone where the file has no parameter of that name.
[[nodiscard]] inline std::vector<planned_case> cases_of_file(const group& files,
                                                             const std::filesystem::path& path) {
  const model::graph own = model::load(path);
  std::vector<planned_case> known = planned_cases(files);
  std::erase_if(
      known, [&](const planned_case& element) { return element.configuration.model != own.name; });
  if (known.empty()) {
    for (const auto& configuration : detail::measured_conditions(files, own.name)) {
      known.push_back({configuration, {}});
    }
  }
  std::vector<planned_case> cases;
  for (planned_case& item : known) {
    auto derived = detail::step_of(own, path, item.configuration, files);
    if (!derived) continue;
    if (!detail::same_work(item.step, *derived))
      item = {item.configuration, std::move(*derived), true};
    cases.push_back(std::move(item));
  }
  return cases;
}

}  // namespace layerbench::analysis
