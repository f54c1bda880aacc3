// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/algorithm_parts.hpp>
#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/cudnn/backend_descriptor.hpp>
#include <layerbench/backend/cudnn/execution_plan.hpp>
#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/backend/kernels/gpu/post_kernel.hpp>

namespace layerbench::cudnn {

/// Base class of operation graphs: builds their tensors and pointwise operations.
class operation_graph {
 public:
  using number = std::variant<float, std::int32_t>;

  [[nodiscard]] const descriptor& self() const { return self_; }
  /// Numbers that are passed by value, by tensor.
  [[nodiscard]] const std::map<std::int64_t, number>& scalars() const { return scalars_; }
  /// Positions in scratch memory, in bytes, of tensors that lie there.
  [[nodiscard]] const std::map<std::int64_t, std::size_t>& scratch() const { return scratch_; }
  [[nodiscard]] std::size_t scratch_bytes() const { return scratch_bytes_; }
  /// cuDNN's id of tensor `id`: from 1 on, since some engines take 0 for a missing tensor.
  [[nodiscard]] static constexpr std::int64_t unique_id(std::int64_t id) { return id + 1; }
  /// Engines of cuDNN that compute wrong results for this graph.
  [[nodiscard]] const std::vector<std::int64_t>& wrong_engines() const { return wrong_engines_; }

 protected:
  explicit operation_graph(std::vector<std::int64_t> wrong_engines = {})
      : wrong_engines_(std::move(wrong_engines)) {}

  /// A function of each element, or of each pair of elements.
  struct pointwise {
    cudnnPointwiseMode_t mode;
    std::optional<double> slope = {};         ///< of relu below 0
    std::optional<std::int64_t> axis = {};    ///< of indices
    cudnnDataType_t type = CUDNN_DATA_FLOAT;  ///< of the arithmetic
  };

  void finalize(const std::vector<descriptor>& nodes) {
    self_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, nodes);
    self_.finalize();
  }

  /// Strides of a tensor in row-major order.
  [[nodiscard]] static dims row_major(const dims& extents) {
    return op::strides(extents, op::plain_order(extents));
  }

  [[nodiscard]] static descriptor tensor(std::size_t id, const dims& extents, const dims& strides,
                                         cudnnDataType_t type) {
    descriptor result = unfinished_tensor(id, extents, strides, type);
    result.finalize();
    return result;
  }
  /// A result between two operations, which is never stored.
  [[nodiscard]] static descriptor virtual_tensor(std::size_t id, const dims& extents,
                                                 const dims& strides,
                                                 cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    descriptor result = unfinished_tensor(id, extents, strides, type);
    result.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
    result.finalize();
    return result;
  }
  /// A number that is passed by value, as a tensor of `axes` axes.
  [[nodiscard]] descriptor scalar(std::size_t id, std::size_t axes, number value) {
    const dims ones(axes, 1);
    const bool real = std::holds_alternative<float>(value);
    descriptor result =
        unfinished_tensor(id, ones, ones, real ? CUDNN_DATA_FLOAT : CUDNN_DATA_INT32);
    result.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
    result.finalize();
    scalars_[static_cast<std::int64_t>(id)] = value;
    return result;
  }
  /// A result between two operations in f32, which is stored in scratch memory, row-major.
  [[nodiscard]] descriptor scratch_tensor(std::size_t id, const dims& extents) {
    scratch_[static_cast<std::int64_t>(id)] = scratch_bytes_;
    scratch_bytes_ +=
        gpu::aligned_bytes(static_cast<std::size_t>(elements(extents)) * sizeof(float));
    return tensor(id, extents, row_major(extents), CUDNN_DATA_FLOAT);
  }

  /// y = function(x), function(x, *b) or function(x, *b, *t).
  [[nodiscard]] static descriptor pointwise_node(const pointwise& function, const descriptor& x,
                                                 const descriptor* b, const descriptor& y,
                                                 const descriptor* t = nullptr) {
    descriptor how(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    how.set(CUDNN_ATTR_POINTWISE_MODE, function.mode);
    how.set(CUDNN_ATTR_POINTWISE_MATH_PREC, function.type);
    if (function.axis) how.set(CUDNN_ATTR_POINTWISE_AXIS, *function.axis);
    if (function.slope) how.set(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, *function.slope);
    how.finalize();
    descriptor result(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    result.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    result.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b != nullptr) result.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
    if (t != nullptr) result.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *t);
    result.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    result.finalize();
    return result;
  }

