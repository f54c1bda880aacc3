// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <ranges>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/base/headline_text.hpp>
#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/analysis/predict/derived_figure.hpp>
#include <layerbench/analysis/predict/text.hpp>
#include <layerbench/analysis/roofline/text.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/op/builtin.hpp>
#include <layerbench/result/short_names.hpp>

namespace layerbench::analysis {

LAYERBENCH_INLINE std::string breakdown_text(const prediction& p) {
  if (p.layers.empty()) return "";
  std::string lines;
  if (p.model_case.phase() != "inference") {
    const auto part = [](const layer_time& layer) { return name(layer.part); };
    lines += fmt::format("  by part: {}\n", shares_text(shares_by(p, part)));
  }
  return lines + fmt::format("  by op: {}\n", shares_text(shares_by_op(p)));
}

namespace detail {

/// The op of a layer, with the backend that a fusion plan names for it.
[[nodiscard]] inline std::string op_text(const layer_time& layer) {
  const std::string_view backend = op::backend_of_key(layer.key);
  return backend.empty() ? layer.op : fmt::format("{} ({})", layer.op, backend);
}

}  // namespace detail

LAYERBENCH_INLINE table heaviest_layers(const prediction& p, std::size_t most, layer_order by) {
  const std::vector<layer_time> layers = sorted_layers(p, by);
  table t{{{"layer"},
           {"op"},
           {"count", align::right},
           {"time per call", align::right},
           {"share", align::right},
           {"GFLOP/s (no padding)", align::right}},
          {}};
  if (p.limits) t.columns.insert(t.columns.end(), {{"bottleneck"}, {"of peak", align::right}});
  double rest = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const layer_time& layer = layers[i];
    if (i >= most) {
      rest += layer.share;
      continue;
    }
    std::vector<std::string>& row = t.rows.emplace_back(
        std::vector<std::string>{result::short_joined(layer.call_name()), detail::op_text(layer),
                                 std::to_string(layer.count), units::duration(layer.seconds),
                                 format::percent(layer.share), gigaflops(layer)});
    if (p.limits) row.insert(row.end(), {bound_of(layer), percent_of_peak(layer)});
  }
  if (layers.size() > most) {
    t.rows.push_back(
        {fmt::format("{} more", layers.size() - most), "", "", "", format::percent(rest)});
    t.rows.back().resize(t.columns.size());
  }
  return t;
}

namespace detail {

/// The interval that the rounds give the time of a step, which the prediction must have.
[[nodiscard]] inline std::string sampling_text(const prediction& p) {
  using enum interval_method;
  const step_time& step = *p.step;
  const std::string bounds = format::between({step.sampling_low, step.sampling_high}, p.digits());
  if (step.kind == none) {
    return p.mostly_disturbed() ? "no interval: few rounds, most disturbed" : "no interval";
  }
  if (step.kind == bootstrap) return "95 % " + bounds;
  return fmt::format("rounds {}: {} for a 95 % interval", bounds,
                     p.mostly_disturbed() ? "too many disturbed" : "too few");
}

/// How far such sums are from measured steps; the step must have such an error.
[[nodiscard]] inline std::string protocol_text(const step_time& step) {
  const double percent = 100 * *step.protocol_half_width / step.seconds;
  if (step.protocol_cases == 0) {
    return fmt::format("+-{:.1f} %: the largest known, since few of its kind were validated",
                       percent);
  }
  return fmt::format("+-{:.1f} %, of {} cases", percent, step.protocol_cases);
}

/// What the step is of a text: of a whole prompt, or of the next tokens.
[[nodiscard]] inline std::string text_length_text(const prediction& p) {
  if (!p.text || p.model_case.phase() != "inference") return "";
  const auto& [tokens, context] = *p.text;
  if (context == 0) {
    return fmt::format("  reads prompts of {} token{}: a step is the time to the first token\n",
                       tokens, tokens == 1 ? "" : "s");
  }
  return fmt::format("  decodes {} token{} behind {} in the cache: a step takes the time of {}\n",
                     tokens, tokens == 1 ? "" : "s", context,
                     tokens == 1 ? "one output token" : "all of these");
}

/// How long single steps of a stream take.
[[nodiscard]] inline std::string latency_text(const prediction& p) {
  if (!p.latencies) return "";
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < p.latencies->size(); ++i) {
    shown.push_back(fmt::format("{} {}", result::latency_quantiles.at(i).name,
                                format::milliseconds(p.latencies->at(i), p.digits())));
  }
  return fmt::format("  latency of each of the {} streams, in ms: {}\n", p.model_case.streams(),
                     fmt::join(shown, ", "));
}

