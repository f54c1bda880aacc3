// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/op/op.hpp>

namespace layerbench::result {

/// A call of the log's step as a layer of the shape file that `layerbench import verbose` makes.
struct logged_layer {
  std::string name;                ///< of its kind and number, also if it is no layer
  std::optional<op::any> op = {};  ///< nothing: the file does not have it
  /// Of a reorder: the call of the step whose tensor it brings into another order, and that tensor.
  std::optional<std::size_t> reorders_for = {};
  std::string_view reordered = {};  ///< src wei dst
};

/// The calls of a step as layers, and the options that measure them as in the log.
struct logged_layers {
  std::vector<logged_layer> layers;  ///< for each call of the step
  std::string type;                  ///< for --dtype; f32 if the log has no types
  bool has_types = false;            ///< whether the log has types
  std::string layout;                ///< for --layout; empty: the log has no memory orders
};

}  // namespace layerbench::result
