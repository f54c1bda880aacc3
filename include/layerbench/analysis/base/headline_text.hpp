// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/base/breakdown.hpp>
#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/base/number_format.hpp>

/// What the texts of several subcommands say alike.
namespace layerbench::analysis {

/// The conditions of several cases: what all share, and what each has besides, its model first.
struct headlines {
  std::string shared;  ///< "inference, onednn f32, batch 1"; may be empty
  std::vector<std::string> own;
};

namespace detail {

/// The conditions of a case but for its model.
[[nodiscard]] inline std::vector<std::string> conditions_of(const result::case_name& model_case,
                                                            std::int64_t threads) {
  std::vector<std::string> parts{model_case.phase(), model_case.backend + ' ' + model_case.dtype,
                                 fmt::format("batch {}", model_case.batch)};
  if (threads > 0) parts.push_back(fmt::format("{} thread{}", threads, threads == 1 ? "" : "s"));
  for (const auto& [name, value] : model_case.parameters) {
    if (name != "phase" && name != "threads") parts.push_back(fmt::format("{} {}", name, value));
  }
  return parts;
}

}  // namespace detail

/// The conditions of a case: "resnet50 inference, onednn f32, batch 1, 2 threads".
[[nodiscard]] inline std::string headline(const result::case_name& model_case,
                                          std::int64_t threads) {
  return fmt::format("{} {}", model_case.model,
                     fmt::join(detail::conditions_of(model_case, threads), ", "));
}
[[nodiscard]] inline std::string headline(const prediction& p) {
  return headline(p.model_case, p.threads);
}

[[nodiscard]] inline headlines headlines_of(std::span<const prediction* const> cases) {
  std::vector<std::vector<std::string>> conditions;
  for (const prediction* one : cases) {
    conditions.push_back(detail::conditions_of(one->model_case, one->threads));
  }
  const auto all_have = [&](const std::string& part) {
    return std::ranges::all_of(conditions, [&](const std::vector<std::string>& parts) {
      return std::ranges::find(parts, part) != parts.end();
    });
  };
  headlines result;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::string& own = result.own.emplace_back(cases[i]->model_case.model);
    for (const std::string& part : conditions[i]) {
      if (!all_have(part)) own += ", " + part;
    }
  }
  if (conditions.empty()) return result;
  std::vector<std::string> shared = conditions.front();
  std::erase_if(shared, [&](const std::string& part) { return !all_have(part); });
  result.shared = fmt::format("{}", fmt::join(shared, ", "));
  return result;
}

/// "conv 62.1 %, batchnorm 20.3 %"
[[nodiscard]] inline std::string shares_text(const share_list& shares) {
  std::vector<std::string> entries;
  for (const auto& [name, share] : shares) entries.push_back(name + ' ' + format::percent(share));
  return fmt::format("{}", fmt::join(entries, ", "));
}

}  // namespace layerbench::analysis