/// The memory of the step by policy.
[[nodiscard]] inline std::string memory_text(const prediction& p) {
  std::vector<std::string> shown;
  for (const memory_total& of : p.memory) {
    shown.push_back(
        fmt::format("{} {}", name(of.policy), units::si(static_cast<double>(of.bytes()), "B")));
  }
  if (shown.empty()) return "";
  return fmt::format("  memory{}: {}\n", p.model_case.streams() > 1 ? " of each stream" : "",
                     fmt::join(shown, ", "));
}

[[nodiscard]] inline std::string throughput_text(const prediction& p) {
  if (!p.step) return "  no throughput: a step has layers that were not measured\n";
  const step_time& step = *p.step;
  const std::string interval =
      step.protocol_half_width ? format::between(*step.interval(), p.digits()) : sampling_text(p);
  const std::string time = fmt::format(
      "{} ms per step ({}), from {} round{}{}", format::milliseconds(step.seconds, p.digits()),
      interval, p.rounds, p.rounds == 1 ? "" : "s", p.interrupted ? " (interrupted)" : "");
  const std::string rates =
      p.text ? fmt::format("{} tokens/s, {} sequences/s", p.rate_text(p.tokens_per_second()),
                           p.rate_text(p.images_per_second()))
             : p.rate_text(p.images_per_second()) + " images/s";
  std::string text =
      p.partial() ? fmt::format("  PARTIAL, of the {} layers only: at least {}; at most {}\n",
                                p.missing.empty() ? "model's" : "measured", time, rates)
                  : fmt::format("  {}, {}\n", rates, time);
  text += latency_text(p);
  text += text_length_text(p);
  if (step.protocol_half_width) {
    text += fmt::format("  interval: the rounds ({}) and the usual error of such sums ({})\n",
                        sampling_text(p), protocol_text(step));
  }
  if (p.engine && !step.protocol_half_width && p.cache == "model") {
    text += fmt::format("  interval: of the rounds alone; the error of steps of {} is not known\n",
                        p.engine->engine);
  }
  if (p.engine) {
    text += fmt::format(
        "  of which layers: {} ms; {}: {} calls, {:.2f} us beside each, {:.2f} us per step",
        format::milliseconds(step.layers, p.digits()), p.engine->engine, p.calls,
        1e6 * p.engine->call_seconds, 1e6 * p.engine->step_seconds);
    if (p.large_result_bytes > 0) {
      const auto bytes = static_cast<double>(p.large_result_bytes);
      text += fmt::format(", {} ms for new memory of {} of results",
                          format::milliseconds(bytes * p.engine->large_byte_seconds),
                          units::si(bytes, "B"));
    }
    std::vector<std::string> kernels;
    for (const auto& [kernel, seconds] : p.engine_kernels) {
      kernels.push_back(
          fmt::format("{} {}{}", kernel, seconds < 0 ? "" : "+", format::milliseconds(seconds)));
    }
    if (!kernels.empty()) {
      text += fmt::format("\n  its kernels beside those that were timed, in ms: {}",
                          fmt::join(kernels, ", "));
    }
    text += '\n';
  } else if (step.overhead > 0) {
    text += fmt::format("  of which layers: {} ms; framework, as given: {} ms\n",
                        format::milliseconds(step.layers, p.digits()),
                        format::milliseconds(step.overhead));
  }
  return text;
}

/// The method of the prediction, and how the plain sum of hot timings compares.
[[nodiscard]] inline std::string method_text(const prediction& p) {
  if (!p.step) return "";
  if (p.cache == "hot") {
    return fmt::format(
        "  {}: each layer in a loop on the same operands, which stay in the cache: usually too "
        "short\n",
        p.method);
  }
  std::string text = fmt::format(
      "  {}: each layer finds its operands in the caches where the model leaves them\n", p.method);
  if (p.hot_sum_seconds && !p.partial()) {
    const double lower = 1 - format::rounded(*p.hot_sum_seconds, p.digits()) /
                                 format::rounded(p.step->layers, p.digits());
    text +=
        fmt::format("  naive hot sum: {} ms, {} {}: each layer in a loop on the same operands\n",
                    format::milliseconds(*p.hot_sum_seconds, p.digits()),
                    format::percent(std::abs(lower), p.digits()), lower < 0 ? "higher" : "lower");
  }
  return text;
}

}  // namespace detail

