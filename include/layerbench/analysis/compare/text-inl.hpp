// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/base/headline_text.hpp>
#include <layerbench/analysis/compare/dimension.hpp>
#include <layerbench/analysis/compare/text.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/short_names.hpp>

namespace layerbench::analysis {

LAYERBENCH_INLINE std::vector<std::string> notes(const comparison& all) {
  std::vector<std::string> sentences = all.file_notes;
  if (!all.difference.forced.empty()) {
    sentences.push_back(fmt::format("forced: old and new also differ in {}, so ratios mix causes",
                                    fmt::join(all.difference.forced, " ")));
  }
  for (const auto& [side, share] :
       {std::pair("old", all.old_disturbed), std::pair("new", all.new_disturbed)}) {
    if (share <= result::much_disturbed) continue;
    sentences.push_back(
        fmt::format("{}: something else used the processors during {:.0f} % of the timings; "
                    "measure again when the machine is idle (--check-machine)",
                    side, 100 * share));
  }
  detail::add_partial_models(all.models, sentences);
  if (!all.has_runs()) {
    sentences.emplace_back(
        "one run of each: runs differ more than the rounds of a run do, which these files cannot "
        "show; measure old and new alternately, several times, and give all files");
  }
  return sentences;
}

namespace detail {

/// "old loaded: onednn_version 3.2.0, ..."; empty without fields.
[[nodiscard]] inline std::string loaded_line(std::string_view by, const context_fields& fields) {
  std::vector<std::string> entries;
  for (const auto& [field, value] : fields) entries.push_back(fmt::format("{} {}", field, value));
  return entries.empty() ? "" : fmt::format("{} loaded: {}\n", by, fmt::join(entries, ", "));
}

/// The program and libraries that each side loaded; those that both loaded are listed once.
[[nodiscard]] inline std::string loaded_text(const comparison& all) {
  context_fields both;
  context_fields old = all.old_loaded;
  context_fields now = all.new_loaded;
  for (const auto& [field, value] : all.old_loaded) {
    const auto same = now.find(field);
    if (same == now.end() || same->second != value) continue;
    both.insert(*same);
    old.erase(field);
    now.erase(same);
  }
  return loaded_line("both", both) + loaded_line("old", old) + loaded_line("new", now);
}

}  // namespace detail

LAYERBENCH_INLINE std::string comparison_title(const comparison& all) {
  return fmt::format("{} against {}", fmt::join(all.new_files, ", "),
                     fmt::join(all.old_files, ", "));
}

LAYERBENCH_INLINE std::string comparison_header(const comparison& all) {
  const difference& how = all.difference;
  std::string out = fmt::format("old: {}\nnew: {}\n", fmt::join(all.old_files, ", "),
                                fmt::join(all.new_files, ", ")) +
                    detail::loaded_text(all);
  if (all.paired) {
    out += fmt::format(
        "{} pairs of runs; each ratio is of one pair, measured close together\n"
        "finds: the smallest change that 9 of 10 such comparisons find; of equal things at most "
        "{:.2g} % report a change\n",
        all.old_files.size(), pair_significance * 100);
  }
  if (how.dimension) {
    out += fmt::format("compared across {}{}; fields that differ: {}\n", name(*how.dimension),
                       how.inferred ? ", since the files differ in nothing else" : "",
                       how.fields.empty() ? "none" : fmt::format("{}", fmt::join(how.fields, " ")));
  }
  for (const std::string& note : notes(all)) out += "note: " + note + '\n';
  return out + '\n';
}

namespace detail {

LAYERBENCH_INLINE std::string verdict_text(const compared& of) {
  const time_ratio& ratio = of.ratio;
  std::string words(name(of.verdict));
  if (of.verdict != verdict::unclear) return words;
  if (ratio.has_interval() && ratio.high < 1) words += ", faster?";
  if (ratio.has_interval() && ratio.low > 1) words += ", slower?";
  return ratio.p ? words : words + ", too few rounds";
}

LAYERBENCH_INLINE std::string between_text(const time_ratio& of) {
  return of.has_interval() ? fmt::format("{:.3f} to {:.3f}", of.low, of.high) : "";
}

LAYERBENCH_INLINE std::string difference_text(const time_ratio& of) {
  const bool slower = of.value() > 1;
  const auto percent = [&](double ratio) { return 100 * (slower ? ratio - 1 : 1 - ratio); };
  const auto [low, high] = std::minmax({percent(of.low), percent(of.high)});
  return fmt::format("{:.1f} % {} ({:.1f} to {:.1f})", percent(of.value()),
                     slower ? "slower" : "faster", low, high);
}

/// A time, or another number as the program that wrote it does.
[[nodiscard]] inline std::string value_text(const compared& of, double seconds) {
  if (of.unit == "s") return units::duration(seconds);
  return fmt::format("{:.4g}{}{}", of.value(seconds), of.unit.empty() ? "" : " ", of.unit);
}

/// A layer or model of a table, with its title there.
struct ratio_row {
  std::string title;
  const compared* of;
};

/// A table of both times of each row, their ratio and the verdict. Intervals have no column if no
/// row has one.
[[nodiscard]] inline table ratio_table(std::string title, const std::vector<ratio_row>& rows) {
  using enum align;
  const bool intervals =
      std::ranges::any_of(rows, [](const ratio_row& row) { return row.of->ratio.has_interval(); });
  const auto rates =
      std::ranges::count_if(rows, [](const ratio_row& row) { return row.of->higher_is_better; });
  const char* const ratios = rates == 0                  ? "new / old"
                             : rates == std::ssize(rows) ? "old / new"
                                                         : "time ratio";
  table t{{{std::move(title)}, {"old", right}, {"new", right}, {ratios, right}}, {}};
  if (intervals) t.columns.push_back({"95 % between", right});
  const bool pairs = std::ranges::any_of(
      rows, [](const ratio_row& row) { return row.of->detectable.has_value(); });
  if (pairs) t.columns.push_back({"finds", right});
  t.columns.push_back({"verdict"});
  for (const ratio_row& row : rows) {
    const time_ratio& ratio = row.of->ratio;
    std::vector<std::string>& cells = t.rows.emplace_back();
    cells = {row.title, value_text(*row.of, ratio.old_seconds),
             value_text(*row.of, ratio.new_seconds), fmt::format("{:.3f}", ratio.value())};
    if (intervals) cells.push_back(between_text(ratio));
    if (pairs) {
      const std::optional<double>& change = row.of->detectable;
      cells.push_back(change ? format::significant(*change * 100, 2) + " %" : "");
    }
    cells.push_back(verdict_text(*row.of));
  }
  return t;
}

[[nodiscard]] inline std::string model_title(const compared_model& of) {
  std::string title = headline(of.model_case, of.new_threads);
  if (of.old_threads != of.new_threads) title += fmt::format(" (old: {})", of.old_threads);
  return of.cache == "hot" ? title + ", hot" : title;
}

LAYERBENCH_INLINE std::string contributors_text(const std::vector<contributor>& top) {
  constexpr std::size_t most = 5;
  std::vector<std::string> layers;
  for (const contributor& layer : top) {
    if (layers.size() == most) {
      layers.push_back(fmt::format("{} more", top.size() - most));
      break;
    }
    layers.push_back(fmt::format("{} {:+.3g} ms ({:.0f} %)", layer.name, layer.change() * 1e3,
                                 layer.share * 100));
  }
  return fmt::format("most of the change: {}", fmt::join(layers, ", "));
}

}  // namespace detail

LAYERBENCH_INLINE std::string top_contributors_text(const comparison& all) {
  std::string out;
  for (const compared_model& model : all.models) {
    if (model.top_contributors.empty()) continue;
    out += fmt::format("  {}: {}\n", detail::model_title(model),
                       detail::contributors_text(model.top_contributors));
  }
  return out;
}

LAYERBENCH_INLINE table models_table(const comparison& all) {
  std::vector<detail::ratio_row> rows;
  for (const auto& model : all.models) rows.push_back({detail::model_title(model), &model});
  return detail::ratio_table("predicted step", rows);
}

LAYERBENCH_INLINE table sum_table(const comparison& all) {
  return detail::ratio_table("all rows", {{"sum", &all.sum.front()}});
}

namespace detail {

/// What a row is called.
[[nodiscard]] inline std::string_view row_word(const comparison& all) {
  return all.format.empty() ? "layer" : "row";
}

/// The positions of the layers in an order.
[[nodiscard]] inline std::vector<std::size_t> ordered(const comparison& all, comparison_order by) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < all.layers.size(); ++i) order.push_back(i);
  const auto rank = [&](std::size_t i) {
    const compared_layer& layer = all.layers[i];
    const time_ratio& ratio = layer.ratio;
    if (by == comparison_order::ratio) return std::tuple{false, false, ratio.value()};
    if (by == comparison_order::time) return std::tuple{false, false, ratio.new_seconds};
    return std::tuple{layer.changed(), layer.verdict == verdict::unclear,
                      std::abs(std::log(ratio.value()))};
  };
  if (by == comparison_order::name) {
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return all.layers[i].row.name; });
  } else {
    std::ranges::stable_sort(order, std::ranges::greater{}, rank);
  }
  return order;
}

}  // namespace detail

