// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <layerbench/base/rounding.hpp>
#include <layerbench/shape/dims.hpp>

namespace layerbench::op {

/// How the choices of tokens are spread over experts. The names are those of benchdnn (oneDNN,
/// `--grouped` of its driver of matrix products).
///
/// - `balanced`: evenly; numbers of two experts differ by 1 at most.
/// - `hot`: one expert has half of the choices, or one of each token if that is less, the others
///   have the rest evenly.
/// - `decode`: each expert has one choice or none.
enum class expert_load { balanced, hot, decode };

[[nodiscard]] constexpr std::array<std::string_view, 3> list_names(expert_load /*tag*/) {
  return {"balanced", "hot", "decode"};
}

/// Tokens that choose `top_k` different ones of `experts` each, spread by a load.
struct routing {
  std::int64_t tokens = 1, top_k = 1, experts = 1;
  expert_load load = expert_load::balanced;

  /// Choices of all tokens: rows of a routed product.
  [[nodiscard]] std::int64_t rows() const { return checked_multiply(tokens, top_k); }
  /// Rows of the hot expert; 0 without one.
  [[nodiscard]] std::int64_t hot_rows() const {
    if (load != expert_load::hot) return 0;
    return std::max<std::int64_t>(1, std::min(rows() / 2, tokens));
  }
  /// Experts that have the other rows.
  [[nodiscard]] std::int64_t even_experts() const {
    return load == expert_load::hot ? experts - 1 : experts;
  }
  /// Experts that any token chooses.
  [[nodiscard]] std::int64_t active() const {
    return experts - even_experts() + std::min(even_experts(), rows() - hot_rows());
  }
  /// The numbers of rows that experts have, the largest first.
  [[nodiscard]] std::vector<std::int64_t> group_sizes() const {
    const std::int64_t rest = rows() - hot_rows();
    std::vector sizes{hot_rows(), rest / even_experts(), ceil_div(rest, even_experts())};
    std::erase(sizes, 0);
    std::ranges::sort(sizes, std::ranges::greater{});
    sizes.erase(std::ranges::unique(sizes).begin(), sizes.end());
    return sizes;
  }
  /// The expert of a choice: choices that are not hot have experts at equal distances, from `first`
  /// on. `stride` and even_experts() have no common factor.
  [[nodiscard]] std::int64_t expert(std::int64_t choice, std::int64_t first,
                                    std::int64_t stride) const {
    const std::int64_t token = choice / top_k;
    if (token < hot_rows() && choice % top_k == 0) return 0;
    const std::int64_t other = choice - std::min(token + 1, hot_rows());
    const std::int64_t even = even_experts();
    return experts - even + (first + other % even * stride) % even;
  }
};

}  // namespace layerbench::op
