// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include <fmt/format.h>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/json.hpp>

/// Predictions for services that track benchmarks over time.
namespace layerbench::analysis {

namespace detail {

/// The name of the case, with its threads wherever they are known.
[[nodiscard]] inline std::string benchmark_name(const prediction& p) {
  const bool has_threads = p.model_case.parameters.contains("threads") || p.threads == 0;
  return has_threads ? p.model_case.text()
                     : fmt::format("{}/threads:{}", p.model_case.text(), p.threads);
}

/// A value, and its bounds if it has an interval.
[[nodiscard]] inline json::value metric(double value, double low, double high) {
  if (low == high) return json::value::object({{"value", value}});
  return {{"value", value}, {"lower_value", low}, {"upper_value", high}};
}

}  // namespace detail

/// Predictions in Bencher's metric format (bencher.dev/docs/reference/bencher-metric-format):
/// `latency` in nanoseconds per step, `throughput` in images per second. Partial predictions are
/// left out: their time is not the model's. Throws usage_error if two have the same name, because
/// their files then differ in something that the name does not say.
[[nodiscard]] inline json::value to_bmf(std::span<const prediction> predictions) {
  json::value result = json::value::object();
  for (const prediction& p : predictions) {
    if (!p.step || p.partial()) continue;
    const std::string name = detail::benchmark_name(p);
    if (result.contains(name)) {
      throw usage_error("bmf has room for one prediction of " + name +
                        "; give files of one machine and one set of settings");
    }
    const step_time& step = *p.step;
    const auto images = static_cast<double>(p.model_case.images());
    constexpr double nanoseconds = 1e9;
    result[name] = {{"latency", detail::metric(nanoseconds * step.seconds, nanoseconds * step.low(),
                                               nanoseconds * step.high())},
                    {"throughput", detail::metric(*p.images_per_second(), images / step.high(),
                                                  images / step.low())}};
  }
  return result;
}

}  // namespace layerbench::analysis
