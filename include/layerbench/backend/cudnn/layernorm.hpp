// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/backend/cudnn/execution_plan.hpp>
#include <layerbench/backend/cudnn/operation_graph.hpp>
#include <layerbench/backend/kernels/gpu/layernorm.hpp>
#include <layerbench/backend/kernels/gpu/normalization_plan.hpp>
#include <layerbench/op/layernorm.hpp>

namespace layerbench::cudnn {

/// Operation graph of the gradients of a normalization of rows: to cuDNN these are images of one
/// pixel, and columns are channels. Tensor ids are the positions of the operands. cuDNN requires a
/// scale and its gradient, and for kind `layer` the gradient of the bias. Those that are not
/// learned have ids behind the operands. Throws unsupported.
class layernorm_graph : public operation_graph {
 public:
  layernorm_graph(const op::layernorm& o, dtype type)
      : operands_(o.operands(op::pass::bwd, type)),
        rows_(elements(o.rows())),
        columns_(o.columns()) {
    std::vector<descriptor> nodes;
    nodes.push_back(gradients(o));
    finalize(nodes);
  }

  /// Parameters that are in the graph, but no operands.
  [[nodiscard]] const std::set<gpu::parameter>& unlearned() const { return unlearned_; }
  [[nodiscard]] std::size_t id_of(gpu::parameter unlearned) const {
    return operands_.size() + static_cast<std::size_t>(unlearned);
  }

 private:
  [[nodiscard]] descriptor gradients(const op::layernorm& o) {
    descriptor node(CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
    node.set(CUDNN_ATTR_OPERATION_NORM_BWD_MODE, o.has_mean() ? CUDNN_LAYER_NORM : CUDNN_RMS_NORM);
    node.set(CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, rows("src"));
    node.set(CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, rows("diff_dst"));
    node.set(CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, columns("scale", gpu::parameter::scale));
    if (o.has_mean()) node.set(CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, statistics("mean"));
    node.set(CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, statistics("variance"));
    node.set(CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC,
             columns("diff_scale", gpu::parameter::diff_scale));
    if (o.has_mean()) {
      node.set(CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC,
               columns("diff_bias", gpu::parameter::diff_bias));
    }
    node.set(CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, rows("diff_src"));
    node.finalize();
    return node;
  }

  /// The position of an operand, or the number of operands.
  [[nodiscard]] std::size_t position(std::string_view name) const {
    const auto found = std::ranges::find(operands_, name, &op::operand::name);
    return static_cast<std::size_t>(found - operands_.begin());
  }
  [[nodiscard]] descriptor rows(std::string_view name) const {
    const std::size_t id = position(name);
    return tensor(id, {rows_, columns_, 1, 1}, {columns_, 1, columns_, columns_},
                  data_type(operands_[id].type));
  }
  [[nodiscard]] descriptor columns(std::string_view name, gpu::parameter which) {
    std::size_t id = position(name);
    if (id == operands_.size()) {
      unlearned_.insert(which);
      id = id_of(which);
    }
    return tensor(id, {1, columns_, 1, 1}, {columns_, 1, columns_, columns_}, CUDNN_DATA_FLOAT);
  }
  [[nodiscard]] descriptor statistics(std::string_view name) const {
    return tensor(position(name), {rows_, 1, 1, 1}, {1, 1, 1, 1}, CUDNN_DATA_FLOAT);
  }

  std::vector<op::operand> operands_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::set<gpu::parameter> unlearned_;
};

}  // namespace layerbench::cudnn

namespace layerbench {

/// Normalization of rows, which are row-major in every layout. Forward passes are by a layerbench
/// kernel: cuDNN's fast kernels need a 16-bit scale for 16-bit data, where the op has f32, and its
/// general kernel is slower. Gradients are by cuDNN, which compiles the kernels when a plan is
/// made. It reads the inverse standard deviation, so this is what the kernel stores. A scale that
/// is not learned is a constant of the plan, and gradients of what is not learned are discarded.
template <>
class plan<cudnn::backend, op::layernorm> : public gpu::normalization_plan<gpu::tensor_plan> {
 public:
  plan(cudnn::backend& device, const op::layernorm& o, const plan_request& request)
      : normalization_plan(request.pass, o.epsilon, device, o.operands(request.pass, request.type),
                           layout::nchw) {
    if (request.pass != op::pass::bwd) {
      forward_.emplace(device, o, request);
      return;
    }
    const plan_request single = in_single_precision(request);
    gradients_.emplace(device, single, cudnn::layernorm_graph(o, single.type),
                       cudnn::positions(operands().size()),
                       cudnn::built_plan<cudnn::execution_plan>(request));
    const cudnn::layernorm_graph& graph = gradients_->graph();
    if (graph.unlearned().empty()) return;
    unlearned_.emplace(device, o.columns());
    for (const gpu::parameter which : graph.unlearned()) {
      gradients_->add_constant(graph.id_of(which), unlearned_->at(which));
    }
  }

  [[nodiscard]] std::size_t workspace_bytes() const override {
    return gradients_ ? gradients_->workspace_bytes() : 0;
  }
  [[nodiscard]] std::string algorithm() const override {
    return gradients_ ? gradients_->algorithm() : gpu::layernorm::algorithm;
  }
  [[nodiscard]] std::vector<run::alternative> alternatives(std::size_t most) override {
    if (!gradients_) return {};
    return cudnn::as_alternatives(gradients_->other_plans(most));
  }

  struct binding {
    std::vector<address> operands;
    address workspace;
    std::optional<cudnn::descriptor> variant_pack;  ///< of gradients
  };
  [[nodiscard]] binding bind(std::span<const address> operands, address workspace) const {
    binding bound{{operands.begin(), operands.end()}, workspace, {}};
    if (gradients_) bound.variant_pack = gradients_->variant_pack(operands, workspace);
    return bound;
  }
  void place(binding& bound, std::span<const address> operands) const {
    bound = bind(operands, bound.workspace);
  }
  void run(const binding& bound) const {
    if (gradients_) return gradients_->execute(*bound.variant_pack);
    forward_->run(bound.operands);
  }

 private:
  /// There are no products to round to tf32.
  [[nodiscard]] static plan_request in_single_precision(plan_request request) {
    if (request.type == dtype::tf32) request.type = dtype::f32;
    return request;
  }

  std::optional<gpu::layernorm> forward_;
  std::optional<cudnn::graph_execution<cudnn::layernorm_graph>> gradients_;
  std::optional<gpu::unlearned_parameters> unlearned_;
};

static_assert(implements<cudnn::backend, op::layernorm>);

}  // namespace layerbench
