// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <layerbench/result/name.hpp>

/// How far sums of `cache:model` timings are from measured steps, beside what their rounds explain.
namespace layerbench::result {

enum class step_length { all, short_steps, long_steps };

/// The relative error that 95 % of the validated cases of a kind stay within. Empty texts mean all.
struct learned_error {
  std::string_view backend;
  std::string_view kind;  ///< see step_kind(); or an engine, whose steps were compared
  bool disturbed;         ///< result::much_disturbed
  step_length steps;      ///< shorter or longer than short_step_seconds
  double relative;
  std::size_t cases;
};

/// What changes the error of a sum and is known before its step is measured.
struct summed_step {
  std::string_view backend;
  std::string_view kind;
  double disturbed;  ///< share of the timings
  double seconds;
};

/// The kind of a step: "ranks", "recurrent", "training", "fused" or "inference", the first that
/// fits.
[[nodiscard]] std::string_view step_kind(const case_name& model_case, bool is_recurrent);

/// The relative error of a sum.
struct protocol_error {
  double relative;
  std::size_t cases;  ///< of its own kind; 0: too few are known, so it is the largest
};

/// The error that tools/protocol_errors.py learned from the cases of results/. Kinds with fewer
/// than 20 cases have the largest error of what is like them: an engine its own, our steps that of
/// their backend, or of all if it has no cases either. Nothing for an engine without cases.
[[nodiscard]] std::optional<protocol_error> protocol_error_of(const summed_step& step);

}  // namespace layerbench::result

#ifndef LAYERBENCH_COMPILED
#include <layerbench/result/protocol_error-inl.hpp>
#endif
