// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <layerbench/op/op.hpp>
#include <layerbench/result/verbose_log.hpp>

namespace layerbench::tool::importer {

/// A call of a log's step as a layer of a shape file.
struct logged_layer {
  std::string name;                ///< of its kind and number, also if it is no layer
  std::optional<op::any> op = {};  ///< nothing: the file does not have it
  bool in_other = false;           ///< a reorder that the layer it works for makes itself
};

/// Calls of one kind that the shape file does not have.
struct unknown_calls {
  std::size_t count = 0;
  double seconds = 0;  ///< of one step
};

/// The step of a log as a shape file.
struct logged_model {
  std::string text;                              ///< of the shape file
  std::vector<logged_layer> layers;              ///< for each call of the step
  std::map<std::string, unknown_calls> unknown;  ///< by kind and reason
  std::map<std::string, std::size_t> notes;      ///< how often each applies
  std::string type;                              ///< for --dtype
  std::string layout;                            ///< for --layout
};

/// The shape file of a step, which must have at most 20000 calls. Throws bad_input for a longer one
/// and for a step of which no call is a layer.
[[nodiscard]] logged_model logged_model_of(const result::verbose_log& log,
                                           const result::verbose_step& step,
                                           const std::string& name, const std::string& title);

/// Says on stderr what the shape file has and lacks. Throws error (incomplete) if it lacks calls,
/// unless `allow_partial`.
void report_logged(const result::verbose_log& log, const result::verbose_step& step,
                   const logged_model& model, bool allow_partial);

}  // namespace layerbench::tool::importer
