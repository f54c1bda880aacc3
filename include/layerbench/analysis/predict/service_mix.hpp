// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/predict/derived_figure.hpp>
#include <layerbench/base/split.hpp>
#include <layerbench/result/name.hpp>

/// What a service of texts does: its requests read a prompt and decode an answer. Both steps are
/// predicted, how many of them a request takes is the user's.
namespace layerbench::analysis {

/// The steps of a request.
struct service_mix {
  std::int64_t prompts = 1;  ///< steps that read the prompt
  std::int64_t decodes = 1;  ///< steps that decode the answer

  /// Reads "PROMPTS:DECODES"; nothing for other texts.
  [[nodiscard]] static std::optional<service_mix> parse(std::string_view text) {
    const std::vector<std::string_view> parts = split(text, ':');
    if (parts.size() != 2) return std::nullopt;
    const auto prompts = result::detail::count_of(parts[0]);
    const auto decodes = result::detail::count_of(parts[1]);
    if (!prompts || !decodes) return std::nullopt;
    return service_mix{*prompts, *decodes};
  }
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
  [[nodiscard]] estimate requests_per_second() const {
    return {1 / request.value, 1 / request.high, 1 / request.low, request.digits};
  }
};

namespace detail {

/// Whether a case reads prompts (context 0) or decodes behind them.
[[nodiscard]] inline bool serves(const prediction& p, bool prompts) {
  return p.text && p.step && p.model_case.phase() == "inference" &&
         (p.text->context == 0) == prompts;
}

/// Whether two cases differ in nothing but batch, tokens and context.
[[nodiscard]] inline bool same_service(const prediction& a, const prediction& b) {
  const auto common = [](const prediction& p) {
    result::case_name model_case = p.model_case;
    model_case.batch = 1;
    for (const char* name : {"tokens", "context"}) model_case.parameters.erase(name);
    return model_case;
  };
  return common(a) == common(b) && a.files == b.files && a.cache == b.cache;
}

/// Seconds of the machine that one of the sequences of all batches takes.
[[nodiscard]] inline estimate seconds_per_sequence(const prediction& p) {
  return seconds_of(p).times(1 / static_cast<double>(p.model_case.images()));
}

}  // namespace detail

/// The services of the predictions: each case that reads prompts with each that decodes on the same
/// model, machine and settings. Batches may differ. Their intervals add up.
[[nodiscard]] inline std::vector<service> services_of(std::span<const prediction> predictions,
                                                      const service_mix& mix) {
  std::vector<service> all;
  for (const prediction& prompt : predictions) {
    for (const prediction& decode : predictions) {
      if (!detail::serves(prompt, true) || !detail::serves(decode, false)) continue;
      if (!detail::same_service(prompt, decode)) continue;
      const estimate first =
          detail::seconds_per_sequence(prompt).times(static_cast<double>(mix.prompts));
      const estimate others =
          detail::seconds_per_sequence(decode).times(static_cast<double>(mix.decodes));
      all.push_back(
          {&prompt, &decode, first.plus(others),
           1 + static_cast<double>(mix.decodes) * static_cast<double>(decode.text->tokens),
           seconds_of(prompt).times(static_cast<double>(mix.prompts))});
    }
  }
  return all;
}

}  // namespace layerbench::analysis
