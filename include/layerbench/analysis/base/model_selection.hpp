// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/base/cases.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>

/// The selection of cases by model.
namespace layerbench::analysis {

/// A chosen model: the name of one in a manifest, or a shape file.
struct model_choice {
  std::string model;
  std::optional<std::filesystem::path> file;
};

namespace detail {

[[nodiscard]] inline bool in_manifest(std::span<const result::results> files,
                                      std::string_view model) {
  return std::ranges::any_of(files, [&](const result::results& file) {
    return std::ranges::any_of(file.manifest,
                               [&](const auto& entry) { return entry.first.model == model; });
  });
}

}  // namespace detail

/// A list of the cases in the files, for error messages.
[[nodiscard]] inline std::string list_cases(std::span<const result::results> files) {
  std::set<std::string> names;
  for (const result::results& file : files) {
    for (const auto& [model_case, step] : file.manifest) names.insert(model_case.text());
  }
  if (names.empty()) {
    return "the files have no manifest, so no cases; rows of sweeps are parts of no model";
  }
  return fmt::format("cases in the files: {}", fmt::join(names, " "));
}

/// Resolves `models`, names or paths of shape files: models of the manifests first, then shape
/// files in the directory `shapes`. Throws nothing_matched, listing the cases, for an unknown name.
[[nodiscard]] inline std::vector<model_choice> resolve_models(
    std::span<const result::results> files, const std::vector<std::string>& models,
    const std::filesystem::path& shapes) {
  std::vector<model_choice> choices;
  for (const std::string& name : models) {
    if (detail::in_manifest(files, name)) {
      choices.push_back({name, std::nullopt});
      continue;
    }
    try {
      const std::filesystem::path path = model::find(name, shapes);
      choices.push_back({model::load_model(path).name, path});
    } catch (const nothing_matched& unknown) {
      throw nothing_matched(fmt::format("{}; {}", unknown.what(), list_cases(files)));
    }
  }
  return choices;
}

/// The cases of the chosen models under the conditions of those in `files`, in the order of the
/// choices, each once. Without choices all cases of the manifests, in their order.
[[nodiscard]] inline std::vector<planned_case> cases_of(const group& files,
                                                        const std::vector<model_choice>& choices) {
  std::vector<planned_case> known = planned_cases(files);
  if (choices.empty()) return known;
  std::vector<planned_case> chosen;
  std::set<result::case_name> seen;
  for (const auto& [model, file] : choices) {
    for (const planned_case& candidate : file ? cases_of_file(files, *file) : known) {
      if (!file && candidate.model_case.model != model) continue;
      if (seen.insert(candidate.model_case).second) chosen.push_back(candidate);
    }
  }
  return chosen;
}

}  // namespace layerbench::analysis
