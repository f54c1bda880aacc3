// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/predict/predictor.hpp>
#include <layerbench/analysis/roofline/text.hpp>
#include <layerbench/analysis/scaling/contention.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/report/op_breakdown.hpp>

/// Predictions for people and as CSV; report/prediction_json.hpp has them for programs.
namespace layerbench::report {

namespace detail {

/// The conditions in words: "resnet50 inference, onednn f32, batch 1, 2 threads".
[[nodiscard]] inline std::string headline(const result::configuration_name& configuration,
                                          std::int64_t threads) {
  std::string text =
      fmt::format("{} {}, {} {}, batch {}", configuration.model, configuration.phase(),
                  configuration.backend, configuration.dtype, configuration.batch);
  if (threads > 0) text += fmt::format(", {} thread{}", threads, threads == 1 ? "" : "s");
  for (const auto& [name, value] : configuration.parameters) {
    if (name != "phase" && name != "threads") text += fmt::format(", {} {}", name, value);
  }
  return text;
}
[[nodiscard]] inline std::string headline(const analysis::prediction& p) {
  return headline(p.configuration, p.threads);
}

/// How sure the rounds make a time.
[[nodiscard]] inline std::string sampling(const analysis::step_time& step) {
  using enum analysis::interval_kind;
  const std::string bounds = fmt::format("between {} and {}", milliseconds(step.sampling_low),
                                         milliseconds(step.sampling_high));
  if (step.kind == none) return "no interval";
  return step.kind == bootstrap ? "95 % " + bounds
                                : "rounds " + bounds + ": too few for a 95 % interval";
}

[[nodiscard]] inline std::string throughput(const analysis::prediction& p) {
  if (!p.step) return "  no throughput: a step has layers that were not measured\n";
  const analysis::step_time& step = *p.step;
  const std::string sure =
      step.protocol_half_width
          ? fmt::format("between {} and {}", milliseconds(step.low()), milliseconds(step.high()))
          : sampling(step);
  const std::string time =
      fmt::format("{} ms a step ({}), from {} round{}{}", milliseconds(step.seconds), sure,
                  p.rounds, p.rounds == 1 ? "" : "s", p.interrupted ? " (interrupted)" : "");
  const std::string images = rate(p.images_per_second());
  std::string text =
      p.partial()
          ? fmt::format(
                "  PARTIAL, of the measured layers only: at least {}; at most {} images/s\n", time,
                images)
          : fmt::format("  {} images/s, {}\n", images, time);
  if (step.protocol_half_width) {
    text += fmt::format("  of which sampling: {}; protocol: +-{} ms ({:.2f} % of the layers)\n",
                        sampling(step), milliseconds(*step.protocol_half_width),
                        100 * *step.protocol_half_width / step.layers);
  }
  if (step.overhead > 0) {
    text += fmt::format("  of which layers: {} ms; framework, as given: {} ms\n",
                        milliseconds(step.layers), milliseconds(step.overhead));
  }
  return text;
}

/// How the time came about, and what the plain sum of hot timings would have said.
[[nodiscard]] inline std::string method(const analysis::prediction& p) {
  if (!p.step) return "";
  if (p.cache == "hot") {
    return fmt::format(
        "  {}: each layer timed with its operands in the cache; a lower bound of the step's time\n",
        p.method);
  }
  std::string text = fmt::format("  {}: each operand as cached as in the model\n", p.method);
  if (p.naive_seconds && !p.partial()) {
    const double lower = 1 - *p.naive_seconds / p.step->layers;
    text += fmt::format("  naive hot sum: {} ms, {:.1f} % {}\n", milliseconds(*p.naive_seconds),
                        std::abs(100 * lower), lower < 0 ? "higher" : "lower");
  }
  return text;
}

[[nodiscard]] inline bool disturbed(const analysis::prediction& p) {
  return p.disturbed > result::much_disturbed;
}

/// In what the step is not, or may not be, the whole one.
[[nodiscard]] inline std::string gaps(const analysis::prediction& p) {
  std::string text;
  if (p.derived) {
    text += "  the step is from the shape file: what the backend inserts is not in it\n";
  }
  if (!p.missing.empty()) {
    text += fmt::format("  coverage {}; not measured: {}\n", percent_covered(p.coverage),
                        fmt::join(p.missing, " "));
  }
  return text;
}

[[nodiscard]] inline std::string caveats(const analysis::prediction& p) {
  if (!disturbed(p)) return gaps(p);
  return fmt::format(
             "  disturbed: something else used the processors during {:.0f} % of the timings; "
             "layers with fewer than three others may be too slow\n",
             100 * p.disturbed) +
         gaps(p);
}

/// What is said of a prediction, a line each.
[[nodiscard]] inline std::string remarks(const analysis::prediction& p) {
  return throughput(p) + method(p) + composition(p) + limits(p) + caveats(p);
}

}  // namespace detail

/// One row a prediction: what it is for, its throughput and by which method.
[[nodiscard]] inline table summary(std::span<const analysis::prediction> predictions) {
  table t{{{"model"},
           {"phase"},
           {"backend"},
           {"dtype"},
           {"batch", align::right},
           {"threads", align::right},
           {"images/s", align::right},
           {"ms/step", align::right},
           {"coverage", align::right},
           {"method"}},
          {}};
  for (const analysis::prediction& p : predictions) {
    // A part's time must not pass for the model's: it is a bound, and without a throughput.
    t.rows.push_back(
        {p.configuration.model, p.configuration.phase(), p.configuration.backend,
         p.configuration.dtype, std::to_string(p.configuration.batch),
         p.threads > 0 ? std::to_string(p.threads) : "",
         p.partial() ? "partial" : detail::rate(p.images_per_second()),
         !p.step ? "refused" : (p.partial() ? "> " : "") + detail::milliseconds(p.step->seconds),
         detail::percent_covered(p.coverage), p.method});
  }
  return t;
}

/// Each prediction with its heaviest layers, and a summary where there are several.
[[nodiscard]] inline std::string text(std::span<const analysis::prediction> predictions,
                                      std::size_t heaviest_layers = 10) {
  std::string out;
  for (const analysis::prediction& p : predictions) {
    out += detail::headline(p) + '\n' + detail::remarks(p);
    if (!p.layers.empty() && heaviest_layers > 0) {
      out += '\n' + text(detail::heaviest(p, heaviest_layers));
      if (p.limits) out += '\n' + text(candidates(p, heaviest_layers));
    }
    out += '\n';
  }
  if (predictions.size() > 1) out += text(summary(predictions));
  return out;
}

/// A line each.
[[nodiscard]] inline std::string text(std::span<const analysis::measured_contention> measured) {
  std::string out;
  for (const analysis::measured_contention& measured_contention : measured) {
    const auto& [usual, low, high] = measured_contention.factors;
    const char* const kind = measured_contention.is_interval ? "95 % " : "rounds ";
    out += fmt::format(
        "contention of {}: its backward part takes {:.3f} times as long while gradients are sent "
        "({}between {:.3f} and {:.3f})",
        detail::headline(measured_contention.configuration, measured_contention.threads),
        usual.computing, kind, low.computing, high.computing);
    if (measured_contention.sending_known) {
      out += fmt::format(", and sending {:.3f} times as long while it computes ({:.3f} to {:.3f})",
                         usual.sending, low.sending, high.sending);
    }
    if (measured_contention.disturbed > result::much_disturbed) {
      out += fmt::format("; something else used the processors during {:.0f} % of the timings",
                         100 * measured_contention.disturbed);
    }
    out += '\n';
  }
  return out;
}

/// The times of a prediction in seconds, by their names in JSON and CSV.
[[nodiscard]] inline std::vector<std::pair<std::string, std::optional<double>>> times(
    const analysis::prediction& p) {
  const auto of_step = [&](auto&& value) {
    return p.step ? std::optional<double>(std::invoke(value, *p.step)) : std::nullopt;
  };
  using step = analysis::step_time;
  return {{"seconds_per_step", of_step(&step::seconds)},
          {"seconds_low", of_step(&step::low)},
          {"seconds_high", of_step(&step::high)},
          {"sampling_low", of_step(&step::sampling_low)},
          {"sampling_high", of_step(&step::sampling_high)},
          {"protocol_half_width", p.step ? p.step->protocol_half_width : std::nullopt},
          {"layers_seconds", of_step(&step::layers)},
          {"overhead_seconds", of_step(&step::overhead)},
          {"naive_seconds", p.naive_seconds}};
}

/// What a time's low and high are, in one word; nothing where there is no time.
[[nodiscard]] inline std::string interval_name(const analysis::prediction& p) {
  using enum analysis::interval_kind;
  if (!p.step) return "";
  switch (p.step->kind) {
    case none: return "none";
    case range: return "range";
    case bootstrap: return "bootstrap";
  }
  return "";
}

/// One row a prediction with everything but its layers; empty cells where there is no number.
[[nodiscard]] inline table records(std::span<const analysis::prediction> predictions) {
  table t = table_with_columns(
      "model phase backend dtype batch threads case cache method seconds_per_step "
      "seconds_low seconds_high sampling_low sampling_high protocol_half_width "
      "layers_seconds overhead_seconds naive_seconds interval rounds interrupted "
      "images_per_second partial disturbed coverage missing");
  const auto truth = [](bool value) { return value ? "true" : "false"; };
  for (const analysis::prediction& p : predictions) {
    std::vector<std::string> cells{p.configuration.model,
                                   p.configuration.phase(),
                                   p.configuration.backend,
                                   p.configuration.dtype,
                                   std::to_string(p.configuration.batch),
                                   std::to_string(p.threads),
                                   p.configuration.text(),
                                   p.cache,
                                   p.method};
    for (const auto& [name, number] : times(p)) cells.push_back(detail::exact(number));
    cells.insert(cells.end(), {interval_name(p), std::to_string(p.rounds), truth(p.interrupted),
                               detail::exact(p.images_per_second()), truth(p.partial()),
                               detail::exact(p.disturbed), detail::exact(p.coverage),
                               fmt::format("{}", fmt::join(p.missing, " "))});
    t.rows.push_back(std::move(cells));
  }
  return t;
}

}  // namespace layerbench::report
