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
  std::vector<std::string> models = {};  ///< by default; empty: those of options
  bool peaks = false;                    ///< it measures the list of model/peak.hpp, no models
  bool collective = false;               ///< it measures the lists of model/collectives.hpp

  [[nodiscard]] bool whole_model() const { return ops.empty(); }
  /// Whether its rows are parts of steps, which can be predicted.
  [[nodiscard]] bool is_predictable() const { return !peaks && !collective; }
};

}  // namespace layerbench::run
