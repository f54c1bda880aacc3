// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace layerbench {

enum class align { left, right };

struct column {
  std::string title;
  layerbench::align alignment = layerbench::align::left;
};

/// Rows of text under titled columns. Every row has one cell per column.
struct table {
  std::vector<column> columns;
  std::vector<std::vector<std::string>> rows;
};

/// A table without rows. The words of `titles`, separated by blanks, are its columns' titles.
[[nodiscard]] table table_with_columns(const std::string& titles);

/// Columns that a UTF-8 text takes on a terminal: one per character.
[[nodiscard]] std::size_t display_width(std::string_view text);

/// `text`, cut and with an ellipsis if it has more than `most` characters.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

/// A bar of blocks, `share` times `most` characters long.
[[nodiscard]] std::string text_bar(double share, std::size_t most);

namespace detail {

/// Columns on a terminal of each column's cells.
[[nodiscard]] std::vector<std::size_t> widths(const table& t);

[[nodiscard]] std::string padded(const std::string& cell, std::size_t width, align alignment);

}  // namespace detail

/// The table as aligned text, which is also a Markdown table.
[[nodiscard]] std::string text(const table& t);

/// The table with the cells of the last column cut, so that lines of its text take at most `most`
/// columns; `least` characters of each cell stay.
[[nodiscard]] table narrowed(table t, std::size_t most, std::size_t least = 16);

/// The table as CSV (RFC 4180): a header line, then one line per row.
[[nodiscard]] std::string csv(const table& t);

}  // namespace layerbench

#ifndef LAYERBENCH_COMPILED
#include <layerbench/base/table-inl.hpp>
#endif
