// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/backend/algorithm_parts.hpp>
#include <layerbench/backend/cudnn/execution_plan.hpp>
#include <layerbench/backend/cudnn/graph.hpp>
#include <layerbench/backend/cudnn/operation_graph.hpp>
#include <layerbench/backend/kernels/gpu/bias_gradient.hpp>
#include <layerbench/backend/kernels/gpu/tensor_plan.hpp>
#include <layerbench/op/conv.hpp>

namespace layerbench {

/// Convolution by the first plan that cuDNN's heuristics propose for its graph, or by the requested
/// one. The bias is added in the same call, and post-ops are part of it: cuDNN compiles a kernel
/// for them. Where it has none, or its slow fallback alone, as for most post-ops of depthwise
/// convolutions in bf16, a layerbench kernel applies them behind the call. Layerbench kernels sum
/// the gradient of the bias. In f8_e4m3 names of plans with fast accumulation end in
/// gpu::fast_suffix.
template <>
class plan<cudnn::backend, op::conv> : public cudnn::graph_plan<cudnn::conv_graph> {
 public:
  static constexpr bool has_post_ops = true;

  /// A graph, and cuDNN's plan of it.
  struct proposal {
    bool fast = false;   ///< accumulation
    bool joined = true;  ///< post-ops are part of the graph
    std::optional<cudnn::execution_plan> plan = {};
    cudnn::tried_plans tried = {};  ///< on the way to the plan
  };

  plan(cudnn::backend& device, const op::conv& o, const plan_request& request)
      : plan(device, o, request, proposal_of(device, o, request)) {}
  plan(cudnn::backend& device, const op::conv& o, const plan_request& request, proposal chosen)
      : graph_plan(device, o.operands(request.pass, request.type), request.layout,
                   without_suffixes(request), graph_of(o, request, chosen),
                   tensors_of(o, request.pass, chosen.joined), std::move(chosen.plan),
                   chosen.joined ? op::post_ops() : o.post),
        o_(o),
        request_(request) {
    if (!chosen.tried.choices.empty()) set_tried(std::move(chosen.tried));
    approximates_ = !has_post_kernel() && std::ranges::any_of(o.post, [](op::post_op p) {
      return !op::is_addition(p) && p != op::post_op::relu;
    });
    if (graph().has_scale()) {
      scale_.emplace(static_cast<float>(op::f8_scale), device);
      add_constant(graph().scale(), scale_->at());
    }
    if (!o.bias) return;
    adds_bias_ = request.pass == op::pass::fwd;
    if (request.pass != op::pass::bwd_weights) return;
    bias_gradient_.emplace(device, logical(1).extents, request.type, strides_of(1)[1] == 1,
                           request.workspace_limit);
  }

  [[nodiscard]] std::string algorithm() const override {
    return graph_execution::algorithm() + std::string(graph().is_fast() ? gpu::fast_suffix : "") +
           std::string(has_post_kernel() ? gpu::post_kernel_suffix : "") +
           (bias_gradient_ ? "+layerbench:bias_gradient" : "");
  }
  /// The last ones: in f8_e4m3 up to half with fast accumulation, and up to a quarter with the
  /// post-ops in a layerbench kernel.
  [[nodiscard]] std::vector<run::alternative> alternatives(std::size_t most) override {
    const bool is_joined = !has_post_kernel();
    std::vector<proposal> last;
    const auto add = [&](proposal of, std::size_t count) {
      try {
        for (auto& other : plans_of(graph_of(o_, request_, of), count)) {
          last.push_back({of.fast, of.joined, std::move(other)});
        }
      } catch (const unsupported&) {
        return;  // by this version of cuDNN
      } catch (const api_error&) {
        return;  // the same
      }
    };
    if (graph().has_scale() && !graph().is_fast()) add({true, is_joined}, most / 2);
    if (is_joined && !o_.post.empty()) add({graph().is_fast(), false}, most / 4);
    std::vector<proposal> others;
    for (auto& other : graph_plan::other_plans(most - last.size())) {
      others.push_back({graph().is_fast(), is_joined, std::move(other)});
    }
    std::ranges::move(last, std::back_inserter(others));
    return cudnn::as_alternatives(std::move(others));
  }

  [[nodiscard]] std::size_t workspace_bytes() const override {
    return std::max(graph_plan::workspace_bytes(),
                    bias_gradient_ ? bias_gradient_->workspace_bytes() : 0);
  }

  /// The functions of kernels that cuDNN compiles are approximations: errors of more than the
  /// bound of other libraries, in single elements and in the root mean square, were seen on an
  /// H100. cuDNN does not say whether sums of f8_e4m3 use fast accumulation, so the bound allows
  /// for it.
  [[nodiscard]] reference::sum as_stored(std::size_t operand, reference::sum exact) const override {
    if (operand + 1 != operands().size()) return exact;
    exact = graph_plan::as_stored(operand, exact);
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
      bias_gradient_->run(bound.operands[1], bound.operands.back(), bound.workspace);
    }
  }

 private:
  [[nodiscard]] static cudnn::conv_graph graph_of(op::conv o, const plan_request& request,
                                                  const proposal& of) {
    if (!of.joined) o.post.clear();
    return {o, request, of.fast};
  }

  /// What alternatives() built, or the graph that the requested algorithm names. Without a request
  /// the first graph with a plan that is no fallback, and that plan.
  [[nodiscard]] static proposal proposal_of(const cudnn::backend& device, const op::conv& o,
                                            const plan_request& request) {
    if (auto built = cudnn::built_plan<proposal>(request)) return *std::move(built);
    if (!request.algorithm.empty()) {
      const bool joined = !request.algorithm.ends_with(gpu::post_kernel_suffix);
      return {library_part(request.algorithm).ends_with(gpu::fast_suffix), joined};
    }
    if (o.post.empty()) return {};
    proposal slow;
    std::string reason;
    for (const bool joined : {true, false}) {
      proposal next{false, joined};
      try {
        next.plan = first_plan_of(device, graph_of(o, request, next), request, next.tried);
      } catch (const unsupported& e) {
        if (joined) reason = e.what();
        continue;
      } catch (const api_error& e) {  // such as a function that this version of cuDNN lacks
        if (!joined && !slow.plan) throw;
        if (joined) reason = e.what();
        continue;
      }
      if (!next.plan->is_fallback()) return next;
      if (!slow.plan) slow = std::move(next);
    }
    if (!slow.plan) throw unsupported(reason);
    return slow;
  }

  [[nodiscard]] static plan_request without_suffixes(plan_request request) {
    request.algorithm = gpu::without_suffix(library_part(request.algorithm), gpu::fast_suffix);
    return request;
  }

  /// The operands of the graph: all but the gradient of a bias, which is the last one, and what
  /// post-ops add behind the graph, which precedes the destination.
  [[nodiscard]] static std::vector<std::size_t> tensors_of(const op::conv& o, op::pass pass,
                                                           bool joined) {
    const std::size_t count = o.operands(pass, dtype::f32).size();
    if (o.bias && pass == op::pass::bwd_weights) return cudnn::positions(count - 1);
    if (joined) return cudnn::positions(count);
    std::vector<std::size_t> tensors = cudnn::positions(o.bias ? 4 : 3);
    tensors.back() = count - 1;
    return tensors;
  }

  op::conv o_;
  plan_request request_;
  std::optional<gpu::device_number> scale_;  ///< of factors in f8_e4m3
  bool adds_bias_ = false;
  bool approximates_ = false;  ///< a post-op
  std::optional<gpu::bias_gradient> bias_gradient_;
};

static_assert(implements<cudnn::backend, op::conv>);

}  // namespace layerbench
