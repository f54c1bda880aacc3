// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include <layerbench/backend/onednn/memory.hpp>
#include <layerbench/op/post_ops.hpp>

namespace layerbench::onednn {

/// An activation function in oneDNN's terms.
struct eltwise {
  dnnl::algorithm kind;
  dnnl::algorithm gradient;  ///< the variant that reads dst where there is one
  float alpha = 0;
  float beta = 0;
};

[[nodiscard]] inline eltwise eltwise_of(op::activation_kind kind) {
  using enum dnnl::algorithm;
  switch (kind) {
    case op::activation_kind::relu: return {eltwise_relu, eltwise_relu_use_dst_for_bwd};
    case op::activation_kind::relu6: return {eltwise_clip, eltwise_clip, 0, 6};
    case op::activation_kind::leaky_relu:
      return {eltwise_relu, eltwise_relu_use_dst_for_bwd, 0.01F};
    case op::activation_kind::elu: return {eltwise_elu, eltwise_elu_use_dst_for_bwd, 1};
    case op::activation_kind::sigmoid: return {eltwise_logistic, eltwise_logistic_use_dst_for_bwd};
    case op::activation_kind::tanh: return {eltwise_tanh, eltwise_tanh_use_dst_for_bwd};
    case op::activation_kind::gelu: return {eltwise_gelu_erf, eltwise_gelu_erf};
    case op::activation_kind::swish: return {eltwise_swish, eltwise_swish, 1};
    case op::activation_kind::hardswish:
      return {eltwise_hardswish, eltwise_hardswish, 1.0F / 6, 0.5F};
    case op::activation_kind::hardsigmoid:
      return {eltwise_hardsigmoid, eltwise_hardsigmoid, 1.0F / 6, 0.5F};
    case op::activation_kind::linear: return {eltwise_linear, eltwise_linear, 0.5F, 1};
  }
  throw unsupported("oneDNN does not have this activation");
}

/// Post-ops of a primitive whose dst is `result`, for its attributes. `addends` are the operands
/// that they add, in their order. An integer one has a scale, which oneDNN takes only for the one
/// in the memory of dst.
[[nodiscard]] inline dnnl::post_ops post_ops_of(const op::post_ops& post,
                                                const dnnl::memory::desc& result,
                                                std::span<const op::operand> addends) {
  dnnl::post_ops all;
  std::size_t next = 0;
  for (const op::post_op p : post) {
    if (op::is_addition(p)) {
      const op::operand& addend = addends[next++];
      const bool scaled = is_integer(addend.type);
      if (p == op::post_op::sum) {
        // Not all primitives take a type here, even if it is that of dst.
        const auto stored = data_type(addend.type);
        const bool same = stored == result.get_data_type();
        all.append_sum(scaled ? static_cast<float>(addend.scale) : 1.0F, 0,
                       same ? dnnl::memory::data_type::undef : stored);
        continue;
      }
      if (scaled) throw unsupported("oneDNN adds no scaled integers of other memory");
      all.append_binary(dnnl::algorithm::binary_add, retyped(result, addend.type));
    } else {
      const eltwise function = eltwise_of(op::activation_of(p));
      all.append_eltwise(function.kind, function.alpha, function.beta);
    }
  }
  return all;
}

}  // namespace layerbench::onednn
