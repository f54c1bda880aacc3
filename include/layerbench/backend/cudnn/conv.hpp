// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cudnn_cnn.h>

#include <layerbench/backend/cudnn/classic.hpp>
#include <layerbench/backend/cudnn/execution_plan.hpp>
#include <layerbench/backend/cudnn/graph.hpp>
#include <layerbench/op/conv.hpp>

namespace layerbench {

/// Convolution by the first plan that the library's heuristics propose for its graph, or the one
/// that is asked for. A bias is added in the same call; its gradient takes a second one.
template <>
class plan<cudnn::backend, op::conv> : public cuda::tensor_plan {
 public:
  plan(const cudnn::backend& here, const op::conv& o, const plan_request& request)
      : tensor_plan(here, o.operands(request.pass, request.type), request.order),
        library_(here.library()),
        graph_(o, request),
        limits_{request.type, request.workspace_limit},
        chosen_(plan_of(request.algorithm)) {
    if (!o.bias || request.pass != op::pass::bwd_weights) return;
    bias_gradient_.emplace(
        cudnn::tensor_descriptor(logical(1).extents, strides_of(1), request.type),
        cudnn::tensor_descriptor({1, o.k, 1, 1}, {o.k, 1, 1, 1}, request.type));
  }

  [[nodiscard]] std::size_t workspace_bytes() const { return chosen_.workspace_bytes(); }
  [[nodiscard]] std::string algorithm() const { return chosen_.text(); }
  [[nodiscard]] std::vector<std::string> alternatives() const {
    std::vector<std::string> names;
    for (const auto& each : cudnn::all_plans(graph_.self(), cudnn::gpu_of(library_), limits_)) {
      names.push_back(each.text());
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
    cuda::check(cudnnConvolutionBackwardBias(library_, &cudnn::one, bias_gradient_->of.get(),
                                             bound.diff_dst, &cudnn::zero,
                                             bias_gradient_->sums.get(), bound.diff_bias),
                "cudnnConvolutionBackwardBias");
  }

 private:
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
    cudnn::descriptor made(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    made.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
    made.set(
        CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
        std::vector<address>(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(count)));
    made.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace);
    made.finalize();
    return made;
  }

  struct bias_gradient {
    cudnn::tensor_descriptor of;
    cudnn::tensor_descriptor sums;
    bias_gradient(cudnn::tensor_descriptor image, cudnn::tensor_descriptor channels)
        : of(std::move(image)), sums(std::move(channels)) {}
  };

  cudnnHandle_t library_;
  cudnn::conv_graph graph_;
  cudnn::plan_limits limits_;
  cudnn::execution_plan chosen_;
  std::optional<bias_gradient> bias_gradient_;
};

static_assert(implements<cudnn::backend, op::conv>);

}  // namespace layerbench