 private:
  [[nodiscard]] static descriptor unfinished_tensor(std::size_t id, const dims& extents,
                                                    const dims& strides, cudnnDataType_t type) {
    descriptor result(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    result.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
    result.set(CUDNN_ATTR_TENSOR_DIMENSIONS, extents);
    result.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
    result.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, unique_id(static_cast<std::int64_t>(id)));
    result.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{16});
    return result;
  }

  descriptor self_{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
  std::map<std::int64_t, number> scalars_;
  std::map<std::int64_t, std::size_t> scratch_;
  std::size_t scratch_bytes_ = 0;
  std::vector<std::int64_t> wrong_engines_;
};

/// The positions of the first operands, where their graph's tensors have them as ids.
[[nodiscard]] inline std::vector<std::size_t> positions(std::size_t count) {
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

/// An operation graph with the plan that executes it: the first one that cuDNN's heuristics
/// propose, or the requested one. The workspace has the graph's scratch memory first, then the
/// plan's.
template <class Graph>
class graph_execution {
 public:
  [[nodiscard]] std::size_t workspace_bytes() const {
    return graph_.scratch_bytes() + plan_.workspace_bytes();
  }
  [[nodiscard]] std::string algorithm() const { return plan_.text(); }
  /// Others that the library has. No more than `most` beside this one are finalized, those that
  /// need too much workspace included.
  [[nodiscard]] std::vector<execution_plan> other_plans(std::size_t most) const {
    return cudnn::proposed_plans(graph_.self(), gpu_of(library_), limits_, tried_, most + 1);
  }

  /// `tensors`: the position of the operand that is the graph's tensor 0, 1 and so on. `chosen`: a
  /// plan of other_plans() for the same request, in place of the one that the request names.
  graph_execution(const backend& device, const plan_request& request, Graph graph,
                  std::vector<std::size_t> tensors, std::optional<execution_plan> chosen)
      : library_(device.library()),
        graph_(std::move(graph)),
        tensors_(std::move(tensors)),
        limits_(limits_of(graph_, request)),
        plan_(chosen ? *std::move(chosen) : plan_of(request.algorithm)) {
    if (tried_.choices.empty()) tried_ = {{plan_.choice()}, 1};
  }

  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] static execution_plan first_plan_of(const backend& device, const Graph& graph,
                                                    const plan_request& request,
                                                    tried_plans& tried) {
    return first_plan(graph.self(), gpu_of(device.library()), limits_of(graph, request), &tried);
  }
  /// Sets what the search for the plan has tried.
  void set_tried(tried_plans tried) { tried_ = std::move(tried); }
  /// Plans of another graph, within the limits of this one.
  [[nodiscard]] std::vector<execution_plan> plans_of(const Graph& other, std::size_t most) const {
    return cudnn::proposed_plans(other.self(), gpu_of(library_), limits_, {}, most);
  }
  /// Gives the graph's tensor `id` memory that is no operand.
  void add_constant(std::size_t id, address at) { constants_[static_cast<std::int64_t>(id)] = at; }

  /// Addresses of the graph's tensors.
  [[nodiscard]] descriptor variant_pack(std::span<const address> operands,
                                        address workspace) const {
    std::vector<std::int64_t> ids;
    std::vector<address> addresses;
    const auto add = [&](std::int64_t id, const void* at) {
      ids.push_back(operation_graph::unique_id(id));
      addresses.push_back(const_cast<address>(at));
    };
    for (std::size_t id = 0; id < tensors_.size(); ++id) {
      add(static_cast<std::int64_t>(id), operands[tensors_[id]]);
    }
    for (const auto& [id, at] : constants_) add(id, at);
    for (const auto& [id, value] : graph_.scalars()) {
      add(id, std::visit([](const auto& number) -> const void* { return &number; }, value));
    }
    auto* const scratch = static_cast<std::byte*>(workspace);
    for (const auto& [id, offset] : graph_.scratch()) add(id, scratch + offset);
    descriptor result(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    result.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
    result.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, addresses);
    result.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
               static_cast<address>(scratch + graph_.scratch_bytes()));
    result.finalize();
    return result;
  }
  void execute(const descriptor& variant_pack) const {
    cuda::check(cudnnBackendExecute(library_, plan_.self().raw(), variant_pack.raw()),
                "cudnnBackendExecute");
  }

 private:
  [[nodiscard]] execution_plan plan_of(const std::string& algorithm) {
    const descriptor gpu = gpu_of(library_);
    if (algorithm.empty()) return first_plan(graph_.self(), gpu, limits_, &tried_);
    return replayed_plan(graph_.self(), gpu, limits_, algorithm);
  }

  /// Limits of the execution plan: what the graph's own scratch memory leaves.
  [[nodiscard]] static plan_limits limits_of(const Graph& graph, const plan_request& request) {
    if (graph.scratch_bytes() > request.workspace_limit) {
      throw unsupported(
          fmt::format("cuDNN's graph needs {} bytes of scratch memory, {} are allowed",
                      graph.scratch_bytes(), request.workspace_limit));
    }
    return {request.type, request.workspace_limit - graph.scratch_bytes(), graph.wrong_engines()};
  }

  cudnnHandle_t library_;
  Graph graph_;
  std::vector<std::size_t> tensors_;
  std::map<std::int64_t, address> constants_;
  plan_limits limits_;
  tried_plans tried_;  ///< on the way to the plan
  execution_plan plan_;
};

