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

#include <layerbench/backend/cudnn/bias_gradient.hpp>
#include <layerbench/backend/cudnn/execution_plan.hpp>
#include <layerbench/backend/cudnn/graph.hpp>
#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/deconv.hpp>

namespace layerbench {

/// Transposed convolution as the convolution whose gradient it is, with the passes exchanged. Its
/// filters lie as that convolution has them. A bias is a kernel of the suite's own behind it; so
/// are those of its gradient.
template <>
class plan<cudnn::backend, op::deconv> : public cuda::tensor_plan {
 public:
  /// `chosen`: a plan of other_plans() for the same request, in place of the one that the request
  /// names.
  plan(cudnn::backend& device, const op::deconv& o, const plan_request& request,
       std::optional<cudnn::execution_plan> chosen = std::nullopt)
      : tensor_plan(device, o.operands(request.pass, request.type), orders(o, request)),
        o_(o),
        pass_(request.pass),
        library_(device.library()),
        graph_(o.transposed(), with_swapped_passes(request)),
        limits_{request.type, request.workspace_limit, graph_.wrong_engines()},
        chosen_(chosen ? *std::move(chosen) : plan_of(request.algorithm)) {
    if (o.groups > 1) throw unsupported("no transposed convolutions in groups");
    if (!o.bias || pass_ == op::pass::bwd_data) return;
    if (pass_ == op::pass::fwd) {
      bias_ = device.kernels().find(request.type, "add_bias");
      return;
    }
    bias_gradient_.emplace(device, logical(1).extents, request.type, channels_last(1),
                           request.workspace_limit);
  }

  [[nodiscard]] std::size_t workspace_bytes() const {
    return std::max(chosen_.workspace_bytes(),
                    bias_gradient_ ? bias_gradient_->workspace_bytes() : 0);
  }
  [[nodiscard]] std::string algorithm() const { return chosen_.text(); }
  [[nodiscard]] std::vector<cudnn::execution_plan> other_plans(std::size_t most) const {
    return cudnn::other_plans(graph_.self(), cudnn::gpu_of(library_), limits_, chosen_.choice(),
                              most);
  }

  template <class Sum>
  [[nodiscard]] Sum as_stored(std::size_t operand, const Sum& exact) const {
    const bool adds_bias = pass_ == op::pass::fwd && o_.bias && operand == 3;
    return adds_bias ? rounded_before_bias(exact, logical(2)) : exact;
  }

  struct binding {
    cudnn::descriptor tensors;
    address workspace;
    std::vector<address> places;
  };

  [[nodiscard]] binding bind(std::span<const address> places, address workspace) const {
    return {tensors_at(places, workspace), workspace, {places.begin(), places.end()}};
  }
  void place(binding& bound, std::span<const address> places) const {
    bound = bind(places, bound.workspace);
  }

  void run(const binding& bound) const {
    cuda::check(cudnnBackendExecute(library_, chosen_.self().raw(), bound.tensors.raw()),
                "cudnnBackendExecute");
    if (bias_gradient_) {
      bias_gradient_->run(stream(), bound.places[1], bound.places[3], bound.workspace);
    } else if (bias_) {
      const std::int64_t size = elements(logical(3).extents);
      bias_->launch(stream(), cuda::grid_for(size), bound.places[3], bound.places[2], size, o_.k,
                    channels_last(3) ? std::int64_t{1} : o_.p() * o_.q());
    }
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
    const bool first = request.order == layout::nchw;
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

  [[nodiscard]] cudnn::execution_plan plan_of(const std::string& algorithm) const {
    const cudnn::descriptor gpu = cudnn::gpu_of(library_);
    if (algorithm.empty()) return cudnn::first_plan(graph_.self(), gpu, limits_);
    return cudnn::replayed_plan(graph_.self(), gpu, limits_, algorithm);
  }

  /// Where the graph's tensors lie; they have the positions of the convolution's operands as ids.
  [[nodiscard]] cudnn::descriptor tensors_at(std::span<const address> places,
                                             address workspace) const {
    std::vector<address> all{places[0], places[1],
                             pass_ == op::pass::fwd ? places.back() : places[2]};
    if (pass_ == op::pass::bwd_weights) std::swap(all[0], all[1]);
    cudnn::descriptor result(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    result.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::vector<std::int64_t>{0, 1, 2});
    result.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, all);
    result.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace);
    result.finalize();
    return result;
  }

  op::deconv o_;
  op::pass pass_;
  cudnnHandle_t library_;
  cudnn::conv_graph graph_;
  cudnn::plan_limits limits_;
  cudnn::execution_plan chosen_;
  std::optional<cuda::kernel> bias_;  ///< adds it
  std::optional<cudnn::bias_gradient> bias_gradient_;
};

static_assert(implements<cudnn::backend, op::deconv>);

}  // namespace layerbench