LAYERBENCH_INLINE table layers_table(const comparison& all, const layers_shown& how,
                                     const std::vector<std::string>& names) {
  constexpr std::size_t few = 10;
  const std::vector<std::size_t> order = detail::ordered(all, how.order);
  std::vector<detail::ratio_row> rows;
  for (const std::size_t i : order) {
    const compared_layer& layer = all.layers[i];
    const bool counts =
        how.top > 0 ? rows.size() < how.top : how.all || rows.size() < few || layer.changed();
    if (counts) {
      rows.push_back({names.empty() ? layer.row.name : names[i], &layer});
    }
  }
  table t = detail::ratio_table(std::string(detail::row_word(all)), rows);
  if (const std::size_t rest = order.size() - rows.size(); rest > 0) {
    std::vector<std::string> cells(t.columns.size());
    cells.front() = fmt::format("{} more", rest);
    t.rows.push_back(std::move(cells));
  }
  return t;
}

namespace detail {

/// The number of layers with each verdict.
[[nodiscard]] inline std::string verdicts_text(const comparison& all) {
  std::vector<std::string> counts;
  for (std::size_t i = 0; i < enum_names<verdict>.size(); ++i) {
    const auto kind = static_cast<verdict>(i);
    counts.push_back(fmt::format(
        "{} {}", std::ranges::count(all.layers, kind, &compared_layer::verdict), name(kind)));
  }
  return fmt::format("{} {}s: {} (same: within {:.4g} %)\n", all.layers.size(), row_word(all),
                     fmt::join(counts, ", "), all.margin * 100);
}

[[nodiscard]] inline std::string one_sided_text(std::string_view side,
                                                const std::vector<identified_row>& rows) {
  constexpr std::size_t most = 10;
  if (rows.empty()) return {};
  std::string out =
      fmt::format("only {}: {} row{}\n", side, rows.size(), rows.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) out += "  " + rows[i].name + '\n';
  return rows.size() > most ? out + fmt::format("  {} more\n", rows.size() - most) : out;
}

}  // namespace detail

