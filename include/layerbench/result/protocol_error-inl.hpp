// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include <layerbench/base/compiled.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/protocol_error.hpp>
#include <layerbench/result/protocol_error_table.hpp>

namespace layerbench::result {

namespace detail {

/// The kinds of our own steps; all others are engines.
inline constexpr std::array<std::string_view, 6> step_kinds{"streams",  "ranks", "recurrent",
                                                            "training", "fused", "inference"};

[[nodiscard]] inline bool is_of_engine(std::string_view kind) {
  return !kind.empty() && std::ranges::find(step_kinds, kind) == step_kinds.end();
}

/// The largest error of those that `fits`, as of a kind without cases; nothing if none does.
template <class Fits>
[[nodiscard]] std::optional<protocol_error> largest_error(Fits&& fits) {
  std::optional<protocol_error> largest;
  for (const learned_error& one : protocol_errors) {
    if (fits(one)) largest = {std::max(largest ? largest->relative : 0, one.relative), 0};
  }
  return largest;
}

}  // namespace detail

LAYERBENCH_INLINE std::string_view step_kind(const case_name& model_case, bool is_recurrent) {
  const auto& [streams, ranks, recurrent, training, fused, inference] = detail::step_kinds;
  if (model_case.streams() > 1) return streams;
  if (model_case.ranks() > 1) return ranks;
  if (is_recurrent) return recurrent;
  if (model_case.phase() == "training") return training;
  return model_case.fused() ? fused : inference;
}

LAYERBENCH_INLINE std::optional<protocol_error> protocol_error_of(const summed_step& step) {
  const bool disturbed = step.disturbed > much_disturbed;
  const step_length steps =
      step.seconds < short_step_seconds ? step_length::short_steps : step_length::long_steps;
  for (const step_length length : {steps, step_length::all}) {
    for (const learned_error& one : protocol_errors) {
      if (one.backend == step.backend && one.kind == step.kind && one.disturbed == disturbed &&
          one.steps == length) {
        return protocol_error{one.relative, one.cases};
      }
    }
  }
  if (detail::is_of_engine(step.kind)) {
    return detail::largest_error([&](const learned_error& one) { return one.kind == step.kind; });
  }
  const auto is_alike = [&](const learned_error& one) {
    return one.disturbed == disturbed && !detail::is_of_engine(one.kind);
  };
  const auto of_backend = detail::largest_error(
      [&](const learned_error& one) { return is_alike(one) && one.backend == step.backend; });
  return of_backend ? of_backend : detail::largest_error(is_alike);
}

}  // namespace layerbench::result
