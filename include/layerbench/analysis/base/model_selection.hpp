// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <layerbench/analysis/base/cases.hpp>

/// The selection of cases by model.
namespace layerbench::analysis {

/// A chosen model: the name of one in a manifest, or a shape file.
struct model_choice {
  std::string model;
  std::optional<std::filesystem::path> file;
};

/// A list of the cases in the files, for error messages.
[[nodiscard]] std::string list_cases(std::span<const result::results> files);

/// Resolves `models`, names or paths of shape files: models of the manifests first, then shape
/// files in the directory `shapes`. Throws nothing_matched, listing the cases, for an unknown name.
[[nodiscard]] std::vector<model_choice> resolve_models(std::span<const result::results> files,
                                                       const std::vector<std::string>& models,
                                                       const std::filesystem::path& shapes);

/// The cases of the chosen models, under the conditions of the cases of `files`, in the order of
/// the choices, each once. Without choices all cases of the manifests, in their order.
[[nodiscard]] std::vector<planned_case> cases_of(const group& files,
                                                 const std::vector<model_choice>& choices);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/base/model_selection-inl.hpp>
#endif
