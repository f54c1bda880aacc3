// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// dst = src + src1, element by element: the join of a residual block.
struct add {
  static constexpr std::string_view name = "add";
  static constexpr op::storage storage = op::storage::own;
  static constexpr bool passes_gradient_through = true;

  layerbench::dims dims;

  static constexpr auto fields =
      std::tuple{required("dims", &add::dims, "extents of each of the tensors")};

  void validate() const {}

  /// src, src1 and dst, all of extents dims.
  [[nodiscard]] std::vector<operand> operands(pass /*p*/, dtype type) const {
    return {{"src", dims, role::source, type},
            {"src1", dims, role::source, type},
            {"dst", dims, role::destination, type}};
  }

  /// One addition per element.
  [[nodiscard]] op::work work(pass /*p*/) const {
    const std::int64_t flops = elements(dims);
    return {0, flops, flops};
  }
};

}  // namespace layerbench::op
