// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <layerbench/analysis/base/breakdown.hpp>
#include <layerbench/analysis/base/prediction.hpp>

/// What the texts of several subcommands say alike.
namespace layerbench::analysis {

/// The conditions of a case: "resnet50 inference, onednn f32, batch 1, 2 threads".
[[nodiscard]] std::string headline(const result::case_name& model_case, std::int64_t threads);
[[nodiscard]] std::string headline(const prediction& p);

/// The conditions of several cases: what all share, and what each has besides, its model first.
struct headlines {
  std::string shared;  ///< "inference, onednn f32, batch 1"; may be empty
  std::vector<std::string> own;
};
[[nodiscard]] headlines headlines_of(std::span<const prediction* const> cases);

/// "conv 62.1 %, batchnorm 20.3 %"
[[nodiscard]] std::string shares_text(const share_list& shares);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/base/text-inl.hpp>
#endif
