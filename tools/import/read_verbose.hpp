// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include <layerbench/base/json.hpp>
#include <layerbench/result/logged_layers.hpp>
#include <layerbench/result/verbose_log.hpp>

namespace layerbench::tool::importer {

/// Calls of one kind that the shape file does not have.
struct unknown_calls {
  std::size_t count = 0;
  double seconds = 0;  ///< of one step
};

/// The step of a log as the layers of a shape file.
struct logged_model : result::logged_layers {
  json::value file_layers = json::value::array();     ///< of the shape file
  std::map<std::string, unknown_calls> unknown = {};  ///< by kind and reason
  std::map<std::string, std::size_t> notes = {};      ///< how often each applies
};

/// The layers of a step. Those of a step that is too long for a shape file are not connected.
[[nodiscard]] logged_model logged_model_of(const result::verbose_log& log,
                                           const result::verbose_step& step);

/// The text of a shape file of a step of at most 20000 calls. Throws bad_input for a longer one and
/// for a step of which no call is a layer.
[[nodiscard]] std::string shape_file_of(const result::verbose_log& log,
                                        const result::verbose_step& step, logged_model model,
                                        const std::string& name, const std::string& title);

/// Says on stderr what the shape file has and lacks. Throws error (incomplete) if it lacks calls,
/// unless `allow_partial`.
void report_logged(const result::verbose_log& log, const result::verbose_step& step,
                   const logged_model& model, bool allow_partial);

}  // namespace layerbench::tool::importer
