// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <ranges>
#include <string_view>

#include <layerbench/op/rnn.hpp>
#include <layerbench/result/name.hpp>

/// How far sums of `cache:model` timings are from measured steps, beside what their rounds explain.
namespace layerbench::result {

/// What changes the error of a sum and is known before its step is measured.
struct summed_step {
  std::string_view backend;
  std::string_view kind;
  double disturbed;  ///< share of the timings
  double seconds;
};

/// The kind of a step: "streams", "ranks", "recurrent", "training", "fused" or "inference", the
/// first that fits.
[[nodiscard]] std::string_view step_kind(const case_name& model_case, bool is_recurrent);

/// The same, by the names of the step's ops.
template <std::ranges::input_range Names>
[[nodiscard]] std::string_view step_kind(const case_name& model_case, Names&& ops) {
  return step_kind(model_case, std::ranges::find(ops, op::rnn::name) != std::ranges::end(ops));
}

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
