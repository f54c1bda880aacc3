// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/compare/change_points.hpp>
#include <layerbench/analysis/compare/text.hpp>
#include <layerbench/analysis/compare/time_series.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/short_names.hpp>
#include <layerbench/shape/record.hpp>

/// Histories as text and as CSV.
namespace layerbench::analysis {

/// Reservations about a comparison of dates, one sentence each.
[[nodiscard]] inline std::vector<std::string> notes(const date_comparison& all) {
  std::vector<std::string> sentences = all.file_notes;
  if (!all.forced.empty()) {
    sentences.push_back(fmt::format("forced: files also differ in {}", fmt::join(all.forced, " ")));
  }
  detail::add_partial_models(all.steps, sentences);
  constexpr std::size_t most = 5;
  std::vector<std::string> disturbed;
  for (const history_file& one : all.files) {
    if (one.disturbed > result::much_disturbed) disturbed.push_back(one.file);
  }
  const std::size_t count = disturbed.size();
  if (count > most) {
    disturbed.resize(most);
    disturbed.emplace_back("...");
  }
  if (!disturbed.empty()) {
    sentences.push_back(
        fmt::format("something else used the processors during more than a tenth of the timings "
                    "of {} files, so changes may be the machine's: {}",
                    count, fmt::join(disturbed, " ")));
  }
  if (all.files.size() < min_history) {
    sentences.push_back(
        fmt::format("no change can be named in fewer than {} files, {} before it "
                    "and {} from it on",
                    min_history, min_level, min_level));
  } else if (!all.on_few_files.empty()) {
    sentences.push_back(fmt::format("{} rows are in fewer than {} files and are not compared",
                                    all.on_few_files.size(), min_history));
  }
  return sentences;
}

/// One row for each of the `most` first changes: the first file after it, and how much it is.
[[nodiscard]] inline table changes_table(const std::vector<named_change>& changes,
                                         std::size_t most) {
  using enum align;
  table t{{{"from"},
           {"file"},
           {"what"},
           {"before", right},
           {"after", right},
           {"change"},
           {"p", right},
           {"context that differs"}},
          {}};
  for (const auto& [of, is_step, name, change] : changes) {
    if (t.rows.size() == most) {
      std::vector<std::string> cells(t.columns.size());
      cells.front() = fmt::format("{} more", changes.size() - most);
      t.rows.push_back(std::move(cells));
      break;
    }
    const history_point& first = of->points[change->first];
    t.rows.push_back({first.date, first.file, name, units::duration(change->ratio.old_seconds),
                      units::duration(change->ratio.new_seconds),
                      detail::difference_text(change->ratio), fmt::format("{:.1g}", change->p),
                      fmt::format("{}", fmt::join(first.differing, " "))});
  }
  return t;
}

/// The files, the notes, a table of changes, and what is not compared.
[[nodiscard]] inline std::string text(const date_comparison& all, const layers_shown& how = {}) {
  constexpr std::size_t usual = 20;
  const history_file& first = all.files.front();
  const history_file& last = all.files.back();
  std::string out = fmt::format("{} files, from {} ({}) to {} ({})\n", all.files.size(), first.file,
                                first.date, last.file, last.date);
  for (const std::string& note : notes(all)) out += "note: " + note + '\n';
  std::vector<named_change> changes = named_changes(all);
  out += fmt::format("{} lasting changes in {} steps and {} layers\n", changes.size(),
                     all.steps.size(), all.layers.size());
  if (!changes.empty()) {
    std::vector<std::string> rows;
    for (const layer_series& layer : all.layers) rows.push_back(layer.row.name);
    const result::short_names names = result::table_names_of(rows, how.wide);
    for (named_change& change : changes) {
      const auto place = std::ranges::find(rows, change.name) - rows.begin();
      if (!change.is_step) change.name = names.own[static_cast<std::size_t>(place)];
    }
    const std::size_t most = how.all ? changes.size() : how.top > 0 ? how.top : usual;
    if (!names.shared.empty()) out += fmt::format("layers: {}\n", names.shared);
    out += '\n' + text(changes_table(changes, most)) +
           "\nlayerbench report with these files draws the changes\n";
  }
  for (const uncompared& other : all.left_out) {
    out += fmt::format("not compared: {}: {}\n", other.model_case.text(), other.reason);
  }
  return out;
}

/// One row per change.
[[nodiscard]] inline table records(const date_comparison& all) {
  table t = table_with_columns(
      "kind name file date ratio low high verdict p old_seconds new_seconds old_files new_files "
      "differing forced");
  const std::string forced = fmt::format("{}", fmt::join(all.forced, " "));
  for (const auto& [of, is_step, what, change] : named_changes(all)) {
    const history_point& first = of->points[change->first];
    const time_ratio& ratio = change->ratio;
    t.rows.push_back({is_step ? "model" : "layer", what, first.file, first.date,
                      format::exact(ratio.value()), format::exact(ratio.low),
                      format::exact(ratio.high), std::string(name(change->verdict)),
                      format::exact(change->p), format::exact(ratio.old_seconds),
                      format::exact(ratio.new_seconds), std::to_string(ratio.old_rounds),
                      std::to_string(ratio.new_rounds),
                      fmt::format("{}", fmt::join(first.differing, " ")), forced});
  }
  return t;
}

}  // namespace layerbench::analysis