LAYERBENCH_INLINE std::string remarks(const comparison& all) {
  std::string out = detail::verdicts_text(all) + detail::one_sided_text("old", all.only_old) +
                    detail::one_sided_text("new", all.only_new);
  for (const uncompared& left_out : all.left_out) {
    out += fmt::format("not compared: {}: {}\n", left_out.model_case.text(), left_out.reason);
  }
  return out;
}

LAYERBENCH_INLINE std::string text(const comparison& all, const layers_shown& how) {
  std::string out = comparison_header(all);
  if (!all.models.empty()) out += text(models_table(all)) + top_contributors_text(all) + '\n';
  if (!all.sum.empty()) out += text(sum_table(all)) + '\n';
  if (!all.layers.empty()) {
    std::vector<std::string> rows;
    for (const compared_layer& layer : all.layers) rows.push_back(layer.row.name);
    const result::short_names names = result::table_names_of(rows, how.wide);
    if (!names.shared.empty()) out += fmt::format("{}s: {}\n", detail::row_word(all), names.shared);
    out += text(layers_table(all, how, names.own)) + '\n';
  }
  return out + remarks(all);
}

LAYERBENCH_INLINE table records(const comparison& all) {
  table t = table_with_columns(
      "kind id name ratio low high verdict p old_seconds new_seconds old_rounds new_rounds forced");
  const std::string forced = fmt::format("{}", fmt::join(all.difference.forced, " "));
  const auto add = [&](const char* kind, const std::string& id, const std::string& row,
                       const compared& of) {
    const time_ratio& ratio = of.ratio;
    t.rows.push_back({kind, id, row, format::exact(ratio.value()),
                      ratio.has_interval() ? format::exact(ratio.low) : "",
                      ratio.has_interval() ? format::exact(ratio.high) : "",
                      std::string(name(of.verdict)), ratio.p ? format::exact(of.p) : "",
                      format::exact(of.value(ratio.old_seconds)),
                      format::exact(of.value(ratio.new_seconds)), std::to_string(ratio.old_rounds),
                      std::to_string(ratio.new_rounds), forced});
  };
  for (const auto& model : all.models)
    add("model", model.model_case.text(), model.model_case.model, model);
  for (const compared& sum : all.sum) add("sum", "", "", sum);
  for (const auto& layer : all.layers) add("layer", layer.row.id, layer.row.name, layer);
  const auto add_only = [&](const char* kind, const std::vector<identified_row>& rows) {
    for (const auto& row : rows) {
      t.rows.push_back({kind, row.id, row.name});
      t.rows.back().resize(t.columns.size());
      t.rows.back().back() = forced;
    }
  };
  add_only("only_old", all.only_old);
  add_only("only_new", all.only_new);
  return t;
}

}  // namespace layerbench::analysis
