// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/predict/derived_figure.hpp>
#include <layerbench/base/split.hpp>
#include <layerbench/result/name.hpp>

/// What a service of texts does: its requests read a prompt and decode an answer. Both steps are
/// predicted, how many of them a request takes is the user's.
namespace layerbench::analysis {

/// How many of these times fit into a second.
[[nodiscard]] inline estimate rate_of(const estimate& seconds) {
  return {1 / seconds.value, 1 / seconds.high, 1 / seconds.low, seconds.digits};
}

/// The steps of a request.
struct service_mix {
  std::int64_t prompts = 1;  ///< steps that read the prompt
  std::int64_t decodes = 1;  ///< steps that decode the answer
  std::string draft = {};    ///< model that guesses tokens in speculative decoding; empty: none
  double acceptance = 0;     ///< share of its guesses that are accepted, 0 to 1

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

/// A step of speculative decoding: the draft model guesses tokens one by one, and a step of the
/// model checks them all (Leviathan, Kalman and Matias 2023, arXiv:2211.17192).
struct speculative_step {
  std::int64_t guesses;      ///< 0: plain decoding
  const prediction* target;  ///< the step of the model, of guesses + 1 tokens
  double tokens;             ///< expected, of a sequence
  estimate seconds;          ///< of the step and of the draft's
  estimate request;          ///< seconds of a request, as below
  bool partial = false;      ///< whether a step lacks layers
};

/// Tokens that a step of the model is expected to give if each of the guesses before is accepted
/// with this probability, independently: (1 - a^(k + 1)) / (1 - a), equation 1 of Leviathan et al.
[[nodiscard]] inline double expected_tokens(double acceptance, std::int64_t guesses) {
  double sum = 1;
  for (std::int64_t i = 0; i < guesses; ++i) sum = 1 + acceptance * sum;
  return sum;
}

/// A service that runs the steps of its requests one after the other.
struct service {
  const prediction* prompt;
  const prediction* decode;
  estimate request;  ///< seconds of a request, where its batches are full
  double tokens;     ///< that a request gets: one of the prompt, and those of the decoding steps
  estimate to_first_token;  ///< seconds: all steps that read the prompt
  /// Of speculative decoding, by guesses. Plain decoding is the first.
  std::vector<speculative_step> speculative = {};

  /// Whether a step lacks layers: its time is a lower bound, and the rates are upper bounds.
  [[nodiscard]] bool partial() const { return prompt->partial() || decode->partial(); }

  /// The number of guesses of the least time per request; 0 where plain decoding is faster.
  [[nodiscard]] std::int64_t best_guesses() const {
    const auto seconds = [](const speculative_step& one) { return one.request.value; };
    return std::ranges::min_element(speculative, {}, seconds)->guesses;
  }
};

namespace detail {

/// Whether a case reads prompts (context 0) or decodes behind them.
[[nodiscard]] inline bool serves(const prediction& p, bool prompts) {
  return p.text && p.step && p.model_case.phase() == "inference" &&
         (p.text->context == 0) == prompts;
}

/// Whether two cases differ in nothing but batch, tokens and context, and the model where it may.
[[nodiscard]] inline bool same_service(const prediction& a, const prediction& b,
                                       bool any_model = false) {
  const auto common = [&](const prediction& p) {
    result::case_name model_case = p.model_case;
    if (any_model) model_case.model.clear();
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

/// Adds the steps of speculative decoding for which the service's model and its draft were
/// measured, with the same batch and context. The draft reads the prompt, too.
inline void add_speculation(service& to, std::span<const prediction> predictions,
                            const service_mix& mix) {
  const auto is = [](const prediction& p, const prediction& like, const std::string& model) {
    return p.text && p.step && p.text->context == like.text->context &&
           p.model_case.model == model && p.model_case.batch == like.model_case.batch &&
           same_service(p, like, /*any_model=*/true);
  };
  const auto find = [&](const prediction& like) {
    return std::ranges::find_if(predictions, [&](const prediction& p) {
      return is(p, like, mix.draft) && p.text->tokens == like.text->tokens;
    });
  };
  const prediction& plain = *to.decode;
  const auto draft_prompt = find(*to.prompt);
  const auto draft = find(plain);
  if (draft_prompt == predictions.end() || draft == predictions.end()) return;
  to.speculative.push_back({0, &plain, 1, seconds_of(plain), to.request, to.partial()});
  const estimate prompts = seconds_per_sequence(*to.prompt)
                               .plus(seconds_per_sequence(*draft_prompt))
                               .times(static_cast<double>(mix.prompts));
  for (const prediction& target : predictions) {
    if (!is(target, plain, plain.model_case.model) || target.text->tokens < 2) continue;
    const std::int64_t guesses = target.text->tokens - 1;
    const double tokens = expected_tokens(mix.acceptance, guesses);
    const estimate step =
        seconds_of(target).plus(seconds_of(*draft).times(static_cast<double>(guesses)));
    const double steps = static_cast<double>(mix.decodes) / tokens;
    to.speculative.push_back(
        {guesses, &target, tokens, step,
         prompts.plus(step.times(steps / static_cast<double>(plain.model_case.images()))),
         to.partial() || target.partial() || draft->partial() || draft_prompt->partial()});
  }
  std::ranges::sort(to.speculative, {}, &speculative_step::guesses);
}

}  // namespace detail

/// The services of the predictions: each case that reads prompts with each that decodes on the same
/// model, machine and settings. Batches may differ. Their intervals add up. With a draft model,
/// those of other models that decode token by token.
[[nodiscard]] inline std::vector<service> services_of(std::span<const prediction> predictions,
                                                      const service_mix& mix) {
  std::vector<service> all;
  for (const prediction& prompt : predictions) {
    for (const prediction& decode : predictions) {
      if (!detail::serves(prompt, true) || !detail::serves(decode, false)) continue;
      if (!detail::same_service(prompt, decode)) continue;
      if (!mix.draft.empty() && (decode.text->tokens > 1 || decode.model_case.model == mix.draft)) {
        continue;
      }
      const estimate first =
          detail::seconds_per_sequence(prompt).times(static_cast<double>(mix.prompts));
      const estimate others =
          detail::seconds_per_sequence(decode).times(static_cast<double>(mix.decodes));
      all.push_back(
          {&prompt, &decode, first.plus(others),
           1 + static_cast<double>(mix.decodes) * static_cast<double>(decode.text->tokens),
           seconds_of(prompt).times(static_cast<double>(mix.prompts))});
      if (!mix.draft.empty()) detail::add_speculation(all.back(), predictions, mix);
    }
  }
  return all;
}

}  // namespace layerbench::analysis
