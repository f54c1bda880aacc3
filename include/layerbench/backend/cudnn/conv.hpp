// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/backend/cuda/tensor_plan.hpp>
#include <layerbench/backend/cudnn/bias_gradient.hpp>
#include <layerbench/backend/cudnn/execution_plan.hpp>
#include <layerbench/backend/cudnn/graph.hpp>
#include <layerbench/backend/cudnn/operation_graph.hpp>
#include <layerbench/op/conv.hpp>

namespace layerbench {

/// Convolution by the first plan that cuDNN's heuristics propose for its graph, or by the requested
/// one. The bias is added in the same call, and post-ops are part of it: cuDNN compiles a kernel
/// for them. The gradient of the bias takes layerbench kernels. In f8_e4m3 names of plans with fast
/// accumulation end in cuda::fast_suffix.
template <>
class plan<cudnn::backend, op::conv> : public cudnn::graph_plan<cudnn::conv_graph> {
 public:
  static constexpr bool has_post_ops = true;

  struct proposal {
    cudnn::execution_plan plan;
    bool fast;
  };

  plan(cudnn::backend& device, const op::conv& o, const plan_request& request)
      : plan(device, o, request, request.algorithm.ends_with(cuda::fast_suffix), std::nullopt) {}
  /// `chosen`: of other_plans() for the same request, in place of the plan that the request names.
  plan(cudnn::backend& device, const op::conv& o, const plan_request& request, proposal chosen)
      : plan(device, o, request, chosen.fast, std::move(chosen.plan)) {}

  [[nodiscard]] std::string algorithm() const {
    return graph_plan::algorithm() + std::string(graph().is_fast() ? cuda::fast_suffix : "");
  }
  /// In f8_e4m3 up to half of them have fast accumulation; these are the last.
  [[nodiscard]] std::vector<proposal> other_plans(std::size_t most) const {
    std::vector<cudnn::execution_plan> fast;
    try {
      if (graph().has_scale() && !graph().is_fast()) {
        fast = plans_of(cudnn::conv_graph(o_, request_, /*fast=*/true), most / 2);
      }
    } catch (const unsupported&) {  // by this version of cuDNN
    } catch (const api_error&) {    // the same
    }
    std::vector<proposal> others;
    for (auto& other : graph_plan::other_plans(most - fast.size())) {
      others.push_back({std::move(other), graph().is_fast()});
    }
    for (auto& other : fast) others.push_back({std::move(other), true});
    return others;
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
  plan(cudnn::backend& device, const op::conv& o, const plan_request& request, bool fast,
       std::optional<cudnn::execution_plan> chosen)
      : graph_plan(device, o.operands(request.pass, request.type), request.order,
                   without_suffix(request), cudnn::conv_graph(o, request, fast),
                   tensors_of(o, request.pass), std::move(chosen)),
        o_(o),
        request_(request) {
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

  [[nodiscard]] static plan_request without_suffix(plan_request request) {
    if (request.algorithm.ends_with(cuda::fast_suffix)) {
      request.algorithm.resize(request.algorithm.size() - cuda::fast_suffix.size());
    }
    return request;
  }

  /// All operands but the gradient of a bias, which is the last one.
  [[nodiscard]] static std::vector<std::size_t> tensors_of(const op::conv& o, op::pass pass) {
    const bool bias_gradient = o.bias && pass == op::pass::bwd_weights;
    return cudnn::positions(o.operands(pass, dtype::f32).size() - (bias_gradient ? 1 : 0));
  }

  op::conv o_;
  plan_request request_;
  std::optional<cuda::device_number> scale_;  ///< of factors in f8_e4m3
  bool adds_bias_ = false;
  bool approximates_ = false;  ///< a post-op
  std::optional<cudnn::bias_gradient> bias_gradient_;
};

static_assert(implements<cudnn::backend, op::conv>);

}  // namespace layerbench
