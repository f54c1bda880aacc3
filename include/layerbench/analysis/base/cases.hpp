// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <layerbench/model/graph.hpp>
#include <layerbench/model/optimizer.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/result/measurement.hpp>

/// The cases of result files: from their manifests, or from shape files.
namespace layerbench::analysis {

/// Files whose contexts agree, so that their rows may be merged.
using group = std::vector<const result::results*>;

[[nodiscard]] group group_of(std::span<const result::results> files);

/// Groups files by context, in the order of the files.
[[nodiscard]] std::vector<group> group_by_context(std::span<const result::results> files);

/// The files that are not merged because their contexts differ, one sentence each.
[[nodiscard]] std::vector<std::string> incompatible_files(std::span<const result::results> files);

namespace detail {

/// The threads of a case: its parameter, else the field of the files' context; 0 if unknown.
[[nodiscard]] std::int64_t threads(const result::case_name& model_case, const group& files);

}  // namespace detail

/// The primitives of one step of a case.
struct planned_case {
  result::case_name model_case;
  std::vector<result::planned> step;
  bool derived = false;  ///< from a shape file, without the primitives that a backend would insert
};

/// The share of the model's FLOPs that its import left out; nothing if it is whole.
[[nodiscard]] inline std::optional<double> left_out(const planned_case& planned) {
  return planned.step.empty() ? std::nullopt : planned.step.front().left_out;
}

/// The parameters of a model's shape file, loaded as `shipped`, that a case has other values for.
[[nodiscard]] model::parameter_values replaced_parameters(const model::graph& shipped,
                                                          const result::case_name& model_case);

/// The cases of the files' manifests, in their order. If several files have a case, the most
/// complete step is used: a longer one includes the reorders that a backend inserted.
[[nodiscard]] std::vector<planned_case> planned_cases(const group& files);

namespace detail {

/// The optimizer of the files' training steps.
[[nodiscard]] model::training training_of(const group& files);

/// A model as a case has it, fused and with the case's sizes, and the calls of its step.
struct derived_step {
  model::graph graph;
  model::step calls;
};

/// The step of a case of the model in shape file `path`, loaded as `shipped`; nothing if the file
/// has no parameter for the case's batch, tokens or context, or if its fusion plan is not shipped.
[[nodiscard]] std::optional<derived_step> derived_step_of(const model::graph& shipped,
                                                          const std::filesystem::path& path,
                                                          const result::case_name& model_case,
                                                          const group& files);

/// Its primitives, as a manifest has them. Cache states are added, if wanted, where `files` say
/// which ops ran in place and the backend cannot have inserted reorders, as it may in training and
/// with layout any.
[[nodiscard]] std::vector<result::planned> planned_of(const derived_step& derived,
                                                      const result::case_name& model_case,
                                                      const group& files, bool with_states = true);

/// Whether a manifest's step, without inserted primitives, has the same work as a shape file's.
[[nodiscard]] bool same_work(const std::vector<result::planned>& known,
                             const std::vector<result::planned>& derived);

}  // namespace detail

/// The cases of the model in shape file `path`: those of the manifests for a model of that name,
/// else one for each case measured in `files`. A manifest's step is used if it has the same work as
/// the shape file, because it includes the primitives that a backend inserted. A shape file without
/// a parameter `batch` only gives cases of its own batch; the same holds for `tokens` and
/// `context`.
[[nodiscard]] std::vector<planned_case> cases_of_file(const group& files,
                                                      const std::filesystem::path& path);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/base/cases-inl.hpp>
#endif