LAYERBENCH_INLINE std::string gaps_text(const prediction& p) {
  std::string text;
  if (p.derived) {
    text += "  the step is from the shape file: what the backend inserts is not in it\n";
  }
  if (p.left_out) {
    text += fmt::format("  partial model: {}\n", format::left_out(*p.left_out));
  }
  if (!p.missing.empty()) {
    constexpr std::size_t most = 8;
    const std::span<const std::string> names(p.missing);
    text += fmt::format(
        "  coverage {} of the step's calls; not measured: {}{}\n", format::coverage(p.coverage),
        fmt::join(names.first(std::min(most, names.size())), " "),
        names.size() > most ? fmt::format(" and {} more", names.size() - most) : "");
  }
  return text;
}

namespace detail {

[[nodiscard]] inline std::string caveats_text(const prediction& p) {
  if (!p.much_disturbed()) return gaps_text(p);
  return fmt::format(
             "  disturbed: other programs used the processors during {:.0f} % of the timings; "
             "measure again when they are idle\n{}",
             100 * p.disturbed,
             p.mostly_disturbed() ? "  the numbers of single layers and ops have digits that are "
                                    "not certain; others are rounded and have a ~\n"
                                  : "") +
         gaps_text(p);
}

}  // namespace detail

namespace detail {

/// What a step and an image take of energy, as measured, and what the figures are of.
[[nodiscard]] inline std::string energy_text(const prediction& p) {
  std::string text;
  if (p.engine) return text;  // it is not that of the engine's step
  for (const step_energy& of : p.energies) {
    const auto figures = [&](const joules& one) {
      const auto rate = p.images_per_joule(one.mean);
      return fmt::format("{} J per step{}, {} J per image{}", format::four_digits(one.mean),
                         one.low < one.high
                             ? fmt::format(" (between {} and {})", format::four_digits(one.low),
                                           format::four_digits(one.high))
                             : "",
                         format::four_digits(p.per_image(one.mean)),
                         rate ? fmt::format(", {} images/J", format::four_digits(*rate)) : "");
    };
    text += fmt::format("  energy, measured: {}\n  without the idle power of {:.1f} W: {}\n",
                        figures(of.gross), of.idle_watts, figures(of.net));
    if (of.gross.layers && of.net.layers) {
      text += fmt::format("  energy of the layers: {} J per step ({:+.1f} %), {} without idle\n",
                          format::four_digits(*of.gross.layers),
                          100 * (*of.gross.layers / of.gross.mean - 1),
                          format::four_digits(*of.net.layers));
    }
    constexpr std::size_t most = 40;  // of a command
    text += fmt::format("  evidence: {} ({}), by {}, {} window{}{}\n", of.evidence, of.coverage,
                        shortened(of.counter, most), of.windows, of.windows == 1 ? "" : "s",
                        of.disturbed == 0 ? "" : fmt::format(", {} disturbed", of.disturbed));
  }
  return text;
}

}  // namespace detail

LAYERBENCH_INLINE std::string remarks(const prediction& p) {
  return detail::throughput_text(p) + detail::memory_text(p) + detail::energy_text(p) +
         detail::method_text(p) + breakdown_text(p) + (p.limits ? limits_text(p) : "") +
         detail::caveats_text(p);
}

LAYERBENCH_INLINE table summary(std::span<const prediction> predictions) {
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
  const bool has_texts =
      std::ranges::any_of(predictions, [](const prediction& p) { return p.text.has_value(); });
  if (has_texts) {
    t.columns.insert(
        t.columns.end(),
        {{"tokens", align::right}, {"context", align::right}, {"tokens/s", align::right}});
  }
  for (const prediction& p : predictions) {
    // A partial time is only a lower bound of the step's, so it gives no throughput.
    t.rows.push_back(
        {p.model_case.model_text(), p.model_case.phase(), p.model_case.backend, p.model_case.dtype,
         std::to_string(p.model_case.batch), p.threads > 0 ? std::to_string(p.threads) : "",
         p.partial() ? "partial" : p.rate_text(p.images_per_second()),
         !p.step ? "refused"
                 : (p.partial() ? "> " : "") + format::milliseconds(p.step->seconds, p.digits()),
         format::coverage(p.coverage), p.method});
    if (!has_texts) continue;
    std::vector<std::string> length(3);
    if (p.text) {
      length = {std::to_string(p.text->tokens), std::to_string(p.text->context),
                p.partial() ? "partial" : p.rate_text(p.tokens_per_second())};
    }
    t.rows.back().insert(t.rows.back().end(), length.begin(), length.end());
  }
  return t;
}

