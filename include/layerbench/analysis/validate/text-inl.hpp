// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/base/headline_text.hpp>
#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/validate/text.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/result/name.hpp>

namespace layerbench::analysis {

namespace detail {

LAYERBENCH_INLINE std::vector<std::pair<std::string, std::optional<double>>> numbers(
    const validated& entry) {
  const auto bound = [](const std::optional<stats::interval>& of, double stats::interval::* which) {
    return of ? std::optional(*of.*which) : std::nullopt;
  };
  const auto predicted = entry.predicted.step->interval();
  const auto measured = entry.measured.interval();
  return {{"predicted_seconds", entry.predicted.step->seconds},
          {"predicted_low", bound(predicted, &stats::interval::low)},
          {"predicted_high", bound(predicted, &stats::interval::high)},
          {"measured_seconds", entry.measured.seconds},
          {"measured_low", bound(measured, &stats::interval::low)},
          {"measured_high", bound(measured, &stats::interval::high)},
          {"error", entry.error()},
          {"naive_seconds", entry.predicted.hot_sum_seconds},
          {"naive_error", entry.naive_error()}};
}

/// The statistics of some cases; empty for a few.
[[nodiscard]] inline std::string summary_line(const std::string& what,
                                              const std::optional<error_summary>& of) {
  constexpr std::size_t enough = 5;  // the table of fewer cases says it as briefly
  if (!of || of->cases < enough) return {};
  return fmt::format(
      "{}: mean error {:.1f} %, median {:.1f} %, worst {:.1f} %, bias {:+.1f} %; within 2 %: "
      "{:.0f} % of cases, 5 %: {:.0f} %\n",
      what, 100 * of->mean_abs, 100 * of->median_abs, 100 * of->max_abs, 100 * of->bias,
      100 * of->within_2_percent, 100 * of->within_5_percent);
}

/// The note on a case in tables.
[[nodiscard]] inline std::string case_note(const validated& entry) {
  std::vector<std::string> notes;
  if (entry.disturbed()) {
    notes.emplace_back("disturbed");
  } else if (entry.predicted.few_rounds()) {  // both would be too wide for a terminal
    notes.emplace_back("few rounds");
  }
  if (entry.predicted.left_out) notes.emplace_back("partial model");
  return fmt::format("{}", fmt::join(notes, ", "));
}

}  // namespace detail

LAYERBENCH_INLINE table validation_table(const validation& all, const validation_columns& how) {
  using enum align;
  table t{{{"case"}, {"predicted ms", right}, {"between", right}, {"measured ms", right}}, {}};
  if (how.measured_interval) t.columns.push_back({"between", right});
  const bool has_naive = all.naive_errors().has_value();
  t.columns.push_back({"error", right});
  if (has_naive) t.columns.push_back({"naive error", right});
  t.columns.push_back({"note"});
  for (std::size_t i = 0; i < all.cases.size(); ++i) {
    const validated& entry = all.cases[i];
    const step_time& step = *entry.predicted.step;
    std::vector<std::string>& cells = t.rows.emplace_back();
    cells = {how.names.empty() ? headline(entry.predicted) : how.names.at(i),
             format::milliseconds(step.seconds, entry.predicted.digits()),
             format::range(step.interval(), entry.predicted.digits()),
             format::milliseconds(entry.measured.seconds, entry.measured.digits())};
    if (how.measured_interval) {
      cells.push_back(format::range(entry.measured.interval(), entry.measured.digits()));
    }
    cells.push_back(entry.error_text(step.seconds));
    if (has_naive) cells.push_back(entry.error_text(entry.predicted.hot_sum_seconds));
    cells.push_back(detail::case_note(entry));
  }
  return t;
}

namespace detail {

/// The layers whose predicted and measured seconds differ most, the farthest first.
[[nodiscard]] inline std::vector<validation_part> farthest(std::vector<validation_part> layers) {
  constexpr std::size_t most = 5;
  std::ranges::sort(layers, std::ranges::greater{}, [](const validation_part& part) {
    return std::abs(part.predicted - part.measured);
  });
  if (layers.size() > most) layers.resize(most);
  return layers;
}

/// The latencies of single steps, predicted and measured; empty for one stream.
[[nodiscard]] inline std::string latencies_text(const validated& of) {
  const auto& predicted = of.predicted.latencies;
  if (!predicted || !of.latencies) return {};
  std::vector<std::string> entries;
  for (std::size_t i = 0; i < predicted->size(); ++i) {
    const double measured = of.latencies->at(i);
    entries.push_back(
        fmt::format("{} {} / {} ({})", result::latency_quantiles.at(i).name,
                    format::milliseconds(predicted->at(i), of.predicted.digits()),
                    format::milliseconds(measured, of.measured.digits()),
                    format::signed_percent(predicted->at(i) / measured - 1, of.digits())));
  }
  return fmt::format("{}: latency in ms, predicted / measured: {}\n", headline(of.predicted),
                     fmt::join(entries, ", "));
}

/// The error of a case by op, and its layers with the largest errors in seconds. Empty if no
/// clocks were read inside the end-to-end run.
[[nodiscard]] inline std::string parts_text(const validated& of) {
  const std::vector<validation_part> layers = of.layers();
  if (layers.empty()) return {};
  const auto list = [&](const std::vector<validation_part>& parts) {
    std::vector<std::string> entries;
    for (const validation_part& part : parts) {
      entries.push_back(fmt::format("{} {} ({} of the step)", part.name,
                                    format::signed_percent(part.error(), of.digits()),
                                    format::percent(part.measured / of.measured.seconds)));
    }
    return fmt::format("{}", fmt::join(entries, ", "));
  };
  const std::vector<validation_part> ops = of.ops();
  const std::vector<validation_part> step_parts = of.step_parts();
  double clocked = 0;
  for (const validation_part& part : ops) clocked += part.measured;
  return fmt::format(
      "{}: its layers by clocks in the chain: {} of the step together\n"
      "{}  by op: {}\n  furthest off: {}\n",
      headline(of.predicted),
      format::signed_percent(clocked / of.measured.seconds - 1, of.digits()),
      step_parts.size() > 1 ? fmt::format("  by part: {}\n", list(step_parts)) : "", list(ops),
      list(farthest(layers)));
}

}  // namespace detail

LAYERBENCH_INLINE std::string remarks(const validation& all) {
  std::string out;
  if (!all.cases.empty()) {
    out += detail::summary_line("predicted", all.errors());
    out += detail::summary_line("naive hot sum", all.naive_errors());
    const std::size_t inside = all.cases_inside(true);
    const std::size_t compared = inside + all.cases_inside(false);
    if (compared > 0) {
      out += fmt::format("measured time inside the predicted interval: {} of {} case{}\n", inside,
                         compared, compared == 1 ? "" : "s");
    }
    if (const std::size_t others = all.cases.size() - compared; others > 0) {
      out += fmt::format("no interval, or one too wide to judge (a factor of 2): {} case{}\n",
                         others, others == 1 ? "" : "s");
    }
    const auto quieter = std::ranges::count_if(all.cases, &validated::of_quieter_half);
    if (quieter > 0) {
      out += fmt::format(
          "in {} of them both times are means of the quieter half of the rounds (--turns)\n",
          quieter);
    }
    for (const validated& entry : all.cases) {
      if (entry.predicted.left_out) {
        out += fmt::format("{}: partial model: {}\n", headline(entry.predicted),
                           format::left_out(*entry.predicted.left_out));
      }
      out += detail::latencies_text(entry) + detail::parts_text(entry);
    }
  }
  for (const unvalidated& other : all.left_out) {
    out += fmt::format("not validated: {}: {}\n", other.model_case.text(), other.reason);
  }
  return out;
}

namespace detail {

/// What the table of cases does not say of its words.
[[nodiscard]] inline std::string legend(const validation& all) {
  std::string text;
  if (all.naive_errors()) {
    text +=
        "naive error: of the naive hot sum, in which a loop times each layer on the same "
        "operands\n";
  }
  if (std::ranges::any_of(all.cases, &validated::disturbed)) {
    text += "disturbed: other programs or the host disturbed more than a tenth of the timings\n";
  }
  const auto has_few = [](const validated& of) { return of.predicted.few_rounds(); };
  if (std::ranges::any_of(all.cases, has_few)) {
    text += fmt::format("few rounds: fewer than {}, so the interval is that of the method alone\n",
                        stats::min_sample_size);
  }
  const auto is_rounded = [](const validated& of) { return of.digits() < format::most_digits; };
  if (std::ranges::any_of(all.cases, is_rounded)) {
    text += format::mark_legend;
  }
  return text;
}

/// The table of cases for a terminal: what all share stands above it, the intervals of the measured
/// times only in CSV and JSON.
[[nodiscard]] inline std::string cases_text(const validation& all) {
  std::vector<const prediction*> cases;
  for (const validated& entry : all.cases) cases.push_back(&entry.predicted);
  const headlines names = headlines_of(cases);
  const table t = validation_table(all, {.measured_interval = false, .names = names.own});
  return (names.shared.empty() ? "" : names.shared + ":\n") + text(t) + legend(all);
}

}  // namespace detail

LAYERBENCH_INLINE std::string text(const validation& all) {
  return (all.cases.empty() ? "" : detail::cases_text(all) + '\n') + remarks(all);
}

namespace detail {

/// An engine's profile of a case: times by op, the layers that differ most, and nodes of no layer.
/// If it names no layers: times by type of node. Empty without a profile.
[[nodiscard]] inline std::string profile_text(const validated& of, const std::string& engine) {
  if (of.has_unnamed_layers) {
    return headline(of.predicted) +
           ": no times by layer, since its result file does not name the layers of equal calls; "
           "measure it again\n";
  }
  if (!of.profiled) return {};
  const auto list = [&](const std::vector<validation_part>& parts) {
    std::vector<std::string> entries;
    for (const validation_part& part : parts) {
      entries.push_back(fmt::format("{} {} / {}", part.name,
                                    format::milliseconds(part.predicted, of.predicted.digits()),
                                    format::milliseconds(part.measured, of.measured.digits())));
    }
    return fmt::format("{}", fmt::join(entries, ", "));
  };
  std::vector<std::string> others;
  for (const auto& [kind, seconds] : of.in_no_layer) {
    others.push_back(
        fmt::format("{} {}", kind, format::milliseconds(seconds, of.measured.digits())));
  }
  const std::string profile =
      fmt::format("by the profile of {}, which adds up to {:.0f} % of its step:\n", engine,
                  100 * *of.profiled / of.measured.seconds);
  if (of.ops().empty()) {
    return fmt::format("{}, ms {}  {}\n", headline(of.predicted), profile, fmt::join(others, ", "));
  }
  return fmt::format(
      "{}, ms predicted / {}  by op: {}\n  furthest apart: {}\n{}", headline(of.predicted), profile,
      list(of.ops()), list(farthest(of.layers())),
      others.empty() ? "" : fmt::format("  in no layer: {}\n", fmt::join(others, ", ")));
}

}  // namespace detail

LAYERBENCH_INLINE std::string text(const std::vector<engine_validation>& engines) {
  using enum align;
  std::string out;
  for (const engine_validation& one : engines) {
    table t{{{"model"},
             {"batch", right},
             {"threads", right},
             {"backend"},
             {"predicted ms", right},
             {"between", right},
             {one.engine + " ms", right},
             {"difference", right},
             {"note"}},
            {}};
    for (const validated& entry : one.pairs.cases) {
      const prediction& p = entry.predicted;
      t.rows.push_back({p.model_case.model_text(), std::to_string(p.model_case.batch),
                        std::to_string(p.threads), p.model_case.backend,
                        format::milliseconds(p.step->seconds, p.digits()),
                        format::range(p.step->interval(), p.digits()),
                        format::milliseconds(entry.measured.seconds, entry.measured.digits()),
                        entry.error_text(p.step->seconds), detail::case_note(entry)});
    }
    if (!t.rows.empty()) {
      const bool with_overhead = one.pairs.cases.front().predicted.engine.has_value();
      out += text(t) + detail::summary_line(
                           fmt::format("predicted{} against {}",
                                       with_overhead ? ", with its overhead," : "", one.engine),
                           one.pairs.errors());
    }
    for (const validated& entry : one.pairs.cases) out += detail::profile_text(entry, one.engine);
    for (const unvalidated& other : one.pairs.left_out) {
      out += fmt::format("not compared: {}: {}\n", other.model_case.text(), other.reason);
    }
    out += '\n';
  }
  return out;
}

namespace detail {

/// Adds the rows of `all` to `t`, with `engine` in its last column.
inline void add_records(table& t, const validation& all, const std::string& engine) {
  const auto yes_no = [](std::optional<bool> value) {
    return !value ? "" : *value ? "true" : "false";
  };
  const auto first_cells = [](const result::case_name& model_case) {
    return std::vector<std::string>{model_case.model, model_case.phase(), model_case.backend,
                                    model_case.dtype, std::to_string(model_case.batch)};
  };
  for (const validated& entry : all.cases) {
    std::vector<std::string> cells = first_cells(entry.predicted.model_case);
    cells.insert(cells.end(), {std::to_string(entry.predicted.threads),
                               entry.predicted.model_case.text(), entry.predicted.cache});
    for (const auto& [name, number] : numbers(entry)) cells.push_back(format::exact(number));
    cells.insert(
        cells.end(),
        {yes_no(entry.interval_contains_measured()), std::to_string(entry.predicted.rounds),
         std::to_string(entry.measured.rounds), yes_no(entry.disturbed()), "", engine});
    t.rows.push_back(std::move(cells));
  }
  for (const unvalidated& other : all.left_out) {
    std::vector<std::string> cells = first_cells(other.model_case);
    cells.insert(cells.end(), {"", other.model_case.text()});
    cells.resize(t.columns.size() - 2);
    cells.insert(cells.end(), {other.reason, engine});
    t.rows.push_back(std::move(cells));
  }
}

}  // namespace detail

LAYERBENCH_INLINE table records(const validation& all,
                                const std::vector<engine_validation>& engines) {
  table t = table_with_columns(
      "model phase backend dtype batch threads case cache predicted_seconds "
      "predicted_low predicted_high measured_seconds measured_low measured_high "
      "error naive_seconds naive_error covered predicted_rounds measured_rounds "
      "disturbed unvalidated engine");
  detail::add_records(t, all, "");
  for (const engine_validation& one : engines) detail::add_records(t, one.pairs, one.engine);
  return t;
}

}  // namespace layerbench::analysis
