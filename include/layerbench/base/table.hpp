// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace layerbench::report {

enum class align { left, right };

struct column {
  std::string title;
  report::align align = report::align::left;
};

/// Rows of text under titled columns; each row has as many cells as there are columns.
struct table {
  std::vector<column> columns;
  std::vector<std::vector<std::string>> rows;
};

/// A table without rows whose columns are titled by these words.
[[nodiscard]] inline table table_with_columns(const std::string& words) {
  table result;
  std::istringstream titles(words);
  for (std::string title; titles >> title;) result.columns.push_back({title});
  return result;
}

namespace detail {

/// Columns of a UTF-8 text on a terminal, one per character.
[[nodiscard]] inline std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

[[nodiscard]] inline std::string padded(const std::string& cell, std::size_t wide, align side) {
  const std::string space(wide - std::min(wide, width(cell)), ' ');
  return side == align::left ? cell + space : space + cell;
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

/// The table as aligned text, which is also Markdown.
[[nodiscard]] inline std::string text(const table& t) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < t.columns.size(); ++i) {
    widths.push_back(std::max<std::size_t>(3, detail::width(t.columns[i].title)));
    for (const auto& row : t.rows) widths[i] = std::max(widths[i], detail::width(row[i]));
  }
  const auto line = [&](const auto& cell) {
    std::string text = "|";
    for (std::size_t i = 0; i < widths.size(); ++i) {
      text += ' ' + detail::padded(cell(i), widths[i], t.columns[i].align) + " |";
    }
    return text + '\n';
  };
  std::string out = line([&](std::size_t i) { return t.columns[i].title; });
  out += line([&](std::size_t i) {
    const bool right = t.columns[i].align == align::right;
    return std::string(widths[i] - (right ? 1 : 0), '-') + (right ? ":" : "");
  });
  for (const auto& row : t.rows) out += line([&](std::size_t i) { return row[i]; });
  return out;
}

/// The table as CSV (RFC 4180): a header line, then one line per row.
[[nodiscard]] inline std::string csv(const table& t) {
  std::vector<std::string> titles;
  titles.reserve(t.columns.size());
  for (const column& heading : t.columns) titles.push_back(heading.title);
  std::string out = detail::csv_record(titles);
  for (const auto& row : t.rows) out += detail::csv_record(row);
  return out;
}

}  // namespace layerbench::report