/// Base class of the plans by one operation graph, and a layerbench kernel for post-ops that are
/// not part of it. Then names of algorithms end in gpu::post_kernel_suffix.
template <class Graph>
class graph_plan : public gpu::tensor_plan, public graph_execution<Graph> {
 public:
  struct binding {
    descriptor variant_pack;
    std::vector<address> operands;
    address workspace;
  };

  [[nodiscard]] std::size_t workspace_bytes() const override {
    return post_.scratch_bytes() + graph_execution<Graph>::workspace_bytes();
  }
  [[nodiscard]] std::string algorithm() const override {
    return graph_execution<Graph>::algorithm() + std::string(post_ ? gpu::post_kernel_suffix : "");
  }

  [[nodiscard]] std::vector<run::alternative> alternatives(std::size_t most) override {
    return as_alternatives(this->other_plans(most));
  }

  [[nodiscard]] binding bind(std::span<const address> places, address workspace) const {
    std::vector<address> of_graph(places.begin(), places.end());
    of_graph.back() = post_.result_address(places.back(), workspace);
    return {this->variant_pack(of_graph, post_.library_workspace(workspace)),
            {places.begin(), places.end()},
            workspace};
  }
  void place(binding& bound, std::span<const address> operands) const {
    bound = bind(operands, bound.workspace);
  }
  void run(const binding& bound) const {
    this->execute(bound.variant_pack);
    apply_post(bound);
  }

  [[nodiscard]] reference::sum as_stored(std::size_t /*operand*/,
                                         reference::sum exact) const override {
    return post_ ? rounded_before_post(exact) : exact;
  }

 protected:
  /// Where the graph stores its result.
  [[nodiscard]] address result_of(const binding& bound) const {
    return post_.result_address(bound.operands.back(), bound.workspace);
  }
  void apply_post(const binding& bound) const { post_.run(result_of(bound), bound.operands); }
  /// Whether post-ops run behind the graph.
  [[nodiscard]] bool has_post_kernel() const { return static_cast<bool>(post_); }
  /// `stored`: as of tensor_plan. The others: those of the execution.
  template <class Stored>
  graph_plan(const backend& device, std::vector<op::operand> logical, const Stored& stored,
             const plan_request& request, Graph graph, std::vector<std::size_t> tensors,
             std::optional<execution_plan> chosen, const op::post_ops& post = {})
      : tensor_plan(device, std::move(logical), stored),
        graph_execution<Graph>(device, of_library(request), std::move(graph), std::move(tensors),
                               std::move(chosen)),
        post_(device, post, this->logical(operands().size() - 1)) {}

 private:
  [[nodiscard]] static plan_request of_library(plan_request request) {
    request.algorithm = library_part(request.algorithm);
    return request;
  }

  gpu::post_kernel post_;
};

}  // namespace layerbench::cudnn
