// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <layerbench/op/op.hpp>
#include <layerbench/op/quantization_fields.hpp>

namespace layerbench::op {

/// Copies a tensor to another type: f32 to integers and back, or between integers.
struct quantize {
  static constexpr std::string_view name = "quantize";

  layerbench::dims dims;
  tensor_type dst_type = tensor_type::same;
  position src_zero = {}, dst_zero = {};

  static constexpr auto fields = std::tuple{
      required("dims", &quantize::dims, "extents of the tensor"),
      required("dst_type", &quantize::dst_type, dst_type_help),
      optional("src_zero", &quantize::src_zero, src_zero_help),
      optional("dst_zero", &quantize::dst_zero, dst_zero_help),
  };

  void validate() const { validate_zero_points(*this); }

  /// src and dst of extents dims.
  [[nodiscard]] std::vector<operand> operands(pass /*p*/, dtype type) const {
    std::vector<operand> all{{"src", dims, role::source, type},
                             {"dst", dims, role::destination, dtype_of(dst_type, type)}};
    all.front().zero_point = src_zero.value;
    all.back().zero_point = dst_zero.value;
    return all;
  }

  /// One operation per element.
  [[nodiscard]] op::work work(pass /*p*/) const {
    const std::int64_t flops = elements(dims);
    return {0, flops, flops};
  }
};

}  // namespace layerbench::op
