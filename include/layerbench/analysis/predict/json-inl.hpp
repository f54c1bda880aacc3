// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>

#include <layerbench/analysis/base/case_json.hpp>
#include <layerbench/analysis/predict/derived_figure.hpp>
#include <layerbench/analysis/predict/json.hpp>
#include <layerbench/analysis/predict/text.hpp>
#include <layerbench/analysis/roofline/json.hpp>
#include <layerbench/base/compiled.hpp>

namespace layerbench::analysis {

namespace detail {

[[nodiscard]] inline json::value layer_json(const layer_time& layer) {
  json::value result{{"name", layer.name},
                     {"op", layer.op},
                     {"pass", layer.pass},
                     {"part", name(layer.part)},
                     {"key", layer.key},
                     {"count", layer.count},
                     {"inserted", layer.inserted},
                     {"seconds", layer.seconds},
                     {"seconds_low", layer.low},
                     {"seconds_high", layer.high},
                     {"share", layer.share},
                     {"bound", nullptr},
                     {"percent_of_peak", nullptr},
                     {"seconds_at_peak", nullptr},
                     {"flops_exact", or_null(layer.flops)},
                     {"flops", or_null(layer.padded_flops)},
                     {"bytes", or_null(bytes(layer))},
                     {"arithmetic_intensity", or_null(arithmetic_intensity(layer))}};
  if (layer.roofs) {
    result["bound"] = layer.roofs->bound();
    result["percent_of_peak"] = 100 * *share_of_roof(layer);
    result["seconds_at_peak"] = layer.roofs->seconds();
  }
  return result;
}

/// The measured energies of the step.
[[nodiscard]] inline json::value energies_json(const prediction& p) {
  json::value list = json::value::array();
  for (const step_energy& of : p.energies) {
    const auto figures = [&](const joules& one) -> json::value {
      return {{"joules_per_step", one.mean},
              {"low", one.low},
              {"high", one.high},
              {"joules_per_image", p.per_image(one.mean)},
              {"images_per_joule", or_null(p.images_per_joule(one.mean))},
              {"layers_joules", or_null(one.layers)}};
    };
    list.push_back({{"counter", of.counter},
                    {"class", of.evidence},
                    {"coverage", of.coverage},
                    {"gross", figures(of.gross)},
                    {"net", figures(of.net)},
                    {"idle_watts", of.idle_watts},
                    {"windows", of.windows},
                    {"disturbed_windows", of.disturbed}});
  }
  return list;
}

/// Bytes of the step by policy.
[[nodiscard]] inline json::value memory_json(const prediction& p) {
  json::value bytes;
  for (const memory_total& total : p.memory) bytes[name(total.policy)] = total.bytes();
  return bytes;
}

LAYERBENCH_INLINE json::value prediction_json(const prediction& p) {
  json::value layers = json::value::array();
  for (const layer_time& layer : p.layers) layers.push_back(layer_json(layer));
  json::value result = case_fields(p.model_case);
  result.update({{"threads", p.threads},
                 {"streams", p.model_case.streams()},
                 {"devices", 1},
                 {"case", p.model_case.text()},
                 {"files", p.files},
                 {"derived", p.derived},
                 {"cache", p.cache},
                 {"method", p.method}});
  for (const auto& [name, seconds] : times(p)) result[name] = or_null(seconds);
  if (p.engine) {
    result["engine"] = {{"name", p.engine->engine},
                        {"calls", p.calls},
                        {"call_seconds", p.engine->call_seconds},
                        {"step_seconds", p.engine->step_seconds},
                        {"large_result_bytes", p.large_result_bytes},
                        {"large_byte_seconds", p.engine->large_byte_seconds},
                        {"kernel_seconds", p.engine_kernels}};
  }
  result["protocol_cases"] =
      p.step && p.step->protocol_half_width ? json::value(p.step->protocol_cases) : nullptr;
  result["interval"] = p.step ? json::value(interval_name(p)) : json::value(nullptr);
  result["rounds"] = p.rounds;
  result["interrupted"] = p.interrupted;
  result["images_per_second"] = or_null(p.images_per_second());
  result["tokens"] = p.text ? json::value(p.text->tokens) : json::value(nullptr);
  result["context"] = p.text ? json::value(p.text->context) : json::value(nullptr);
  result["tokens_per_second"] = or_null(p.tokens_per_second());
  result["memory_bytes"] = memory_json(p);
  if (p.latencies) result["latency_seconds"] = latencies_json(*p.latencies);
  if (!p.energies.empty()) result["energies"] = energies_json(p);
  result["partial"] = p.partial();
  result["left_out"] = or_null(p.left_out);
  result["disturbed"] = p.disturbed;
  result["coverage"] = p.coverage;
  result["missing"] = p.missing;
  add_bottlenecks(result, p);
  result["layers"] = std::move(layers);
  return result;
}

}  // namespace detail

LAYERBENCH_INLINE json::value to_json(std::span<const prediction> predictions) {
  json::value list = json::value::array();
  for (const prediction& p : predictions) list.push_back(detail::prediction_json(p));
  return {{"schema", 1}, {"predictions", list}};
}

namespace detail {

[[nodiscard]] inline json::value estimate_json(const estimate& of) {
  const auto bound = [&](double value) {
    return of.has_interval() ? json::value(value) : json::value(nullptr);
  };
  return {{"value", of.value}, {"low", bound(of.low)}, {"high", bound(of.high)}};
}

}  // namespace detail

LAYERBENCH_INLINE void add_fusion_gains(json::value& to, std::span<const fusion_gain> gains) {
  for (const fusion_gain& gain : gains) {
    json::value calls = json::value::array();
    for (const fused_call& call : gain.calls) {
      calls.push_back({{"name", call.name},
                       {"count", call.count},
                       {"seconds_apart", detail::estimate_json(call.apart)},
                       {"seconds_fused", detail::estimate_json(call.together)},
                       {"loses", call.loses()}});
    }
    to["fusions"].push_back({{"case", gain.fused->model_case.text()},
                             {"seconds_apart", gain.apart->step->seconds},
                             {"seconds_fused", gain.fused->step->seconds},
                             {"calls", calls}});
  }
}

LAYERBENCH_INLINE void add_services(json::value& to, std::span<const service> services,
                                    const service_mix& mix) {
  to["services"] = json::value::array();
  for (const service& one : services) {
    const estimate requests = rate_of(one.request);
    to["services"].push_back(
        {{"prompt", one.prompt->model_case.text()},
         {"decode", one.decode->model_case.text()},
         {"prompt_steps", mix.prompts},
         {"decode_steps", mix.decodes},
         {"partial", one.partial()},
         {"seconds_to_first_token", detail::estimate_json(one.to_first_token)},
         {"seconds_per_decode_step", detail::estimate_json(seconds_of(*one.decode))},
         {"requests_per_second", detail::estimate_json(requests)},
         {"tokens_per_second", detail::estimate_json(requests.times(one.tokens))}});
    if (one.speculative.empty()) continue;
    json::value steps = json::value::array();
    for (const speculative_step& step : one.speculative) {
      const estimate rate = rate_of(step.request);
      const double tokens = step.tokens * static_cast<double>(one.decode->model_case.images());
      steps.push_back({{"guesses", step.guesses},
                       {"decode", step.target->model_case.text()},
                       {"partial", step.partial},
                       {"tokens_per_step", step.tokens},
                       {"seconds_per_step", detail::estimate_json(step.seconds)},
                       {"decoded_tokens_per_second",
                        detail::estimate_json(rate_of(step.seconds).times(tokens))},
                       {"requests_per_second", detail::estimate_json(rate)},
                       {"tokens_per_second", detail::estimate_json(rate.times(one.tokens))}});
    }
    to["services"].back()["speculation"] = {{"draft", mix.draft},
                                            {"acceptance", mix.acceptance},
                                            {"best_guesses", one.best_guesses()},
                                            {"steps", std::move(steps)}};
  }
}

LAYERBENCH_INLINE void add_training_runs(json::value& to, std::span<const prediction> predictions,
                                         const training_run& run) {
  to["training_runs"] = json::value::array();
  for (const prediction& p : predictions) {
    const std::optional<estimate> hours = hours_of(run, p);
    if (!hours) continue;
    json::value item{{"case", p.model_case.text()},
                     {"epochs", run.epochs},
                     {"images", run.images},
                     {"steps", steps_of(run, p)},
                     {"hours", detail::estimate_json(*hours)}};
    if (const auto price = price_of(run, *hours)) {
      item["price_per_hour"] = *run.price_per_hour;
      item["price"] = detail::estimate_json(*price);
    }
    to["training_runs"].push_back(std::move(item));
  }
}

}  // namespace layerbench::analysis
