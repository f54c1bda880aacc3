// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/base/ratio.hpp>
#include <layerbench/analysis/compare/comparison.hpp>
#include <layerbench/analysis/compare/verdict.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/shape/record.hpp>

/// Comparisons as text and as CSV.
namespace layerbench::analysis {

/// Reservations about a comparison, one sentence each.
[[nodiscard]] std::vector<std::string> notes(const comparison& all);

/// "a.json, b.json against c.json": new against old.
[[nodiscard]] std::string comparison_title(const comparison& all);

/// The files of both sides, what they loaded, and in what they differ.
[[nodiscard]] std::string comparison_header(const comparison& all);

namespace detail {

/// Adds a sentence for each partial model of `all`, whose type has `model_case` and `left_out`.
template <class Cases>
void add_partial_models(const Cases& all, std::vector<std::string>& sentences) {
  std::set<std::string> known;
  for (const auto& one : all) {
    if (!one.left_out || !known.insert(one.model_case.model).second) continue;
    sentences.push_back(fmt::format("{} is a partial model: {}", one.model_case.model,
                                    format::left_out(*one.left_out)));
  }
}

/// The verdict. Where it is unclear, also the direction in which the whole interval points.
[[nodiscard]] std::string verdict_text(const compared& of);

/// The interval of a ratio. With few rounds or pairs it spans their extremes.
[[nodiscard]] std::string between_text(const time_ratio& of);

/// "4.1 % slower (3.2 to 5.0)", of a ratio that is not the same.
[[nodiscard]] std::string difference_text(const time_ratio& of);

/// "most of the change: conv1 +0.31 ms (62 %)".
[[nodiscard]] std::string contributors_text(const std::vector<contributor>& top);

}  // namespace detail

/// The layers that contribute most to the change of each model, one line per model.
[[nodiscard]] std::string top_contributors_text(const comparison& all);

/// The predicted steps, one row per model.
[[nodiscard]] table models_table(const comparison& all);

/// The sum of the rows, which there must be.
[[nodiscard]] table sum_table(const comparison& all);

/// Orders of a table of compared layers: faster and slower ones first, largest changes first; by
/// ratio or new time, largest first; by name.
enum class comparison_order : std::uint8_t { change, ratio, time, name };

/// How much the text of a comparison says of layers.
struct layers_shown {
  bool all = false;     ///< every layer, not only what changed and a few others
  bool wide = false;    ///< whole names of rows, also the parts that all of them have
  std::size_t top = 0;  ///< that many layers; 0: what changed, and others up to ten rows
  comparison_order order = comparison_order::change;
};

[[nodiscard]] constexpr std::array<std::string_view, 4> list_names(comparison_order /*tag*/) {
  return {"change", "ratio", "time", "name"};
}

/// All layers that became faster or slower, largest changes first. Unclear and then unchanged
/// layers follow, up to ten rows. `how` may ask for others, and for another order. `names` are
/// those of the layers, in their order; default: those of the rows.
[[nodiscard]] table layers_table(const comparison& all, const layers_shown& how = {},
                                 const std::vector<std::string>& names = {});

/// The number of layers with each verdict, rows that only one side has, and uncompared cases.
[[nodiscard]] std::string remarks(const comparison& all);

/// The header, a table of models with the layers that contribute most to their changes, a table of
/// layers, and the remarks.
[[nodiscard]] std::string text(const comparison& all, const layers_shown& how = {});

/// One row per model, then one per layer. Rows of only one side come last, without numbers.
[[nodiscard]] table records(const comparison& all);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/compare/text-inl.hpp>
#endif
