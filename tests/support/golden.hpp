// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include <layerbench/base/json.hpp>
#include <layerbench/result/read_results.hpp>

/// Example result files with rows of two models.
namespace layerbench::testing {

/// Layers, hot and as cached in the model, and chains: tiny at batch 2, small, and tiny at batch 4,
/// whose relu1 was not measured.
inline const std::string chain_file = LAYERBENCH_SOURCE_DIR "/tests/golden/chain_results.json";

/// Hot layers alone: tiny at batch 2, small, and tiny at batch 4, whose conv1 and fc were not
/// measured.
inline const std::string tiny_file = LAYERBENCH_SOURCE_DIR "/tests/golden/tiny_results.json";

[[nodiscard]] inline result::results chain_results() { return result::read(chain_file); }

/// The names of the members of a JSON object.
[[nodiscard]] inline std::set<std::string> keys(const json::value& object) {
  std::set<std::string> names;
  for (const auto& item : object.items()) names.insert(item.key());
  return names;
}

}  // namespace layerbench::testing
