// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include <fmt/format.h>

#include <layerbench/analysis/predict/prediction.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/shape/json.hpp>

/// Predictions for services that follow benchmarks over time.
namespace layerbench::report {

namespace detail {

/// The case, always with its threads where they are known.
[[nodiscard]] inline std::string benchmark_name(const analysis::prediction& p) {
  const bool named = p.configuration.parameters.contains("threads") || p.threads == 0;
  return named ? p.configuration.text()
               : fmt::format("{}/threads:{}", p.configuration.text(), p.threads);
}

/// A value with its bounds, where it has an interval.
[[nodiscard]] inline json::value metric(double value, double low, double high) {
  if (low == high) return json::value::object({{"value", value}});
  return {{"value", value}, {"lower_value", low}, {"upper_value", high}};
}

}  // namespace detail

/// Predictions in Bencher's metric format (bencher.dev/docs/reference/bencher-metric-format):
/// `latency` in nanoseconds a step, `throughput` in images a second. Those that lack layers are
/// left out: a part's time is not the model's. Throws usage_error where two have the same name,
/// since their files differ in something that the name does not say.
[[nodiscard]] inline json::value to_bmf(std::span<const analysis::prediction> predictions) {
  json::value result = json::value::object();
  for (const analysis::prediction& p : predictions) {
    if (!p.step || p.partial()) continue;
    const std::string name = detail::benchmark_name(p);
    if (result.contains(name)) {
      throw usage_error("bmf has room for one prediction of " + name +
                        "; give files of one machine and one set of settings");
    }
    const analysis::step_time& step = *p.step;
    const auto batch = static_cast<double>(p.configuration.batch);
    constexpr double nanoseconds = 1e9;
    result[name] = {{"latency", detail::metric(nanoseconds * step.seconds, nanoseconds * step.low(),
                                               nanoseconds * step.high())},
                    {"throughput", detail::metric(*p.images_per_second(), batch / step.high(),
                                                  batch / step.low())}};
  }
  return result;
}

}  // namespace layerbench::report
