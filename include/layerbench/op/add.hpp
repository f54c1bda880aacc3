// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <layerbench/op/op.hpp>
#include <layerbench/op/post_ops.hpp>

namespace layerbench::op {

/// dst = src + src1, element by element: the join of a residual block. With `broadcast` each image
/// or sequence of the batch gets the same src1. With `learned` src1 is learned. Both together are
/// the embedding of positions. Then come the post-ops.
struct add {
  static constexpr std::string_view name = "add";
  static constexpr bool passes_gradient_through = true;

  layerbench::dims dims;
  bool broadcast = false;
  bool learned = false;
  post_ops post = {};

  static constexpr auto fields = std::tuple{
      required("dims", &add::dims, "extents of each of the tensors"),
      optional("broadcast", &add::broadcast, "whether the first extent of src1 is 1"),
      optional("learned", &add::learned, "whether src1 is learned"),
      optional("post", &add::post, post_help),
  };

  void validate() const { op::validate(post); }

  /// A pass `bwd` where the gradient of src1 is not simply that of dst.
  [[nodiscard]] std::vector<pass> passes() const {
    if (broadcast || learned) return passes_with(post, {pass::fwd, pass::bwd});
    return {pass::fwd};
  }

  /// Extents of src1.
  [[nodiscard]] layerbench::dims addends() const {
    layerbench::dims result = dims;
    if (broadcast) result.front() = 1;
    return result;
  }

  /// src and dst of extents dims, src1 as addends(). `bwd` sums the gradient of dst over the batch:
  /// the gradient of src1.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    if (p == pass::bwd) {
      return {{"diff_dst", dims, role::source, type},
              {"diff_src1", addends(), role::destination, type}};
    }
    std::vector<operand> all{{"src", dims, role::source, type},
                             {"src1", addends(), learned ? role::weights : role::source, type},
                             {"dst", dims, role::destination, type}};
    insert_addends(post, all);
    return all;
  }

  /// One addition per element.
  [[nodiscard]] op::work work(pass /*p*/) const {
    const std::int64_t flops = elements(dims);
    return with_post_ops({0, flops, flops}, post, dims);
  }
};

}  // namespace layerbench::op
