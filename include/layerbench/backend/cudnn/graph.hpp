// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <layerbench/backend/cudnn/backend_descriptor.hpp>
#include <layerbench/backend/cudnn/operation_graph.hpp>
#include <layerbench/op/conv.hpp>

namespace layerbench::cudnn {

/// Operation graph of a convolution, with the addition of its bias and with its post-ops, but
/// without the gradient of the bias. The unique id of a tensor is the position of the operand. In
/// f8_e4m3 the sums are multiplied by the scale of each factor. `fast`: these may add up with less
/// precision. Throws unsupported.
class conv_graph : public operation_graph {
 public:
  conv_graph(const op::conv& o, const plan_request& request, bool fast = false)
      : operation_graph(wrong_engines_of(o, request.pass)),
        request_(request),
        operands_(o.operands(request.pass, request.type)),
        sums_(fast ? CUDNN_DATA_FAST_FLOAT_FOR_FP8 : CUDNN_DATA_FLOAT) {
    if (o.has_depth()) throw unsupported("layerbench has no cuDNN plans for volumes");
    if (has_scale() && request.pass != op::pass::fwd) {
      throw unsupported("layerbench has cuDNN plans in f8_e4m3 for inference only");
    }
    if (fast && !has_scale()) throw unsupported("fast accumulation is for f8_e4m3 only");
    const std::vector<step> steps = steps_of(o, request.pass);
    // The result of step i, counted from the convolution; the last one is the destination.
    const auto result = [&](std::size_t i) {
      const std::size_t gradient = 2;
      if (i < steps.size()) return intermediate(scale() + 1 + i);
      return tensor(request.pass == op::pass::fwd ? operands_.size() - 1 : gradient);
    };
    std::vector<descriptor> nodes;
    nodes.push_back(convolution(o, names_of(request.pass), tensor(0), tensor(1), result(0)));
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto second = [&]() -> std::optional<descriptor> {
        const step& next = steps[i];
        if (next.constant) return scalar(scale() + 1 + steps.size() + i, 4, *next.constant);
        if (next.operand) return tensor(*next.operand);
        if (next.back > 0) return result(i - next.back);
        return std::nullopt;
      }();
      nodes.push_back(
          pointwise_node(steps[i].function, result(i), second ? &*second : nullptr, result(i + 1)));
    }
    finalize(nodes);
  }

  [[nodiscard]] bool has_scale() const { return request_.type == dtype::f8_e4m3; }
  [[nodiscard]] bool is_fast() const { return sums_ != CUDNN_DATA_FLOAT; }
  /// The tensor that has the scale of both factors.
  [[nodiscard]] std::size_t scale() const { return operands_.size(); }

 private:
  /// Engines of cuDNN 9.19 that compute wrong results on an H100 where the padding of two opposite
  /// sides differs, by the tests of random shapes. Their proposals do not say so. Which GPUs and
  /// versions share this is not known, so they are avoided everywhere.
  [[nodiscard]] static std::vector<std::int64_t> wrong_engines_of(const op::conv& o,
                                                                  op::pass pass) {
    if (o.pad.top == o.pad.bottom && o.pad.left == o.pad.right) return {};
    switch (pass) {
      case op::pass::fwd: return {6};        // Winograd
      case op::pass::bwd_data: return {50};  // FFT
      default: return {1, 20};
    }
  }

