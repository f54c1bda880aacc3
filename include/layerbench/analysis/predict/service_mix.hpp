// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/predict/estimate.hpp>

/// What a service of texts does: its requests read a prompt and decode an answer. Both steps are
/// predicted, how many of them a request takes is the user's.
namespace layerbench::analysis {

/// The steps of a request.
struct service_mix {
  std::int64_t prompts = 1;  ///< steps that read the prompt
  std::int64_t decodes = 1;  ///< steps that decode the answer

  /// Reads "PROMPTS:DECODES"; nothing for other texts.
  [[nodiscard]] static std::optional<service_mix> parse(std::string_view text);
};

/// A service that runs the steps of its requests one after the other.
struct service {
  const prediction* prompt;
  const prediction* decode;
  estimate request;  ///< seconds of a request, where its batches are full
  double tokens;     ///< that a request gets: one of the prompt, and those of the decoding steps
  estimate to_first_token;  ///< seconds: all steps that read the prompt

  /// Whether a step lacks layers: its time is a lower bound, and the rates are upper bounds.
  [[nodiscard]] bool partial() const { return prompt->partial() || decode->partial(); }
  [[nodiscard]] estimate requests_per_second() const;
};

/// The services of the predictions: each case that reads prompts with each that decodes on the same
/// model, machine and settings. Batches may differ. Their intervals add up.
[[nodiscard]] std::vector<service> services_of(std::span<const prediction> predictions,
                                               const service_mix& mix);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/predict/service_mix-inl.hpp>
#endif
