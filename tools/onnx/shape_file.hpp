// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "conversion.hpp"
#include "graph.hpp"

namespace layerbench::tool::onnx {

struct import_options {
  std::map<std::string, std::int64_t, std::less<>> bound;  ///< sizes by their names in the file
  std::optional<std::int64_t> batch;                       ///< of the shape file [the file's, or 1]
  std::string name;                                        ///< of the model
  std::string title;                                       ///< empty: from the name and the inputs
  bool softmax = true;
};

/// A model as a shape file.
struct imported {
  std::string text;    ///< of the shape file
  conversion created;  ///< with what it lacks and what is to be noted
  std::int64_t parameters = 0;
};

/// Converts a model. Throws bad_input, and usage_error for a batch that the file does not allow.
[[nodiscard]] imported shape_file_of(const graph& g, const import_options& options);

}  // namespace layerbench::tool::onnx
