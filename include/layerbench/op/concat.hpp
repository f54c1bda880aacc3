// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// dst is the sources one behind the other along `axis`: the join of a dense block or of the
/// branches of an inception block. Pass `bwd` splits the gradient of dst into those of the sources.
struct concat {
  static constexpr std::string_view name = "concat";
  static constexpr std::size_t max_sources = 64;

  layerbench::dims dims;
  std::int64_t axis = 1;
  layerbench::dims sizes;

  static constexpr auto fields = std::tuple{
      required("dims", &concat::dims, "extents of the destination"),
      optional("axis", &concat::axis, "axis of the sum; 1 is the one after the batch"),
      required("sizes", &concat::sizes, "extent of each source along the axis"),
  };

  void validate() const {
    if (axis < 1 || axis >= static_cast<std::int64_t>(dims.size())) {
      throw invalid_field("axis", "is not an axis of dims after the first");
    }
    if (sizes.size() > max_sources) throw invalid_field("sizes", "has more than 64 sources");
    if (std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) != extent()) {
      throw invalid_field("sizes", "do not add up to the extent of the axis in dims");
    }
  }

  static std::vector<pass> passes() { return {pass::fwd, pass::bwd}; }

  /// Extent of dst along the axis.
  [[nodiscard]] std::int64_t extent() const { return dims[static_cast<std::size_t>(axis)]; }

  /// src, src1, src2, ... of extents dims but for sizes[i] along the axis, dst of extents dims;
  /// gradients alike.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    const bool backward = p == pass::bwd;
    std::vector<operand> all;
    if (backward) all.push_back({"diff_dst", dims, role::source, type});
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      layerbench::dims extents = dims;
      extents[static_cast<std::size_t>(axis)] = sizes[i];
      all.push_back(
          {source_name(i, backward), extents, backward ? role::destination : role::source, type});
    }
    if (!backward) all.push_back({"dst", dims, role::destination, type});
    return all;
  }

  /// A copy computes nothing.
  [[nodiscard]] op::work work(pass /*p*/) const {
    static_cast<void>(elements(dims));
    return {0, 0, 0};
  }

 private:
  /// "src", "src1", ..., or "diff_src", ...; the text outlives every operand.
  [[nodiscard]] static std::string_view source_name(std::size_t i, bool gradient) {
    static const std::vector<std::string> names = [] {
      std::vector<std::string> all;
      for (const std::string prefix : {"src", "diff_src"}) {
        for (std::size_t j = 0; j < max_sources; ++j) {
          all.push_back(j == 0 ? prefix : prefix + std::to_string(j));
        }
      }
      return all;
    }();
    return names.at((gradient ? max_sources : 0) + i);
  }
};

}  // namespace layerbench::op
