// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <layerbench/op/op.hpp>

namespace layerbench::result {

/// A call of the log's step as a layer of the shape file that `layerbench import verbose` makes.
struct logged_layer {
  std::string name;                ///< of its kind and number, also if it is no layer
  std::optional<op::any> op = {};  ///< nothing: the file does not have it
  bool in_other = false;           ///< a reorder that the layer it works for makes itself
};

/// The calls of a step as layers, and the options that measure them as in the log.
struct logged_layers {
  std::vector<logged_layer> layers;  ///< for each call of the step
  std::string type;                  ///< for --dtype
  std::string layout;                ///< for --layout
};

}  // namespace layerbench::result
