// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/add.hpp>

namespace layerbench {

template <>
class plan<cudnn::backend, op::add> : public cudnn::direct_plan {
 public:
  plan(const cudnn::backend& device, const op::add& o, const plan_request& request)
      : direct_plan(device, o.operands(request.pass, request.type), request, "cudnnOpTensor"),
        tensor_(tensor_descriptor_of(0)) {
    if (o.broadcast || request.pass == op::pass::bwd) {
      throw unsupported("layerbench has no cuDNN plans of sums with a broadcast or learned src1");
    }
    cuda::check(cudnnSetOpTensorDescriptor(descriptor_.get(), CUDNN_OP_TENSOR_ADD, CUDNN_DATA_FLOAT,
                                           CUDNN_PROPAGATE_NAN),
                "cudnnSetOpTensorDescriptor");
  }

  void run(const binding& bound) const {
    const auto tensor = tensor_.get();
    check(cudnnOpTensor(library(), descriptor_.get(), &cudnn::one, tensor, bound[0], &cudnn::one,
                        tensor, bound[1], &cudnn::zero, tensor, bound[2]));
  }

 private:
  using handle = cuda::handle<cudnnOpTensorDescriptor_t, &cudnnDestroyOpTensorDescriptor>;

  cudnn::tensor_descriptor tensor_;
  handle descriptor_ =
      cuda::make_handle<handle>("cudnnCreateOpTensorDescriptor", &cudnnCreateOpTensorDescriptor);
};

static_assert(implements<cudnn::backend, op::add>);

}  // namespace layerbench
