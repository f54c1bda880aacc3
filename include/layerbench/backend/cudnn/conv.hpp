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

#include <cudnn_cnn.h>

#include <layerbench/backend/cudnn/execution_plan.hpp>
#include <layerbench/backend/cudnn/graph.hpp>
#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/conv.hpp>

namespace layerbench {

/// Convolution by the first plan that cuDNN's heuristics propose for its graph, or by the requested
/// one. The bias is added in the same call. Its gradient takes a second call of cuDNN, or
/// layerbench kernels if cuDNN does not support the type or order.
template <>
class plan<cudnn::backend, op::conv> : public cuda::tensor_plan {
 public:
  plan(cudnn::backend& device, const op::conv& o, const plan_request& request)
      : tensor_plan(device, o.operands(request.pass, request.type), request.order),
        device_(&device),
        library_(device.library()),
        graph_(o, request),
        limits_{request.type, request.workspace_limit},
        plan_(plan_of(request.algorithm)) {
    if (!o.bias || request.pass != op::pass::bwd_weights) return;
    bias_gradient_.emplace(bias_gradient{{logical(1).extents, strides_of(1), request.type},
                                         {{1, o.k, 1, 1}, {o.k, 1, 1, 1}, request.type}});
    const std::size_t bytes = bias_partial_sums * static_cast<std::size_t>(o.k) * sizeof(float);
    if (bytes <= request.workspace_limit) bias_workspace_bytes_ = bytes;
  }

  [[nodiscard]] std::size_t workspace_bytes() const {
    return std::max(plan_.workspace_bytes(), bias_workspace_bytes_);
  }
  [[nodiscard]] std::string algorithm() const { return plan_.text(); }
  [[nodiscard]] std::vector<std::string> alternatives() const {
    std::vector<std::string> names;
    for (const auto& item : cudnn::all_plans(graph_.self(), cudnn::gpu_of(library_), limits_)) {
      names.push_back(item.text());
    }
    return names;
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
    if (!bias_gradient_) return;
    const cudnnStatus_t status = cudnnConvolutionBackwardBias(
        library_, &cudnn::one, bias_gradient_->diff_dst.get(), bound.diff_dst, &cudnn::zero,
        bias_gradient_->diff_bias.get(), bound.diff_bias);
    const bool is_unsupported = cuda::status_traits<cudnnStatus_t>::is_unsupported(status);
    if (is_unsupported && bias_workspace_bytes_ > 0) return sum_bias(bound);
    cuda::check(status, "cudnnConvolutionBackwardBias");
  }

 private:
  static constexpr unsigned bias_partial_sums = 256;

  void sum_bias(const binding& bound) const {
    const op::operand& diff_dst = logical(1);
    const std::int64_t channels = diff_dst.extents[1];
    const std::int64_t pixels = diff_dst.extents[2] * diff_dst.extents[3];
    const int channels_last = strides_of(1)[1] == 1 ? 1 : 0;
    const cuda::grid grid = cuda::grid_for(channels);
    device_->kernels()
        .find(diff_dst.type, "bias_gradient_parts")
        .launch(stream(), {dim3(grid.blocks.x, bias_partial_sums), grid.threads}, bound.diff_dst,
                bound.workspace, diff_dst.extents[0], channels, pixels, channels_last);
    device_->kernels()
        .find(diff_dst.type, "bias_gradient")
        .launch(stream(), grid, bound.workspace, bound.diff_bias, channels,
                static_cast<int>(bias_partial_sums));
  }

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

  struct bias_gradient {
    cudnn::tensor_descriptor diff_dst;
    cudnn::tensor_descriptor diff_bias;
  };

  cudnn::backend* device_;
  cudnnHandle_t library_;
  cudnn::conv_graph graph_;
  cudnn::plan_limits limits_;
  cudnn::execution_plan plan_;
  std::optional<bias_gradient> bias_gradient_;
  std::size_t bias_workspace_bytes_ = 0;  ///< 0: no kernels for the gradient of a bias
};

static_assert(implements<cudnn::backend, op::conv>);

}  // namespace layerbench
