// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/softmax.hpp>

namespace layerbench {

template <>
class plan<cudnn::backend, op::softmax> : public cudnn::direct_plan {
 public:
  plan(const cudnn::backend& device, const op::softmax& o, const plan_request& request)
      : direct_plan(device, o.operands(request.pass, request.type), request,
                    request.pass == op::pass::bwd ? "cudnnSoftmaxBackward" : "cudnnSoftmaxForward"),
        backward_(request.pass == op::pass::bwd),
        tensor_(with_axis_as_channels(o, strides_of(0), request.type)) {}

  void run(const binding& bound) const {
    const auto tensor = tensor_.get();
    if (backward_) {
      check(cudnnSoftmaxBackward(library(), CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL,
                                 &cudnn::one, tensor, bound[0], tensor, bound[1], &cudnn::zero,
                                 tensor, bound[2]));
    } else {
      check(cudnnSoftmaxForward(library(), CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL,
                                &cudnn::one, tensor, bound[0], &cudnn::zero, tensor, bound[1]));
    }
  }

 private:
  /// Descriptor with the axis as channels: the extents before and after it are merged into one
  /// each. Channels-last images keep their extents.
  static cudnn::tensor_descriptor with_axis_as_channels(const op::softmax& o, const dims& strides,
                                                        dtype type) {
    const auto axis = static_cast<std::size_t>(o.axis);
    if (strides != layerbench::strides(o.dims, layout::nchw)) {
      if (axis != 1) throw unsupported("cuDNN's softmax of nhwc images is along channels");
      return {o.dims, strides, type};
    }
    std::int64_t outer = 1;
    for (std::size_t i = 0; i < axis; ++i) outer *= o.dims[i];
    const std::int64_t inner = strides[axis];
    return {{outer, o.dims[axis], inner, 1}, {o.dims[axis] * inner, inner, 1, 1}, type};
  }

  bool backward_;
  cudnn::tensor_descriptor tensor_;
};

static_assert(implements<cudnn::backend, op::softmax>);

}  // namespace layerbench
