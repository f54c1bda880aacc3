// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/analysis/base/model_selection.hpp>
#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/base/timings.hpp>

/// Prediction of a model's step from the timings of its primitives.
namespace layerbench::analysis {

struct options {
  std::vector<std::string> models;    ///< names or paths of shape files; empty: all in manifests
  std::string phase = {};             ///< empty: all phases
  bool allow_partial = false;         ///< add up the measured layers although some are missing
  std::filesystem::path shapes = {};  ///< directory of the shape files
  std::string cache = {};             ///< cache state of the timings used; empty: see predict()
  double overhead_per_layer = 0;      ///< framework's seconds per execution of a layer
  double overhead_per_step = 0;       ///< framework's seconds per step
  std::span<const result::results> peaks = {};  ///< files with peaks; empty: the files themselves
  std::vector<model::step_part> parts = {};     ///< parts of the step to add up; empty: all
};

namespace detail {

/// A planned primitive, its timing and the mean of the timing.
struct timed_primitive {
  const result::planned* planned;
  timing rounds;
  double seconds;
};

/// The terms of the sum over a step, which must outlive them.
[[nodiscard]] std::vector<term> terms(const std::vector<timed_primitive>& step);

/// The part of a step that timings of one cache state cover.
struct covered_step {
  std::vector<timed_primitive> step;
  std::vector<std::string> missing;  ///< layers without a timing
  bool own = false;                  ///< some timings are from rows of the case itself
};

/// Finds the timings of a case in a cache state. A primitive of unknown state only uses hot
/// timings, because no other timing is known to match its state.
[[nodiscard]] covered_step find_timings(const planned_case& planned, const timings& measured,
                                        std::string_view cache);

/// Throws bad_input for files that only have aggregates, which would look like empty files.
void require_rounds(const group& files);

/// The shape file of a case that was given by its path: the chosen one, else the one that its files
/// name, where it still holds the model of that name.
[[nodiscard]] std::optional<std::filesystem::path> given_path(const result::case_name& model_case,
                                                              const group& its_files,
                                                              const options& chosen);

[[nodiscard]] timings timings_of(const group& files);

/// The device of a prediction's files, which agree in it.
[[nodiscard]] std::string device_of(const prediction& predicted,
                                    std::span<const result::results> files);

/// A case of comparable files, and its prediction.
struct predicted_case {
  planned_case planned;
  group files;
  prediction predicted;
};

/// The chosen cases of comparable files.
[[nodiscard]] std::vector<predicted_case> predicted_cases(const group& files,
                                                          const std::vector<model_choice>& choices,
                                                          const options& chosen);

}  // namespace detail

/// Predicts one case from the timings measured in `files`.
[[nodiscard]] prediction predict_case(const planned_case& planned, const timings& measured,
                                      const group& files, const options& chosen);

/// Whether the phase and the model of a case were chosen; `choices` is the result of
/// resolve_models().
[[nodiscard]] bool is_chosen(const result::case_name& model_case, const options& chosen,
                             std::span<const model_choice> choices);

/// Predicts every case of the files' manifests, or those of the chosen models: from a manifest that
/// has the model, else from its shape file, for every measured case. If no cache state is
/// chosen, `model` is used for cases with rows of their own in it or with rows of other cases for
/// all layers, else `hot`; the two are never mixed. Files of differing contexts are never merged:
/// each group predicts separately. Throws nothing_matched, listing the cases, if a chosen model is
/// unknown or there is no case, and bad_input for a file with aggregates but no rounds, or with the
/// peaks of another device.
[[nodiscard]] std::vector<prediction> predict(std::span<const result::results> files,
                                              const options& chosen = {});

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/base/predictor-inl.hpp>
#endif
