// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <sys/ioctl.h>
#include <unistd.h>

#include <layerbench/base/table.hpp>

/// Text in the width of a terminal.
namespace layerbench {

/// Columns that a terminal says it has; 0 where the file is none.
[[nodiscard]] std::size_t window_columns(int file);

/// Columns of the terminal that stdout is: COLUMNS if it is set, else what the terminal says.
/// Nothing narrower than 60 columns is written. 0 where stdout is no terminal: text for a file or a
/// pipe keeps its own width.
[[nodiscard]] std::size_t terminal_columns();

namespace detail {

/// `text` in lines of at most `most` columns, broken at blanks; words that are longer are broken
/// behind a '/', ',', '_' or '+', or anywhere.
[[nodiscard]] std::vector<std::string> broken(std::string_view text, std::size_t most);

/// The cells of a line that text(const table&) wrote.
[[nodiscard]] std::vector<std::string> cells_of(const std::string& line);

/// The table that text(const table&) wrote as `lines`; without columns if it wrote none of them.
[[nodiscard]] table parsed(const std::vector<std::string>& lines);

/// Columns that a table's lines take beside its cells.
[[nodiscard]] inline std::size_t frame_of(const table& t) { return 1 + 3 * t.columns.size(); }

/// Makes the widest columns narrower, down to `smallest` each, until a table's lines take `most`.
void narrow(std::vector<std::size_t>& widths, const std::vector<std::size_t>& smallest,
            std::size_t frame, std::size_t most);

}  // namespace detail

/// `text` in lines of at most `columns`, tables included; as it is if `columns` is 0.
[[nodiscard]] std::string fitted(const std::string& text, std::size_t columns);

}  // namespace layerbench

#ifndef LAYERBENCH_COMPILED
#include <layerbench/base/terminal-inl.hpp>
#endif
