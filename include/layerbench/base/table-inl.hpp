// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <sstream>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/plain_text.hpp>
#include <layerbench/base/table.hpp>

namespace layerbench {

LAYERBENCH_INLINE table table_with_columns(const std::string& titles) {
  table result;
  std::istringstream words(titles);
  for (std::string title; words >> title;) result.columns.push_back({title});
  return result;
}

LAYERBENCH_INLINE std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

LAYERBENCH_INLINE std::string shortened(std::string_view text, std::size_t most) {
  if (display_width(text) <= most) return std::string(text);
  std::size_t end = 0;
  for (std::size_t seen = 0; seen < most; ++end) seen += display_width(text.substr(end, 1));
  return std::string(text.substr(0, end - 1)) + "\u2026";
}

LAYERBENCH_INLINE std::string text_bar(double share, std::size_t most) {
  const long length = std::lround(share * static_cast<double>(most));
  std::string drawn;
  for (long i = 0; i < length; ++i) drawn += "█";
  return drawn;
}

namespace detail {

LAYERBENCH_INLINE std::vector<std::size_t> widths(const table& t) {
  std::vector<std::size_t> result(t.columns.size(), 3);
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = std::max(result[i], display_width(t.columns[i].title));
    for (const auto& row : t.rows) result[i] = std::max(result[i], display_width(row[i]));
  }
  return result;
}

LAYERBENCH_INLINE std::string padded(const std::string& cell, std::size_t width, align alignment) {
  const std::string space(width - std::min(width, display_width(cell)), ' ');
  const std::string plain = without_controls(cell, /*one_line=*/true);
  return alignment == align::left ? plain + space : space + plain;
}

/// A CSV field, quoted where RFC 4180 asks for it.
[[nodiscard]] inline std::string csv_field(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

[[nodiscard]] inline std::string csv_record(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += (i == 0 ? "" : ",") + csv_field(cells[i]);
  }
  return line + "\r\n";
}

}  // namespace detail

LAYERBENCH_INLINE std::string text(const table& t) {
  const std::vector<std::size_t> widths = detail::widths(t);
  const auto line = [&](const auto& cell) {
    std::string result = "|";
    for (std::size_t i = 0; i < widths.size(); ++i) {
      result += ' ' + detail::padded(cell(i), widths[i], t.columns[i].alignment) + " |";
    }
    return result + '\n';
  };
  std::string out = line([&](std::size_t i) { return t.columns[i].title; });
  out += line([&](std::size_t i) {
    const bool right = t.columns[i].alignment == align::right;
    return std::string(widths[i] - (right ? 1 : 0), '-') + (right ? ":" : "");
  });
  for (const auto& row : t.rows) out += line([&](std::size_t i) { return row[i]; });
  return out;
}

LAYERBENCH_INLINE table narrowed(table t, std::size_t most, std::size_t least) {
  constexpr std::size_t frame = 3;  // "| " before and " " behind each cell; one more at the end
  const std::vector<std::size_t> widths = detail::widths(t);
  std::size_t others = 1 + frame * widths.size();
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) others += widths[i];
  const std::size_t room = std::max(least, most - std::min(most, others));
  for (auto& row : t.rows) row.back() = shortened(row.back(), room);
  return t;
}

LAYERBENCH_INLINE std::string csv(const table& t) {
  std::vector<std::string> titles;
  titles.reserve(t.columns.size());
  for (const column& column : t.columns) titles.push_back(column.title);
  std::string out = detail::csv_record(titles);
  for (const auto& row : t.rows) out += detail::csv_record(row);
  return out;
}

}  // namespace layerbench
