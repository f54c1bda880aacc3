// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <layerbench/backend/cudnn/execution_plan.hpp>
#include <layerbench/backend/cudnn/normalization.hpp>
#include <layerbench/backend/cudnn/operation_graph.hpp>
#include <layerbench/op/layernorm.hpp>

namespace layerbench::cudnn {

/// Operation graph of a normalization of rows: to cuDNN they are images of one pixel, and columns
/// are channels. The unique id of a tensor is the position of the operand. The scale, the bias of
/// kind `layer` and their gradients are always in the graph, as cuDNN's documentation has them:
/// with ids behind the operands where they are not learned. Throws unsupported.
class layernorm_graph : public operation_graph {
 public:
  layernorm_graph(const op::layernorm& o, const plan_request& request)
      : operands_(o.operands(request.pass, request.type)),
        rows_(elements(o.rows())),
        columns_(o.columns()) {
    std::vector<descriptor> nodes;
    nodes.push_back(request.pass == op::pass::bwd ? backward(o) : forward(o, request.pass));
    finalize(nodes);
  }

  /// Parameters that are in the graph, but no operands.
  [[nodiscard]] const std::set<parameter>& unlearned() const { return unlearned_; }
  [[nodiscard]] std::size_t id_of(parameter unlearned) const {
    return operands_.size() + static_cast<std::size_t>(unlearned);
  }

 private:
  [[nodiscard]] static cudnnBackendNormMode_t mode_of(const op::layernorm& o) {
    return o.has_mean() ? CUDNN_LAYER_NORM : CUDNN_RMS_NORM;
  }

  [[nodiscard]] descriptor forward(const op::layernorm& o, op::pass pass) {
    constexpr std::size_t axes = 4;
    const bool training = pass == op::pass::fwd_training;
    descriptor node(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
    node.set(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, mode_of(o));
    node.set(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE,
             training ? CUDNN_NORM_FWD_TRAINING : CUDNN_NORM_FWD_INFERENCE);
    node.set(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, rows("src"));
    node.set(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, columns("scale", parameter::scale));
    if (o.has_mean()) {
      node.set(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, columns("bias", parameter::bias));
    }
    node.set(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC,
             scalar(id_of(parameter::diff_bias) + 1, axes, static_cast<float>(o.epsilon)));
    node.set(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, rows("dst"));
    if (training) {
      if (o.has_mean()) node.set(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, statistics("mean"));
      node.set(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, statistics("variance"));
    }
    node.finalize();
    return node;
  }

  [[nodiscard]] descriptor backward(const op::layernorm& o) {
    descriptor node(CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
    node.set(CUDNN_ATTR_OPERATION_NORM_BWD_MODE, mode_of(o));
    node.set(CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, rows("src"));
    node.set(CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, rows("diff_dst"));
    node.set(CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, columns("scale", parameter::scale));
    if (o.has_mean()) node.set(CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, statistics("mean"));
    node.set(CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, statistics("variance"));
    node.set(CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC,
             columns("diff_scale", parameter::diff_scale));
    if (o.has_mean()) {
      node.set(CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC,
               columns("diff_bias", parameter::diff_bias));
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
  [[nodiscard]] descriptor columns(std::string_view name, parameter which) {
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
  std::set<parameter> unlearned_;
};

}  // namespace layerbench::cudnn

namespace layerbench {

/// Normalization of rows by the first plan that cuDNN's heuristics propose for its graph, or by the
/// requested one. cuDNN compiles its kernels when a plan is made. Its fast kernels of forward
/// passes need a scale in the type of the data: of 16-bit data, whose scale is in f32, only a
/// general one is left. A scale or bias that is not learned is a constant of the plan, and its
/// gradient is discarded.
template <>
class plan<cudnn::backend, op::layernorm>
    : public cudnn::normalization_plan<cudnn::graph_plan<cudnn::layernorm_graph>> {
 public:
  /// `chosen`: a plan of other_plans() for the same request, in place of the one that the request
  /// names.
  plan(cudnn::backend& device, const op::layernorm& o, const plan_request& request,
       std::optional<cudnn::execution_plan> chosen = std::nullopt)
      : normalization_plan(
            request.pass, o.epsilon, device, o.operands(request.pass, request.type),
            orders(o, request), in_single_precision(request), cudnn::layernorm_graph(o, request),
            cudnn::positions(o.operands(request.pass, request.type).size()), std::move(chosen)) {
    if (graph().unlearned().empty()) return;
    unlearned_.emplace(device, o.columns());
    for (const cudnn::parameter which : graph().unlearned()) {
      add_constant(graph().id_of(which), unlearned_->at(which));
    }
  }

 private:
  /// Row-major, whatever layout is requested: a tensor of four axes is no image.
  [[nodiscard]] static std::vector<std::string> orders(const op::layernorm& o,
                                                       const plan_request& request) {
    std::vector<std::string> all;
    for (const op::operand& operand : o.operands(request.pass, request.type)) {
      all.push_back(op::plain_order(operand.extents));
    }
    return all;
  }

  /// There are no products to round to tf32.
  [[nodiscard]] static plan_request in_single_precision(plan_request request) {
    if (request.type == dtype::tf32) request.type = dtype::f32;
    return request;
  }

  std::optional<cudnn::unlearned_parameters> unlearned_;
};

static_assert(implements<cudnn::backend, op::layernorm>);

}  // namespace layerbench
