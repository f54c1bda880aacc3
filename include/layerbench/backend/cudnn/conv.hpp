// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <layerbench/backend/cudnn/bias_gradient.hpp>
#include <layerbench/backend/cudnn/execution_plan.hpp>
#include <layerbench/backend/cudnn/graph.hpp>
#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/conv.hpp>

namespace layerbench {

/// Convolution by the first plan that cuDNN's heuristics propose for its graph, or by the requested
/// one. The bias is added in the same call, and post-ops are part of it: cuDNN compiles a kernel
/// for them. The gradient of the bias takes layerbench kernels.
template <>
class plan<cudnn::backend, op::conv> : public cuda::tensor_plan {
 public:
  static constexpr bool has_post_ops = true;

  /// `chosen`: a plan of other_plans() for the same request, in place of the one that the request
  /// names.
  plan(cudnn::backend& device, const op::conv& o, const plan_request& request,
       std::optional<cudnn::execution_plan> chosen = std::nullopt)
      : tensor_plan(device, o.operands(request.pass, request.type), request.order),
        library_(device.library()),
        graph_(o, request),
        limits_{request.type, request.workspace_limit, graph_.wrong_engines()},
        plan_(chosen ? *std::move(chosen) : plan_of(request.algorithm)) {
    approximates_ = std::ranges::any_of(
        o.post, [](op::post_op p) { return !op::is_addition(p) && p != op::post_op::relu; });
    if (!o.bias) return;
    adds_bias_ = request.pass == op::pass::fwd;
    if (request.pass != op::pass::bwd_weights) return;
    bias_gradient_.emplace(device, logical(1).extents, request.type, strides_of(1)[1] == 1,
                           request.workspace_limit);
  }

  [[nodiscard]] std::size_t workspace_bytes() const {
    return std::max(plan_.workspace_bytes(),
                    bias_gradient_ ? bias_gradient_->workspace_bytes() : 0);
  }
  [[nodiscard]] std::string algorithm() const { return plan_.text(); }
  [[nodiscard]] std::vector<cudnn::execution_plan> other_plans(std::size_t most) const {
    return cudnn::other_plans(graph_.self(), cudnn::gpu_of(library_), limits_, plan_.choice(),
                              most);
  }

  /// The functions of kernels that cuDNN compiles are approximations: errors of up to 1.5 times the
  /// bound of other libraries were seen on an H100.
  template <class Sum>
  [[nodiscard]] Sum as_stored(std::size_t operand, Sum exact) const {
    if (operand + 1 != operands().size()) return exact;
    if (approximates_) exact.magnitude *= 2;
    return adds_bias_ ? rounded_before_bias(exact, logical(2)) : exact;
  }

  struct binding {
    cudnn::descriptor variant_pack;
    address workspace;
    address diff_dst;   ///< used for the gradient of a bias only
    address diff_bias;  ///< used for the gradient of a bias only
  };

  [[nodiscard]] binding bind(std::span<const address> addresses, address workspace) const {
    return {variant_pack(addresses, workspace), workspace, addresses[1], addresses.back()};
  }

  void place(binding& bound, std::span<const address> addresses) const {
    bound = bind(addresses, bound.workspace);
  }

  void run(const binding& bound) const {
    cuda::check(cudnnBackendExecute(library_, plan_.self().raw(), bound.variant_pack.raw()),
                "cudnnBackendExecute");
    if (bias_gradient_) {
      bias_gradient_->run(stream(), bound.diff_dst, bound.diff_bias, bound.workspace);
    }
  }

 private:
  [[nodiscard]] cudnn::execution_plan plan_of(const std::string& algorithm) const {
    const cudnn::descriptor gpu = cudnn::gpu_of(library_);
    if (algorithm.empty()) return cudnn::first_plan(graph_.self(), gpu, limits_);
    return cudnn::replayed_plan(graph_.self(), gpu, limits_, algorithm);
  }

  /// Addresses of the graph's tensors, whose ids are the positions of the operands.
  [[nodiscard]] cudnn::descriptor variant_pack(std::span<const address> addresses,
                                               address workspace) const {
    const std::size_t count = operands().size() - (bias_gradient_ ? 1 : 0);
    std::vector<std::int64_t> ids;
    for (std::size_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int64_t>(i));
    cudnn::descriptor result(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    result.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
    result.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
               std::vector<address>(addresses.begin(),
                                    addresses.begin() + static_cast<std::ptrdiff_t>(count)));
    result.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace);
    result.finalize();
    return result;
  }

  cudnnHandle_t library_;
  cudnn::conv_graph graph_;
  cudnn::plan_limits limits_;
  cudnn::execution_plan plan_;
  bool adds_bias_ = false;
  bool approximates_ = false;  ///< a post-op
  std::optional<cudnn::bias_gradient> bias_gradient_;
};

static_assert(implements<cudnn::backend, op::conv>);

}  // namespace layerbench
