// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace layerbench::run {

/// What a benchmark program is.
struct program {
  std::string name;
  std::string purpose;           ///< one sentence, for --help
  std::vector<std::string> ops;  ///< names of the ops it measures; empty: all layers of a model

  [[nodiscard]] bool whole_model() const { return ops.empty(); }
};

}  // namespace layerbench::run
