// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include <layerbench/op/op.hpp>
#include <layerbench/op/post_ops.hpp>
#include <layerbench/op/quantization_fields.hpp>

namespace layerbench::op {

/// Matrix product dst[m,n] = src[m,k] * weights[k,n] (+ bias[n]), `batch` times on separate
/// matrices. A fully connected layer is m = images, n = outputs, k = inputs. The transposed flags
/// say that a matrix is stored the other way round: src as [k,m], weights as [n,k]. For inference
/// weights may be packed beforehand; in training, where they change, they stay as they are stored.
/// With a batch both factors are activations, and pass `bwd` gives both gradients. The post-ops
/// come after the bias. With `weights_type` only the weights are integers, which are packed once:
/// two of 4 bits share a byte. The product computes in the type of the row.
struct gemm {
  static constexpr std::string_view name = "gemm";

  std::int64_t m = 1, n = 1, k = 1, batch = 1;
  bool a_transposed = false, b_transposed = false, bias = false;
  post_ops post = {};
  tensor_type dst_type = tensor_type::same, addend_type = tensor_type::same;
  bool channel_scales = false;
  position src_zero = {}, dst_zero = {};
  narrow_type weights_type = narrow_type::same;
  position group_size = {};
  bool zero_points = false;

  static constexpr auto fields = std::tuple{
      required("m", &gemm::m, "rows of the result; images of a fully connected layer"),
      required("n", &gemm::n, "columns of the result; outputs of a fully connected layer"),
      required("k", &gemm::k, "length of the sums; inputs of a fully connected layer"),
      optional("batch", &gemm::batch, "number of separate products"),
      optional("a_transposed", &gemm::a_transposed, "whether src is stored as k*m"),
      optional("b_transposed", &gemm::b_transposed, "whether weights are stored as n*k"),
      optional("bias", &gemm::bias, "whether a bias is added to each row"),
      optional("post", &gemm::post, post_help),
      optional("dst_type", &gemm::dst_type, dst_type_help),
      optional("addend_type", &gemm::addend_type, addend_type_help),
      optional("channel_scales", &gemm::channel_scales, channel_scales_help),
      optional("src_zero", &gemm::src_zero, src_zero_help),
      optional("dst_zero", &gemm::dst_zero, dst_zero_help),
      optional("weights_type", &gemm::weights_type, weights_type_help),
      optional("group_size", &gemm::group_size, group_size_help),
      optional("zero_points", &gemm::zero_points, zero_points_help),
  };

  void validate() const {
    op::validate(post);
    validate_quantization(*this);
    validate_narrow_weights(*this);
    if (channel_scales && batch != 1) {
      throw invalid_field("channel_scales", "is for learned weights, which a batch does not have");
    }
  }

  [[nodiscard]] bool has_narrow_weights() const { return weights_type != narrow_type::same; }
  /// Rows of narrow weights that share scales.
  [[nodiscard]] std::int64_t group() const { return group_size.value == 0 ? k : group_size.value; }
  /// Position of the bias among the operands of inference, or of what follows it.
  [[nodiscard]] std::size_t bias_operand() const {
    return !has_narrow_weights() ? 2 : zero_points ? 4 : 3;
  }

  [[nodiscard]] std::vector<pass> passes() const {
    if (has_narrow_weights()) return {pass::fwd};
    if (batch != 1) return passes_with(post, {pass::fwd, pass::bwd});
    return passes_with(post, {pass::fwd, pass::fwd_training, pass::bwd_data, pass::bwd_weights});
  }

  /// src m*k (stored k*m when a_transposed), weights k*n (stored n*k when b_transposed), bias n,
  /// addends and dst m*n; with a leading extent `batch` where it is not 1, but for bias. The
  /// weights of a batch are activations, as in attention: nothing learned is stored per image.
  /// Gradients alike. Narrow weights have weights_scales and maybe weights_zero_points behind them,
  /// (k / group())*n each.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
      return batch == 1 ? dims{rows, columns} : dims{batch, rows, columns};
    };
    const operand src{"src", a_transposed ? matrix(k, m) : matrix(m, k), role::source, type};
    const operand weights{"weights", b_transposed ? matrix(n, k) : matrix(k, n),
                          batch == 1 ? role::weights : role::source, type};
    const operand diff_dst{"diff_dst", matrix(m, n), role::source, type};
    const operand diff_src{"diff_src", src.extents, role::destination, type};
    const operand diff_weights{"diff_weights", weights.extents, role::destination, type};
    if (p == pass::bwd_data) return {diff_dst, weights, diff_src};
    if (p == pass::bwd) {
      std::vector<operand> all{src, weights, diff_dst, diff_src, diff_weights};
      if (bias) all.push_back({"diff_bias", {n}, role::destination, type});
      return all;
    }
    if (p == pass::bwd_weights) {
      std::vector<operand> all{src, diff_dst, diff_weights};
      if (bias) all.push_back({"diff_bias", {n}, role::destination, type});
      return all;
    }
    std::vector<operand> all{src, weights};
    if (bias) all.push_back({"bias", {n}, role::weights, type});
    all.push_back({"dst", matrix(m, n), role::destination, type});
    all.back().scale *= std::sqrt(static_cast<double>(k));
    if (has_narrow_weights()) {
      narrow_weights(*this, all);
      insert_addends(post, all, type);
    } else {
      quantize_operands(*this, b_transposed ? 0 : 1, all);
    }
    return all;
  }

  /// MACs: batch*m*n*k in each pass, twice that in `bwd`; the bias is not counted.
  [[nodiscard]] op::work work(pass p) const {
    const std::int64_t macs = checked_product({p == pass::bwd ? 2 : 1, batch, m, n, k});
    const std::int64_t flops = checked_multiply(2, macs);
    return with_post_ops({macs, flops, flops}, post, {batch, m, n});
  }
};

}  // namespace layerbench::op
