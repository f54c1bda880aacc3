// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/cudnn/descriptor.hpp>
#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/conv.hpp>

namespace layerbench::cudnn {

/// A convolution as an operation graph; one with a bias adds it in the same call. Tensors have
/// their position among the op's operands as unique id. The gradient of a bias is no part of it.
/// Throws unsupported.
class conv_graph {
 public:
  conv_graph(const op::conv& o, const plan_request& request)
      : request_(request), operands_(o.operands(request.pass, request.type)) {
    const names& called = names_of(request.pass);
    const bool adds_bias = o.bias && request.pass == op::pass::fwd;
    const std::size_t sum = operands_.size();  // id of what the bias is added to
    std::vector<descriptor> nodes;
    nodes.push_back(convolution(o, called, tensor(0), tensor(1),
                                adds_bias ? sums_without_bias(sum) : tensor(2)));
    if (adds_bias) nodes.push_back(addition(sums_without_bias(sum), tensor(2), tensor(3)));
    self_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, nodes);
    self_.finalize();
  }

  [[nodiscard]] const descriptor& self() const { return self_; }

 private:
  /// How the interface names what a pass consists of; tensors in the order of the op's operands.
  struct names {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t how, alpha, beta, first, second, result;
  };

  [[nodiscard]] static const names& names_of(op::pass pass) {
    static constexpr names fwd{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y};
    static constexpr names bwd_data{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX};
    static constexpr names bwd_weights{
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

  [[nodiscard]] static descriptor convolution(const op::conv& o, const names& called,
                                              const descriptor& first, const descriptor& second,
                                              const descriptor& result) {
    using sizes = std::vector<std::int64_t>;
    descriptor how(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    how.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2});
    how.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    how.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
    how.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, sizes{o.stride.v, o.stride.h});
    how.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, sizes{o.dilation.v, o.dilation.h});
    how.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, sizes{o.pad.top, o.pad.left});
    how.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, sizes{o.pad.bottom, o.pad.right});
    how.finalize();
    descriptor node(called.type);
    node.set(called.how, how);
    node.set(called.alpha, 1.0F);
    node.set(called.beta, 0.0F);
    node.set(called.first, first);
    node.set(called.second, second);
    node.set(called.result, result);
    node.finalize();
    return node;
  }

  [[nodiscard]] static descriptor addition(const descriptor& a, const descriptor& b,
                                           const descriptor& sum) {
    descriptor how(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_ADD);
    how.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
    how.finalize();
    descriptor node(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    node.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    node.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, a);
    node.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
    node.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, sum);
    node.finalize();
    return node;
  }

  /// Operand `position` as the library sees it: a bias as an image of one point.
  [[nodiscard]] descriptor tensor(std::size_t position) const {
    const op::operand& of = operands_[position];
    const dims image = of.extents.size() == 1 ? dims{1, of.extents[0], 1, 1} : of.extents;
    descriptor result = unfinished_tensor(image, data_type(of.type), position);
    result.finalize();
    return result;
  }
  /// What never is in memory, and so is not rounded.
  [[nodiscard]] descriptor sums_without_bias(std::size_t id) const {
    descriptor result = unfinished_tensor(operands_.back().extents, CUDNN_DATA_FLOAT, id);
    result.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
    result.finalize();
    return result;
  }
  [[nodiscard]] descriptor unfinished_tensor(const dims& image, cudnnDataType_t type,
                                             std::size_t id) const {
    descriptor result(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    result.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
    result.set(CUDNN_ATTR_TENSOR_DIMENSIONS, image);
    result.set(CUDNN_ATTR_TENSOR_STRIDES, cuda::strides(image, request_.order));
    result.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, static_cast<std::int64_t>(id));
    result.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{16});
    return result;
  }

  plan_request request_;
  std::vector<op::operand> operands_;
  descriptor self_{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
};

}  // namespace layerbench::cudnn
