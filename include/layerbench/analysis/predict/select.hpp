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

#include <layerbench/analysis/predict/planned_cases.hpp>
#include <layerbench/model/shape_file.hpp>

/// Which cases are to be predicted.
namespace layerbench::analysis {

/// A chosen model: one of the manifests' by name, or a shape file.
struct choice {
  std::string model;
  std::optional<std::filesystem::path> file;
};

namespace detail {

[[nodiscard]] inline bool is_planned(std::span<const result::results> files,
                                     std::string_view model) {
  return std::ranges::any_of(files, [&](const result::results& file) {
    return std::ranges::any_of(file.manifest,
                               [&](const auto& item) { return item.first.model == model; });
  });
}

}  // namespace detail

/// Names the cases of the files, for whoever asked for another one.
[[nodiscard]] inline std::string known_cases(std::span<const result::results> files) {
  std::set<std::string> names;
  for (const result::results& file : files) {
    for (const auto& [configuration, step] : file.manifest) names.insert(configuration.text());
  }
  if (names.empty()) return "the files have no manifest, so no cases";
  return fmt::format("cases in the files: {}", fmt::join(names, " "));
}

/// What `models`, names or paths of shape files, mean: models of the manifests, else shape files
/// (those of names lie in `shapes`). Throws nothing_matched, listing the cases, for unknown names.
[[nodiscard]] inline std::vector<choice> select(std::span<const result::results> files,
                                                const std::vector<std::string>& models,
                                                const std::filesystem::path& shapes) {
  std::vector<choice> choices;
  for (const std::string& name : models) {
    if (detail::is_planned(files, name)) {
      choices.push_back({name, std::nullopt});
      continue;
    }
    try {
      const std::filesystem::path path = model::find(name, shapes);
      choices.push_back({model::load(path).name, path});
    } catch (const nothing_matched& unknown) {
      throw nothing_matched(fmt::format("{}; {}", unknown.what(), known_cases(files)));
    }
  }
  return choices;
}

/// The cases of the chosen models that rows of `files` can serve, in the order of the choices, each
/// once; all cases of the manifests, in their order, when nothing was chosen.
[[nodiscard]] inline std::vector<planned_case> chosen_cases(const group& files,
                                                            const std::vector<choice>& choices) {
  std::vector<planned_case> known = planned_cases(files);
  if (choices.empty()) return known;
  std::vector<planned_case> chosen;
  std::set<result::configuration_name> seen;
  for (const choice& item : choices) {
    for (const planned_case& candidate : item.file ? cases_of_file(files, *item.file) : known) {
      if (!item.file && candidate.configuration.model != item.model) continue;
      if (seen.insert(candidate.configuration).second) chosen.push_back(candidate);
    }
  }
  return chosen;
}

}  // namespace layerbench::analysis
