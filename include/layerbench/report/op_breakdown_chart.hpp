// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <ranges>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/predict/layer_table.hpp>
#include <layerbench/analysis/predict/text.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/report/svg.hpp>

/// Charts of the shares of a step.
namespace layerbench::report::svg {

namespace detail {

/// A text above a bar, with a line down to its segment.
struct flag {
  std::string text;
  double x;
  std::size_t line = 0;  ///< 0 is next to the bar
};

/// Places the flags, given from left to right, on the lowest line where their text meets no other
/// text and no flag's line. Returns the number of lines used.
inline std::size_t place(std::vector<flag>& flags) {
  constexpr double gap = 10;
  std::vector<double> free_until;  // of each line
  for (flag& flag : flags | std::views::reverse) {
    const double end = flag.x + label_width(flag.text) + gap;
    const auto fits = std::ranges::find_if(free_until, [&](double limit) { return end <= limit; });
    flag.line = static_cast<std::size_t>(fits - free_until.begin());
    if (fits == free_until.end()) free_until.push_back(flag.x);
    for (std::size_t line = 0; line <= flag.line; ++line) free_until[line] = flag.x;
  }
  return free_until.size();
}

}  // namespace detail

/// A bar of the whole step, divided by op. Shares above 6 % are labelled.
[[nodiscard]] inline markup share_bar(const analysis::prediction& p, const palette& ops) {
  constexpr double width = 520;  // leaves room for the last text
  constexpr double height = 30;
  constexpr double line = 18;
  constexpr double named = 0.06;
  const analysis::share_list shares = analysis::shares_by_op(p);
  std::vector<detail::flag> flags;
  double done = 0;
  for (const auto& [op, share] : shares) {
    if (share > named) {
      const std::string text = shortened(op, 24) + ' ' + format::percent(share);
      flags.push_back({text, 4 + done * width});
    }
    done += share;
  }
  const double top = line * static_cast<double>(detail::place(flags)) + 4;
  markup drawn;
  done = 0;
  for (const auto& [op, share] : shares) {
    drawn += rectangle({1 + done * width, top, share * width, height}, "bar", ops.fill(op));
    done += share;
  }
  for (const detail::flag& flag : flags) {
    const double base = top - 6 - line * static_cast<double>(flag.line);
    drawn += label(flag.x + 4, base, flag.text);
    drawn += path(fmt::format("M{:.1f} {:.1f}V{:.1f}", flag.x, base - 9, top), "zero");
  }
  return figure(top + height + 2,
                "Shares of the step by kind of op: " + analysis::shares_text(shares), "", drawn);
}

/// Bars of the `most` layers with the largest shares of the step.
[[nodiscard]] inline markup layer_bars(const analysis::prediction& p, std::size_t most,
                                       const palette& ops) {
  constexpr double row = 22;
  constexpr double names = 190;
  std::vector<analysis::layer_time> layers = analysis::heaviest_first(p);
  if (layers.size() > most) layers.resize(most);
  const auto share_of = [](const analysis::layer_time& of, double seconds) {
    return of.share * seconds / of.seconds;
  };
  double largest = 0;
  for (const analysis::layer_time& layer : layers) {
    largest = std::max({largest, layer.share, share_of(layer, layer.high)});
  }
  const scale x{0, largest, names, drawing_width - 70};
  markup drawn;
  double top = 2;
  for (const analysis::layer_time& layer : layers) {
    const double middle = top + row / 2;
    drawn += label(names - 8, middle + 4, shortened(layer.call_name(), 27), "end");
    drawn +=
        rectangle({names, top + 3, x(layer.share) - names, row - 6}, "bar", ops.fill(layer.op));
    if (layer.low < layer.high) {
      drawn += whisker(x(share_of(layer, layer.low)), x(share_of(layer, layer.high)), middle);
    }
    drawn += label(drawing_width - 2, middle + 4, format::percent(layer.share), "end");
    top += row;
  }
  return figure(
      top + 2,
      fmt::format("The {} layers with most of the step's time, as in the table below",
                  layers.size()),
      "Share of the step, all calls of a layer together; lines across the ends of bars: how "
      "sure the rounds are",
      drawn);
}

}  // namespace layerbench::report::svg
