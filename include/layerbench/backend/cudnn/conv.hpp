// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <layerbench/backend/cudnn/bias_gradient.hpp>
#include <layerbench/backend/cudnn/execution_plan.hpp>
#include <layerbench/backend/cudnn/graph.hpp>
#include <layerbench/backend/cudnn/operation_graph.hpp>
#include <layerbench/op/conv.hpp>

namespace layerbench {

/// Convolution by the first plan that cuDNN's heuristics propose for its graph, or by the requested
/// one. The bias is added in the same call, and post-ops are part of it: cuDNN compiles a kernel
/// for them. The gradient of the bias takes layerbench kernels.
template <>
class plan<cudnn::backend, op::conv> : public cudnn::graph_plan<cudnn::conv_graph> {
 public:
  static constexpr bool has_post_ops = true;

  /// `chosen`: a plan of other_plans() for the same request, in place of the one that the request
  /// names.
  plan(cudnn::backend& device, const op::conv& o, const plan_request& request,
       std::optional<cudnn::execution_plan> chosen = std::nullopt)
      : graph_plan(device, o.operands(request.pass, request.type), request.order, request,
                   cudnn::conv_graph(o, request), tensors_of(o, request.pass), std::move(chosen)) {
    approximates_ = std::ranges::any_of(
        o.post, [](op::post_op p) { return !op::is_addition(p) && p != op::post_op::relu; });
    if (graph().has_scale()) {
      scale_.emplace(static_cast<float>(op::f8_scale), stream());
      add_constant(graph().scale(), scale_->at());
    }
    if (!o.bias) return;
    adds_bias_ = request.pass == op::pass::fwd;
    if (request.pass != op::pass::bwd_weights) return;
    bias_gradient_.emplace(device, logical(1).extents, request.type, strides_of(1)[1] == 1,
                           request.workspace_limit);
  }

  [[nodiscard]] std::size_t workspace_bytes() const {
    return std::max(graph_plan::workspace_bytes(),
                    bias_gradient_ ? bias_gradient_->workspace_bytes() : 0);
  }

  /// The functions of kernels that cuDNN compiles are approximations: errors of more than the
  /// bound of other libraries, in single elements and in the root mean square, were seen on an
  /// H100. cuDNN does not say whether sums of f8_e4m3 use fast accumulation, so the bound allows
  /// for it.
  template <class Sum>
  [[nodiscard]] Sum as_stored(std::size_t operand, Sum exact) const {
    if (operand + 1 != operands().size()) return exact;
    if (scale_) exact = fast_accumulated(operand, exact);
    if (approximates_) {
      exact.magnitude *= 2;
      exact.squares *= 4;
    }
    return adds_bias_ ? rounded_before_bias(exact, logical(2)) : exact;
  }

  void run(const binding& bound) const {
    graph_plan::run(bound);
    if (bias_gradient_) {
      bias_gradient_->run(stream(), bound.operands[1], bound.operands.back(), bound.workspace);
    }
  }

 private:
  /// All operands but the gradient of a bias, which is the last one.
  [[nodiscard]] static std::vector<std::size_t> tensors_of(const op::conv& o, op::pass pass) {
    const bool bias_gradient = o.bias && pass == op::pass::bwd_weights;
    return cudnn::positions(o.operands(pass, dtype::f32).size() - (bias_gradient ? 1 : 0));
  }

  std::optional<cuda::device_number> scale_;  ///< of factors in f8_e4m3
  bool adds_bias_ = false;
  bool approximates_ = false;  ///< a post-op
  std::optional<cudnn::bias_gradient> bias_gradient_;
};

static_assert(implements<cudnn::backend, op::conv>);

}  // namespace layerbench
