// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/base/json.hpp>

#include "conversion.hpp"
#include "graph.hpp"

namespace layerbench::tool::importer {

/// The extents of an input, in place of those that the file leaves open.
struct given_input {
  std::string name;                  ///< empty: the only input
  std::vector<std::string> extents;  ///< sizes, or names of sizes
};

struct import_options {
  std::vector<given_input> inputs;
  std::map<std::string, std::int64_t, std::less<>> bound;  ///< sizes by their names in the file
  std::optional<std::int64_t> batch;                       ///< of the shape file [the file's, or 1]
  std::string name;                                        ///< of the model
  std::string title;                                       ///< empty: from the name and the inputs
  bool softmax = true;
};

/// A size in a text of the command line; nothing if it is none.
[[nodiscard]] std::optional<std::int64_t> size_of(std::string_view text);

/// A model as a shape file.
struct imported {
  std::string text;    ///< of the shape file
  conversion created;  ///< with what it lacks and what is to be noted
  std::int64_t parameters = 0;
};

/// Converts a model, and reads the result as programs do. Throws bad_input, error where that fails,
/// and usage_error for a batch that the file does not allow.
[[nodiscard]] imported shape_file_of(graph g, const import_options& options);

/// The text of a shape file: a line per key of the header, and per layer.
[[nodiscard]] std::string shape_file_text(const json::value& header, const json::value& layers);

/// A name of a model from that of its file.
[[nodiscard]] std::string model_name_of(const std::string& file);

}  // namespace layerbench::tool::importer
