// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace layerbench::result {

/// A plan that was compared with others for the same work, or that must not be used for it.
struct plan_candidate {
  std::string algorithm;
  std::optional<double> first_seconds = {};  ///< of a single call; nothing if no call succeeded
  std::optional<double> hot_seconds = {};    ///< median over all rounds; nothing before the rounds
  std::optional<double> cold_seconds = {};   ///< the same on cold operands
  std::int64_t workspace_bytes = 0;          ///< of scratch memory
  std::string note = {};   ///< why it was dropped, or is forbidden; empty if neither
  bool forbidden = false;  ///< its results are wrong, or it broke the device: no run may use it
};

/// Candidates in the library's order, its own choice first, by work: "cudnn/threads:1/f16/nhwc/"
/// and the text of model::work_of.
using plan_candidates = std::map<std::string, std::vector<plan_candidate>>;

/// The candidates as JSON, the context field `candidates` of docs/formats.md.
[[nodiscard]] std::string write_candidates(const plan_candidates& all);

/// The inverse of write_candidates. Throws bad_input naming `file`.
[[nodiscard]] plan_candidates read_candidates(std::string_view text, std::string_view file);

}  // namespace layerbench::result

#ifndef LAYERBENCH_COMPILED
#include <layerbench/result/plan_candidates-inl.hpp>
#endif
