// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

/// Text in the width of a terminal.
namespace layerbench {

/// Columns that a terminal says it has; 0 where the file is none.
[[nodiscard]] std::size_t window_columns(int file);

/// Columns of the terminal that stdout is: COLUMNS if it is set, else what the terminal says.
/// Nothing narrower than 60 columns is written. 0 where stdout is no terminal: text for a file or a
/// pipe keeps its own width.
[[nodiscard]] std::size_t terminal_columns();

/// `text` in lines of at most `columns`, tables included; as it is if `columns` is 0.
[[nodiscard]] std::string fitted(const std::string& text, std::size_t columns);

}  // namespace layerbench

#ifndef LAYERBENCH_COMPILED
#include <layerbench/base/terminal-inl.hpp>
#endif