LAYERBENCH_INLINE std::string cases_text(std::span<const prediction> predictions) {
  std::vector<const prediction*> cases;
  for (const prediction& p : predictions) cases.push_back(&p);
  const headlines names = headlines_of(cases);
  table t{{{"case"},
           {"images/s", align::right},
           {"ms per step", align::right},
           {"between", align::right},
           {"note"}},
          {}};
  const bool has_texts =
      std::ranges::any_of(predictions, [](const prediction& p) { return p.text.has_value(); });
  if (has_texts) t.columns.insert(t.columns.begin() + 1, {"tokens/s", align::right});
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const prediction& p = *cases[i];
    // A partial time is only a lower bound of the step's, so it gives no throughput.
    const bool complete = p.step && !p.partial();
    std::vector<std::string> notes;
    if (!complete) notes.push_back(format::coverage(p.coverage) + " of the calls were measured");
    if (p.much_disturbed()) notes.emplace_back("disturbed");
    if (p.few_rounds()) notes.emplace_back("few rounds");
    std::vector<std::string>& row = t.rows.emplace_back(std::vector<std::string>{
        names.own[i], complete ? p.rate_text(p.images_per_second()) : "",
        !p.step ? "" : (complete ? "" : "> ") + format::milliseconds(p.step->seconds, p.digits()),
        complete ? format::range(p.step->interval(), p.digits()) : "",
        fmt::format("{}", fmt::join(notes, ", "))});
    if (!has_texts) continue;
    row.insert(row.begin() + 1, complete && p.text ? p.rate_text(p.tokens_per_second()) : "");
  }
  std::string shown = (names.shared.empty() ? "" : names.shared + ":\n") + text(t);
  const auto is_rounded = [](const prediction& p) { return p.digits() < format::most_digits; };
  if (std::ranges::any_of(predictions, is_rounded)) shown += format::mark_legend;
  return shown;
}

LAYERBENCH_INLINE std::string text(std::span<const prediction> predictions, std::size_t most_layers,
                                   layer_order by) {
  std::string out;
  std::string legend =
      "count: calls per step; equal layers behind equal ops are timed once, named by the first\n"
      "no padding: products with the zeros of a padding are not counted\n";
  std::set<std::string> unknown_limits;  // mostly the same of all cases
  for (const prediction& p : predictions) {
    out += headline(p) + '\n' + remarks(p);
    if (!p.layers.empty() && most_layers > 0) {
      out += '\n' + std::exchange(legend, "") + text(heaviest_layers(p, most_layers, by));
      if (p.limits) out += '\n' + text(worth_optimising_table(p, most_layers));
    }
    out += '\n';
    if (!p.limits) unknown_limits.insert(limits_text(p));
  }
  for (const std::string& line : unknown_limits) out += line;
  if (predictions.size() > 1) out += '\n' + cases_text(predictions);
  return out;
}

namespace detail {

/// The value, and its interval in brackets.
[[nodiscard]] inline std::string with_interval(const estimate& of) {
  const auto shown = [&](double value) {
    return of.digits == format::most_digits ? fmt::format("{:.4g}", value)
                                            : format::significant(value, of.digits);
  };
  const std::string value = std::string(format::mark(of.digits)) + shown(of.value);
  return of.has_interval() ? fmt::format("{} ({} to {})", value, shown(of.low), shown(of.high))
                           : value;
}

}  // namespace detail