  /// A pointwise function of the previous result, and of at most one second operand.
  struct step {
    pointwise function;
    std::optional<std::size_t> operand = {};  ///< a tensor
    std::optional<float> constant = {};
    std::size_t back = 0;  ///< the result that many steps earlier; 0: none
  };
  /// What follows the convolution in the same call: scales, the bias and the post-ops.
  [[nodiscard]] std::vector<step> steps_of(const op::conv& o, op::pass pass) const {
    std::vector<step> all;
    if (pass != op::pass::fwd) return all;
    std::size_t operand = 2;
    if (o.bias) all.push_back({{CUDNN_POINTWISE_ADD}, operand++});
    const bool adds_first = !o.post.empty() && op::is_addition(o.post.front());
    for (const op::post_op p : o.post) {
      if (op::is_addition(p)) {
        all.push_back({{CUDNN_POINTWISE_ADD}, operand++});
      } else {
        add_function(op::activation_of(p), all);
      }
    }
    // cuDNN has compiled kernels for the sum of two images and a bias in this order.
    if (o.bias && adds_first) std::swap(all[0], all[1]);
    if (has_scale()) all.insert(all.begin(), 2, {{CUDNN_POINTWISE_MUL}, scale()});
    return all;
  }
  /// Appends the steps of an activation function. relu6 is a minimum of relu: for relu with an
  /// upper limit behind a convolution in 16 bits cuDNN 9.19 has no fast engine. hardsigmoid is
  /// relu6(x + 3) / 6, hardswish x times that.
  static void add_function(op::activation_kind kind, std::vector<step>& all) {
    const auto add = [&](pointwise function, std::optional<float> constant = std::nullopt) {
      all.push_back({.function = function, .constant = constant});
    };
    switch (kind) {
      case op::activation_kind::relu: return add({CUDNN_POINTWISE_RELU_FWD});
      case op::activation_kind::relu6:
        add({CUDNN_POINTWISE_RELU_FWD});
        return add({CUDNN_POINTWISE_MIN}, 6);
      case op::activation_kind::leaky_relu: return add({CUDNN_POINTWISE_RELU_FWD, 0.01});
      case op::activation_kind::elu: return add({CUDNN_POINTWISE_ELU_FWD});
      case op::activation_kind::sigmoid: return add({CUDNN_POINTWISE_SIGMOID_FWD});
      case op::activation_kind::tanh: return add({CUDNN_POINTWISE_TANH_FWD});
      case op::activation_kind::gelu: return add({CUDNN_POINTWISE_GELU_FWD});
      case op::activation_kind::swish: return add({CUDNN_POINTWISE_SWISH_FWD});
      case op::activation_kind::hardsigmoid:
        add({CUDNN_POINTWISE_ADD}, 3);
        add_function(op::activation_kind::relu6, all);
        return add({CUDNN_POINTWISE_MUL}, 1.0F / 6);
      case op::activation_kind::hardswish: {
        const std::size_t before = all.size();
        add_function(op::activation_kind::hardsigmoid, all);
        all.push_back({.function = {CUDNN_POINTWISE_MUL}, .back = all.size() - before});
        return;
      }
      case op::activation_kind::linear:
        add({CUDNN_POINTWISE_MUL}, 0.5F);
        return add({CUDNN_POINTWISE_ADD}, 1);
    }
  }

  /// Operation and attributes of a pass; the tensors are in the order of the op's operands.
  struct pass_names {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t conv, alpha, beta, first, second, result;
  };

  [[nodiscard]] static const pass_names& names_of(op::pass pass) {
    static constexpr pass_names fwd{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y};
    static constexpr pass_names bwd_data{
        CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX};
    static constexpr pass_names bwd_weights{
        CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW};
    if (pass == op::pass::bwd_data) return bwd_data;
    return pass == op::pass::bwd_weights ? bwd_weights : fwd;
  }

  [[nodiscard]] descriptor convolution(const op::conv& o, const pass_names& names,
                                       const descriptor& first, const descriptor& second,
                                       const descriptor& result) const {
    using sizes = std::vector<std::int64_t>;
    descriptor conv(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    conv.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2});
    conv.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, sums_);
    conv.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
    conv.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, sizes{o.stride.v, o.stride.h});
    conv.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, sizes{o.dilation.v, o.dilation.h});
    conv.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, sizes{o.pad.top, o.pad.left});
    conv.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, sizes{o.pad.bottom, o.pad.right});
    conv.finalize();
    descriptor node(names.type);
    node.set(names.conv, conv);
    node.set(names.alpha, 1.0F);
    node.set(names.beta, 0.0F);
    node.set(names.first, first);
    node.set(names.second, second);
    node.set(names.result, result);
    node.finalize();
    return node;
  }

  /// Descriptor of operand `position`, or of the scale; a bias is an image 1*k*1*1.
  [[nodiscard]] descriptor tensor(std::size_t position) const {
    if (position == scale()) {
      const dims ones(4, 1);
      return operation_graph::tensor(position, ones, ones, CUDNN_DATA_FLOAT);
    }
    const op::operand& operand = operands_[position];
    const dims& extents = operand.extents;
    const dims image = extents.size() == 1 ? dims{1, extents[0], 1, 1} : extents;
    // Other ops have no plans in this type.
    const cudnnDataType_t type =
        operand.type == dtype::f8_e4m3 ? CUDNN_DATA_FP8_E4M3 : data_type(operand.type);
    return operation_graph::tensor(position, image, strides(image, request_.layout), type);
  }
  /// A result before the next function.
  [[nodiscard]] descriptor intermediate(std::size_t id) const {
    const dims& image = operands_.back().extents;
    return virtual_tensor(id, image, strides(image, request_.layout));
  }

  plan_request request_;
  std::vector<op::operand> operands_;
  cudnnDataType_t sums_;
};

}  // namespace layerbench::cudnn
