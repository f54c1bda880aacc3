// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/memory/text.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/result/short_names.hpp>

namespace layerbench::analysis {

namespace detail {

[[nodiscard]] inline std::string bytes_text(std::int64_t bytes) {
  return units::si(static_cast<double>(bytes), "B");
}

/// "resnet50 training, f32, batch 32, momentum"
[[nodiscard]] inline std::string conditions_text(const memory_report& of) {
  std::string text = fmt::format("{} {}, {}, batch {}", of.graph.name, of.phase, name(of.step.type),
                                 model::batch(of.graph));
  for (const std::string_view parameter : model::text_parameters) {
    if (const auto value = model::parameter(of.graph, parameter)) {
      text += fmt::format(", {} {}", parameter, *value);
    }
  }
  if (!of.graph.fusion.empty()) text += ", fusion " + of.graph.fusion;
  return of.phase == "training" ? fmt::format("{}, {}", text, model::text(of.how)) : text;
}

/// The bytes that are live at the peak and those of each policy, by kind. Kinds of which there are
/// none have no row.
[[nodiscard]] inline table policy_table(const memory_report& of) {
  using enum align;
  table t{{{"bytes"}, {"live at the peak", right}}, {}};
  for (const memory_total& total : of.totals) {
    t.columns.push_back({std::string(name(total.policy)), right});
  }
  const auto add = [&](std::string_view title, std::int64_t live, const auto& bytes_of) {
    std::vector<std::string> row{std::string(title), live > 0 ? bytes_text(live) : "-"};
    bool is_empty = live == 0;
    for (const memory_total& total : of.totals) {
      row.push_back(bytes_text(bytes_of(total)));
      is_empty = is_empty && bytes_of(total) == 0;
    }
    if (!is_empty) t.rows.push_back(std::move(row));
  };
  const memory_parts& live = of.live.at_peak();
  constexpr std::array titles{"input",           "weights",   "key-value caches",
                              "optimizer state", "gradients", "activations"};
  static_assert(titles.size() == enum_names<memory_kind>.size());
  for (std::size_t i = 0; i < titles.size(); ++i) {
    add(titles[i], live.bytes[i], [&](const memory_total& total) { return total.parts.bytes[i]; });
  }
  add("rounding, free", 0, [](const memory_total& total) { return total.rest; });
  add("reorders", 0, [](const memory_total& total) { return total.beside.reorders; });
  add("scratch", 0, [](const memory_total& total) { return total.beside.scratch; });
  add("contexts", 0, [](const memory_total& total) { return total.beside.contexts; });
  add("all", live.total(), [](const memory_total& total) { return total.bytes(); });
  return t;
}

[[nodiscard]] inline std::string call_text(const memory_report& of, std::size_t i) {
  const model::call& call = of.step.calls[i];
  return result::short_joined(model::call_name(call.layer, op::name(call.pass)));
}

/// Live memory over the step: for each of up to twenty parts of it, the call with the most.
[[nodiscard]] inline table chart(const memory_report& of) {
  constexpr std::size_t rows = 20;
  constexpr std::size_t bar_length = 30;
  using enum align;
  table t{{{"call", right}, {"part"}, {"most in"}, {"live", right}, {"of the peak"}}, {}};
  const std::size_t calls = of.live.calls.size();
  const auto most = static_cast<double>(of.live.at_peak().total());
  for (std::size_t row = 0; row < std::min(rows, calls); ++row) {
    const auto begin = of.live.calls.begin();
    const auto first = static_cast<std::ptrdiff_t>(row * calls / std::min(rows, calls));
    const auto end = static_cast<std::ptrdiff_t>((row + 1) * calls / std::min(rows, calls));
    const auto largest =
        std::ranges::max_element(begin + first, begin + end, {}, &memory_parts::total);
    const auto at = static_cast<std::size_t>(largest - begin);
    t.rows.push_back({std::to_string(at + 1), std::string(name(of.step.calls[at].part)),
                      call_text(of, at), bytes_text(largest->total()),
                      text_bar(static_cast<double>(largest->total()) / most, bar_length)});
  }
  return t;
}

/// What is not counted, and what follows from the bytes; one line each.
[[nodiscard]] inline std::string notes_text(const memory_report& of) {
  std::string text;
  if (const auto bytes = of.cache_of_a_token()) {
    text += fmt::format("  key-value caches: {} per token of a sequence\n", bytes_text(*bytes));
  }
  for (std::size_t i = 0; i < of.batches.size(); ++i) {
    const std::int64_t batch = of.batches[i];
    text += fmt::format("  largest batch within {}, {}: {}\n", bytes_text(*of.limit),
                        name(of.totals[i].policy), batch == 0 ? "none" : std::to_string(batch));
  }
  if (!of.scratch_known) {
    text += "  not counted: scratch memory and reorders of the library (--scratch=FILE)\n";
  }
  if (of.live.unknown > 0) {
    text += fmt::format("  not counted: {} tensors of which only the library knows the size\n",
                        of.live.unknown);
  }
  return text;
}

}  // namespace detail

LAYERBENCH_INLINE std::string text(const memory_report& of) {
  return fmt::format("{}\n  peak of live memory: {} in call {} of {}, {}\n{}\n{}\n{}",
                     detail::conditions_text(of), detail::bytes_text(of.live.at_peak().total()),
                     of.live.peak + 1, of.step.calls.size(), detail::call_text(of, of.live.peak),
                     detail::notes_text(of), text(detail::policy_table(of)),
                     text(detail::chart(of)));
}

LAYERBENCH_INLINE table records(const memory_report& of) {
  table t = table_with_columns("layer pass part bytes");
  for (const std::string_view kind : enum_names<memory_kind>) {
    t.columns.push_back({std::string(kind) + "_bytes"});
  }
  for (std::size_t i = 0; i < of.step.calls.size(); ++i) {
    const model::call& call = of.step.calls[i];
    std::vector<std::string>& row = t.rows.emplace_back();
    row = {call.layer, std::string(op::name(call.pass)), std::string(name(call.part)),
           std::to_string(of.live.calls[i].total())};
    for (const std::int64_t bytes : of.live.calls[i].bytes) row.push_back(std::to_string(bytes));
  }
  return t;
}

}  // namespace layerbench::analysis