LAYERBENCH_INLINE std::string text(std::span<const fusion_gain> gains) {
  using enum align;
  constexpr std::size_t most = 8;
  std::string all;
  for (const fusion_gain& gain : gains) {
    table t{{{"fused call"},
             {"count", right},
             {"layer by layer", right},
             {"fused", right},
             {"change", right},
             {"saved per step", right}},
            {}};
    const bool any_loses = std::ranges::any_of(gain.calls, &fused_call::loses);
    if (any_loses) t.columns.emplace_back("note");
    std::size_t left_out = 0;
    for (std::size_t i = 0; i < gain.calls.size(); ++i) {
      const fused_call& call = gain.calls[i];
      if (i >= most && !call.loses()) {
        ++left_out;
        continue;
      }
      t.rows.push_back(
          {result::short_joined(call.name), std::to_string(call.count),
           units::duration(call.apart.value), units::duration(call.together.value),
           fmt::format("{:+.1f} %", 100 * (call.together.value / call.apart.value - 1)),
           fmt::format("{:.3g} ms", 1e3 * call.saved())});
      if (any_loses) t.rows.back().emplace_back(call.loses() ? "slower" : "");
    }
    if (left_out > 0) {
      t.rows.push_back({fmt::format("{} more", left_out)});
      t.rows.back().resize(t.columns.size());
    }
    const auto milliseconds = [](const prediction& p) {
      return fmt::format("{}{:.4g}", format::mark(p.digits()),
                         1e3 * format::rounded(p.step->seconds, p.digits()));
    };
    all += fmt::format("\n{}\n  without the fusion plan: {} ms per step; with it: {} ms ({})\n",
                       headline(*gain.fused), milliseconds(*gain.apart), milliseconds(*gain.fused),
                       format::change(gain.apart->step->seconds, gain.apart->digits(),
                                      gain.fused->step->seconds, gain.fused->digits()));
    if (!gain.calls.empty()) all += '\n' + text(t);  // a plan may join no layers
  }
  return all;
}

namespace detail {

/// One row per number of guesses of each service.
[[nodiscard]] inline std::string speculation_text(std::span<const service> services,
                                                  const service_mix& mix) {
  using enum align;
  table t{{{"decode"},
           {"guesses", right},
           {"tokens per step", right},
           {"ms per step", right},
           {"decoded tokens/s", right},
           {"requests/s", right},
           {"note"}},
          {}};
  for (const service& one : services) {
    for (const speculative_step& step : one.speculative) {
      const double tokens = step.tokens * static_cast<double>(one.decode->model_case.images());
      const auto marked = [&](const char* mark, const estimate& of) {
        return (step.partial ? mark : "") + with_interval(of);
      };
      t.rows.push_back({one.decode->model_case.text(), std::to_string(step.guesses),
                        format::significant(step.tokens, 3), marked("> ", step.seconds.times(1e3)),
                        marked("< ", rate_of(step.seconds).times(tokens)),
                        marked("< ", rate_of(step.request)),
                        step.guesses == one.best_guesses() ? "best" : ""});
    }
  }
  return fmt::format(
      "\nspeculative decoding, guesses by {}, of which {} are accepted; 0 guesses: plain "
      "decoding\n\n{}",
      mix.draft, format::percent(mix.acceptance), text(t));
}

}  // namespace detail

LAYERBENCH_INLINE std::string text(std::span<const service> services, const service_mix& mix) {
  using enum align;
  table t{{{"prompt"},
           {"decode"},
           {"ms to first token", right},
           {"ms per decode step", right},
           {"requests/s", right},
           {"tokens/s", right}},
          {}};
  for (const service& one : services) {
    const estimate requests = rate_of(one.request);
    const auto milliseconds = [](const prediction& of, const estimate& seconds) {
      return (of.partial() ? "> " : "") + detail::with_interval(seconds.times(1e3));
    };
    const auto rate = [&](const estimate& of) {
      return (one.partial() ? "< " : "") + detail::with_interval(of);
    };
    t.rows.push_back({one.prompt->model_case.text(), one.decode->model_case.text(),
                      milliseconds(*one.prompt, one.to_first_token),
                      milliseconds(*one.decode, seconds_of(*one.decode)), rate(requests),
                      rate(requests.times(one.tokens))});
  }
  const std::string plain = fmt::format(
      "\nrequests of {} prompt step{} and {} decode step{}, one after the other:\n\n{}",
      mix.prompts, mix.prompts == 1 ? "" : "s", mix.decodes, mix.decodes == 1 ? "" : "s", text(t));
  return plain + (mix.draft.empty() ? "" : detail::speculation_text(services, mix));
}

LAYERBENCH_INLINE std::string text(std::span<const prediction> predictions,
                                   const training_run& run) {
  table t{{{"case"}, {"steps", align::right}, {"hours", align::right}}, {}};
  if (run.price_per_hour) t.columns.push_back({"price", align::right});
  for (const prediction& p : predictions) {
    const std::optional<estimate> hours = hours_of(run, p);
    if (!hours && p.model_case.phase() == "training") {
      t.rows.push_back({p.model_case.text(), std::to_string(steps_of(run, p)), "not all layers"});
      t.rows.back().resize(t.columns.size());
    }
    if (!hours) continue;
    std::vector<std::string> row{p.model_case.text(), std::to_string(steps_of(run, p)),
                                 detail::with_interval(*hours)};
    if (const auto price = price_of(run, *hours)) row.push_back(detail::with_interval(*price));
    t.rows.push_back(std::move(row));
  }
  return fmt::format("\n{} epochs of {} images, without input, evaluation and checkpoints:\n\n{}",
                     run.epochs, run.images, text(t));
}

