// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace layerbench::result {

/// The lengths of steps that an error was learned from, short ones below short_step_seconds.
enum class step_length { all, short_steps, long_steps };

/// The relative error that 95 % of the validated cases of a kind stay within. Empty texts mean all.
struct learned_error {
  std::string_view backend;
  std::string_view kind;  ///< see step_kind(); or an engine, whose steps were compared
  bool disturbed;         ///< result::much_disturbed
  step_length steps;      ///< shorter or longer than short_step_seconds
  double relative;
  std::size_t cases;
};

}  // namespace layerbench::result
