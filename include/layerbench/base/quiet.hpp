// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace layerbench {

namespace detail {
inline bool quiet = false;
}  // namespace detail

/// Whether the program prints results and errors alone: no progress, no notes.
[[nodiscard]] inline bool is_quiet() { return detail::quiet; }
/// Sets is_quiet(). Programs do so once, when they have read --quiet.
inline void set_quiet(bool quiet) { detail::quiet = quiet; }

}  // namespace layerbench