LAYERBENCH_INLINE std::vector<std::pair<std::string, std::optional<double>>> times(
    const prediction& p) {
  const auto of_step = [&](auto&& member) {
    return p.step ? std::optional<double>(std::invoke(member, *p.step)) : std::nullopt;
  };
  const auto bound = [&](auto&& member) {
    return p.step && p.step->interval() ? of_step(member) : std::nullopt;
  };
  using step = step_time;
  return {{"seconds_per_step", of_step(&step::seconds)},
          {"seconds_low", bound(&step::low)},
          {"seconds_high", bound(&step::high)},
          {"sampling_low", bound(&step::sampling_low)},
          {"sampling_high", bound(&step::sampling_high)},
          {"protocol_half_width", p.step ? p.step->protocol_half_width : std::nullopt},
          {"layers_seconds", of_step(&step::layers)},
          {"overhead_seconds", of_step(&step::overhead)},
          {"naive_seconds", p.hot_sum_seconds}};
}

LAYERBENCH_INLINE std::string interval_name(const prediction& p) {
  using enum interval_method;
  if (!p.step) return "";
  switch (p.step->kind) {
    case none: return "none";
    case range: return "range";
    case bootstrap: return "bootstrap";
  }
  return "";
}

LAYERBENCH_INLINE table records(std::span<const prediction> predictions) {
  table t = table_with_columns(
      "model phase backend dtype batch threads case cache method seconds_per_step "
      "seconds_low seconds_high sampling_low sampling_high protocol_half_width "
      "layers_seconds overhead_seconds naive_seconds interval rounds interrupted "
      "images_per_second tokens context tokens_per_second memory_kept memory_reused memory_pytorch "
      "partial disturbed coverage missing");
  const auto yes_no = [](bool value) { return value ? "true" : "false"; };
  for (const prediction& p : predictions) {
    std::vector<std::string> cells{p.model_case.model,
                                   p.model_case.phase(),
                                   p.model_case.backend,
                                   p.model_case.dtype,
                                   std::to_string(p.model_case.batch),
                                   std::to_string(p.threads),
                                   p.model_case.text(),
                                   p.cache,
                                   p.method};
    for (const auto& [name, number] : times(p)) cells.push_back(format::exact(number));
    const auto length = [&](std::int64_t text_length::* of) -> std::string {
      return p.text ? std::to_string((*p.text).*of) : "";
    };
    const auto memory = [&](memory_policy policy) -> std::string {
      const auto bytes = p.memory_bytes(policy);
      return bytes ? std::to_string(*bytes) : "";
    };
    cells.insert(cells.end(),
                 {interval_name(p), std::to_string(p.rounds), yes_no(p.interrupted),
                  format::exact(p.images_per_second()), length(&text_length::tokens),
                  length(&text_length::context), format::exact(p.tokens_per_second()),
                  memory(memory_policy::kept), memory(memory_policy::reused),
                  memory(memory_policy::pytorch), yes_no(p.partial()), format::exact(p.disturbed),
                  format::exact(p.coverage), fmt::format("{}", fmt::join(p.missing, " "))});
    t.rows.push_back(std::move(cells));
  }
  return t;
}

LAYERBENCH_INLINE table layer_records(std::span<const prediction> predictions,
                                      std::size_t most_layers, layer_order by) {
  table t = table_with_columns(
      "case cache layer op pass key count seconds_per_call seconds_low seconds_high share flops "
      "flops_per_second bound of_peak");
  for (const prediction& p : predictions) {
    for (const layer_time& layer : sorted_layers(p, by) | std::views::take(most_layers)) {
      const auto rate = layer.flops ? std::optional(*layer.flops / layer.seconds) : std::nullopt;
      t.rows.push_back({p.model_case.text(), p.cache, layer.name, layer.op, layer.pass, layer.key,
                        std::to_string(layer.count), format::exact(layer.seconds),
                        format::exact(layer.low), format::exact(layer.high),
                        format::exact(layer.share), format::exact(layer.flops), format::exact(rate),
                        bound_of(layer), format::exact(share_of_roof(layer))});
    }
  }
  return t;
}

}  // namespace layerbench::analysis
