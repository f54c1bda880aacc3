// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <layerbench/base/plain_text.hpp>

namespace layerbench {

namespace detail {
inline bool quiet = false;
}  // namespace detail

/// Whether the program prints results and errors alone: no progress, no notes.
[[nodiscard]] inline bool is_quiet() { return detail::quiet; }
/// Sets is_quiet(). Programs do so once, when they have read --quiet.
inline void set_quiet(bool quiet) { detail::quiet = quiet; }

/// Prints what is no error to stderr; nothing with --quiet.
inline void note(const std::string& text) {
  if (!is_quiet()) print_message(text);
}

}  // namespace layerbench
