// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <utility>

#include <layerbench/analysis/base/json.hpp>
#include <layerbench/analysis/predict/json.hpp>
#include <layerbench/analysis/predict/text.hpp>
#include <layerbench/analysis/roofline/json.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/shape/json.hpp>

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

LAYERBENCH_INLINE json::value prediction_json(const prediction& p) {
  json::value layers = json::value::array();
  for (const layer_time& layer : p.layers) layers.push_back(layer_json(layer));
  json::value result{{"model", p.configuration.model},
                     {"phase", p.configuration.phase()},
                     {"backend", p.configuration.backend},
                     {"dtype", p.configuration.dtype},
                     {"batch", p.configuration.batch},
                     {"threads", p.threads},
                     {"devices", 1},
                     {"case", p.configuration.text()},
                     {"files", p.files},
                     {"derived", p.derived},
                     {"cache", p.cache},
                     {"method", p.method}};
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
  result["interval"] = p.step ? json::value(interval_name(p)) : json::value(nullptr);
  result["rounds"] = p.rounds;
  result["interrupted"] = p.interrupted;
  result["images_per_second"] = or_null(p.images_per_second());
  result["tokens"] = p.text ? json::value(p.text->tokens) : json::value(nullptr);
  result["context"] = p.text ? json::value(p.text->context) : json::value(nullptr);
  result["tokens_per_second"] = or_null(p.tokens_per_second());
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

}  // namespace layerbench::analysis
