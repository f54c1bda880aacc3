// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cudnn_cnn.h>

#include <layerbench/backend/cudnn/execution_plan.hpp>
#include <layerbench/backend/cudnn/graph.hpp>
#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/conv.hpp>

namespace layerbench {

/// Convolution by the first plan that the library's heuristics propose for its graph, or the one
/// that is asked for. A bias is added in the same call; its gradient takes a second one, or kernels
/// of the suite's own where the library has that not in a type or order.
template <>
class plan<cudnn::backend, op::conv> : public cuda::tensor_plan {
 public:
  plan(cudnn::backend& device, const op::conv& o, const plan_request& request)
      : tensor_plan(device, o.operands(request.pass, request.type), request.order),
        device_(&device),
        library_(device.library()),
        graph_(o, request),
        limits_{request.type, request.workspace_limit},
        chosen_(plan_of(request.algorithm)) {
    if (!o.bias || request.pass != op::pass::bwd_weights) return;
    bias_gradient_.emplace(
        cudnn::tensor_descriptor(logical(1).extents, strides_of(1), request.type),
        cudnn::tensor_descriptor({1, o.k, 1, 1}, {o.k, 1, 1, 1}, request.type));
    const std::size_t parts = parts_of_bias * static_cast<std::size_t>(o.k) * sizeof(float);
    if (parts <= request.workspace_limit) bias_bytes_ = parts;
  }

  [[nodiscard]] std::size_t workspace_bytes() const {
    return std::max(chosen_.workspace_bytes(), bias_bytes_);
  }
  [[nodiscard]] std::string algorithm() const { return chosen_.text(); }
  [[nodiscard]] std::vector<std::string> alternatives() const {
    std::vector<std::string> names;
    for (const auto& all_plan : cudnn::all_plans(graph_.self(), cudnn::gpu_of(library_), limits_)) {
      names.push_back(all_plan.text());
    }
    return names;
  }

  struct binding {
    cudnn::descriptor tensors;
    address workspace;
    address diff_dst;   ///< where a bias has a gradient
    address diff_bias;  ///< likewise
  };

  [[nodiscard]] binding bind(std::span<const address> places, address workspace) const {
    return {tensors_at(places, workspace), workspace, places[1], places.back()};
  }

  void place(binding& bound, std::span<const address> places) const {
    bound = bind(places, bound.workspace);
  }

  void run(const binding& bound) const {
    cuda::check(cudnnBackendExecute(library_, chosen_.self().raw(), bound.tensors.raw()),
                "cudnnBackendExecute");
    if (!bias_gradient_) return;
    const cudnnStatus_t status = cudnnConvolutionBackwardBias(
        library_, &cudnn::one, bias_gradient_->of.get(), bound.diff_dst, &cudnn::zero,
        bias_gradient_->sums.get(), bound.diff_bias);
    const bool lacks = cuda::status_traits<cudnnStatus_t>::is_unsupported(status);
    if (lacks && bias_bytes_ > 0) return sum_bias(bound);
    cuda::check(status, "cudnnConvolutionBackwardBias");
  }

 private:
  static constexpr unsigned parts_of_bias = 256;

  void sum_bias(const binding& bound) const {
    const op::operand& of = logical(1);
    const std::int64_t channels = of.extents[1];
    const std::int64_t pixels = of.extents[2] * of.extents[3];
    const int channels_last = strides_of(1)[1] == 1 ? 1 : 0;
    const cuda::grid on = cuda::grid_for(channels);
    device_->kernels()
        .find(of.type, "bias_gradient_parts")
        .launch(stream(), {dim3(on.blocks.x, parts_of_bias), on.threads}, bound.diff_dst,
                bound.workspace, of.extents[0], channels, pixels, channels_last);
    device_->kernels()
        .find(of.type, "bias_gradient")
        .launch(stream(), on, bound.workspace, bound.diff_bias, channels,
                static_cast<int>(parts_of_bias));
  }

  [[nodiscard]] cudnn::execution_plan plan_of(const std::string& algorithm) const {
    const cudnn::descriptor gpu = cudnn::gpu_of(library_);
    if (algorithm.empty()) return cudnn::first_plan(graph_.self(), gpu, limits_);
    return cudnn::replayed_plan(graph_.self(), gpu, limits_, algorithm);
  }

  /// Where the graph's tensors lie; they have the operands' positions as ids.
  [[nodiscard]] cudnn::descriptor tensors_at(std::span<const address> places,
                                             address workspace) const {
    const std::size_t count = operands().size() - (bias_gradient_ ? 1 : 0);
    std::vector<std::int64_t> ids;
    for (std::size_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int64_t>(i));
    cudnn::descriptor result(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    result.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
    result.set(
        CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
        std::vector<address>(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(count)));
    result.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace);
    result.finalize();
    return result;
  }

  struct bias_gradient {
    cudnn::tensor_descriptor of;
    cudnn::tensor_descriptor sums;
    bias_gradient(cudnn::tensor_descriptor image, cudnn::tensor_descriptor channels)
        : of(std::move(image)), sums(std::move(channels)) {}
  };

  cudnn::backend* device_;
  cudnnHandle_t library_;
  cudnn::conv_graph graph_;
  cudnn::plan_limits limits_;
  cudnn::execution_plan chosen_;
  std::optional<bias_gradient> bias_gradient_;
  std::size_t bias_bytes_ = 0;  ///< of scratch memory, for kernels of our own
};

static_assert(implements<cudnn::backend, op::conv>);

}  // namespace layerbench
