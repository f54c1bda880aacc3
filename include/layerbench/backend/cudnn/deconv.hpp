// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <layerbench/backend/cudnn/execution_plan.hpp>
#include <layerbench/backend/cudnn/graph.hpp>
#include <layerbench/backend/cudnn/operation_graph.hpp>
#include <layerbench/backend/kernels/gpu/bias_gradient.hpp>
#include <layerbench/op/deconv.hpp>

namespace layerbench {

/// Transposed convolution as the convolution whose gradient it is, with the passes exchanged. Its
/// filters lie as that convolution has them. Kernels of layerbench add the bias, compute its
/// gradient, and apply post-ops.
template <>
class plan<cudnn::backend, op::deconv> : public cudnn::graph_plan<cudnn::conv_graph> {
 public:
  static constexpr bool has_post_ops = true;

  plan(cudnn::backend& device, const op::deconv& o, const plan_request& request)
      : graph_plan(device, o.operands(request.pass, request.type), orders(o, request), request,
                   cudnn::conv_graph(o.transposed(), with_swapped_passes(request)),
                   tensors_of(o, request.pass), cudnn::built_plan<cudnn::execution_plan>(request),
                   o.post),
        o_(o),
        pass_(request.pass) {
    if (o.groups > 1) throw unsupported("no transposed convolutions in groups");
    if (!o.bias || pass_ == op::pass::bwd_data) return;
    if (pass_ == op::pass::fwd) {
      bias_ = device.find(request.type, "add_bias");
      return;
    }
    bias_gradient_.emplace(device, logical(1).extents, request.type, channels_last(1),
                           request.workspace_limit);
  }

  [[nodiscard]] std::string algorithm() const override {
    return graph_execution::algorithm() + (bias_ ? "+layerbench:add_bias" : "") +
           (bias_gradient_ ? "+layerbench:bias_gradient" : "") +
           std::string(has_post_kernel() ? gpu::post_kernel_suffix : "");
  }
  [[nodiscard]] std::size_t workspace_bytes() const override {
    return std::max(graph_plan::workspace_bytes(),
                    bias_gradient_ ? bias_gradient_->workspace_bytes() : 0);
  }

  [[nodiscard]] reference::sum as_stored(std::size_t operand, reference::sum exact) const override {
    const bool adds_bias = pass_ == op::pass::fwd && o_.bias && operand + 1 == operands().size();
    exact = graph_plan::as_stored(operand, exact);
    return adds_bias ? rounded_before_bias(exact, logical(2)) : exact;
  }

  void run(const binding& bound) const {
    execute(bound.variant_pack);
    if (bias_gradient_) {
      bias_gradient_->run(bound.operands[1], bound.operands[3], bound.workspace);
    } else if (bias_) {
      const std::size_t dst = operands().size() - 1;
      const std::int64_t size = elements(logical(dst).extents);
      bias_->launch(gpu::grid_for_vectors(size, logical(dst).type), result_of(bound),
                    bound.operands[2], size, o_.k,
                    channels_last(dst) ? std::int64_t{1} : o_.p() * o_.q());
    }
    apply_post(bound);
  }

 private:
  /// The request for the convolution.
  [[nodiscard]] static plan_request with_swapped_passes(plan_request request) {
    if (request.pass == op::pass::fwd) {
      request.pass = op::pass::bwd_data;
    } else if (request.pass == op::pass::bwd_data) {
      request.pass = op::pass::fwd;
    }
    return request;
  }

  /// Filters are k*c*r*s here and c*k*r*s in the convolution.
  [[nodiscard]] static std::vector<std::string> orders(const op::deconv& o,
                                                       const plan_request& request) {
    const bool first = request.layout == layout::nchw;
    const std::string image = first ? "abcd" : "acdb";
    const std::string filters = first ? "bacd" : "bcda";
    std::vector<std::string> all;
    for (const op::operand& operand : o.operands(request.pass, request.type)) {
      const bool is_filter = operand.name.ends_with("weights");
      all.push_back(operand.extents.size() == 1 ? "a" : is_filter ? filters : image);
    }
    return all;
  }

  [[nodiscard]] bool channels_last(std::size_t image) const { return strides_of(image)[1] == 1; }

  /// Positions of the convolution's operands: images, filters, results, as its pass has them.
  [[nodiscard]] static std::vector<std::size_t> tensors_of(const op::deconv& o, op::pass pass) {
    if (pass == op::pass::bwd_weights) return {1, 0, 2};
    return {0, 1, o.operands(pass, dtype::f32).size() - 1};
  }

  op::deconv o_;
  op::pass pass_;
  std::optional<gpu::kernel> bias_;  ///< adds it
  std::optional<gpu::bias_gradient> bias_gradient_;
};

static_assert(implements<cudnn::backend, op::deconv>);

}  // namespace layerbench
