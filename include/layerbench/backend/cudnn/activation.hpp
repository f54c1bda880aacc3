// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/activation.hpp>

namespace layerbench {

/// Activation by cuDNN's legacy API. Gradients exist for the functions that need only dst.
template <>
class plan<cudnn::backend, op::activation> : public cudnn::direct_plan {
 public:
  plan(const cudnn::backend& device, const op::activation& o, const plan_request& request)
      : direct_plan(
            device, o.operands(request.pass, request.type), request,
            request.pass == op::pass::bwd ? "cudnnActivationBackward" : "cudnnActivationForward"),
        backward_(request.pass == op::pass::bwd),
        tensor_(tensor_descriptor_of(0)) {
    const function f = function_of(o.kind);
    if (backward_ && !f.gradient_from_destination) {
      throw unsupported("cuDNN needs source and destination for the gradient of this activation");
    }
    cuda::check(
        cudnnSetActivationDescriptor(descriptor_.get(), f.mode, CUDNN_PROPAGATE_NAN, f.parameter),
        "cudnnSetActivationDescriptor");
    if (f.mode == CUDNN_ACTIVATION_SWISH) {
      cuda::check(cudnnSetActivationDescriptorSwishBeta(descriptor_.get(), 1),
                  "cudnnSetActivationDescriptorSwishBeta");
    }
  }

  void run(const binding& bound) const {
    const auto tensor = tensor_.get();
    if (backward_) {  // dst also stands for src, which cuDNN does not read for these functions
      check(cudnnActivationBackward(library(), descriptor_.get(), &cudnn::one, tensor, bound[0],
                                    tensor, bound[1], tensor, bound[0], &cudnn::zero, tensor,
                                    bound[2]));
    } else {
      check(cudnnActivationForward(library(), descriptor_.get(), &cudnn::one, tensor, bound[0],
                                   &cudnn::zero, tensor, bound[1]));
    }
  }

 private:
  struct function {
    cudnnActivationMode_t mode;
    bool gradient_from_destination = false;
    double parameter = 0;
  };

  static function function_of(op::activation_kind kind) {
    switch (kind) {
      case op::activation_kind::relu: return {CUDNN_ACTIVATION_RELU, true};
      case op::activation_kind::relu6: return {CUDNN_ACTIVATION_CLIPPED_RELU, false, 6};
      case op::activation_kind::elu: return {CUDNN_ACTIVATION_ELU, false, 1};
      case op::activation_kind::sigmoid: return {CUDNN_ACTIVATION_SIGMOID, true};
      case op::activation_kind::tanh: return {CUDNN_ACTIVATION_TANH, true};
      case op::activation_kind::swish: return {CUDNN_ACTIVATION_SWISH};
      case op::activation_kind::leaky_relu:
      case op::activation_kind::gelu:
      case op::activation_kind::hardswish:
      case op::activation_kind::hardsigmoid: break;
    }
    throw unsupported("cuDNN has no function for this activation");
  }

  using handle = cuda::handle<cudnnActivationDescriptor_t, &cudnnDestroyActivationDescriptor>;

  bool backward_;
  cudnn::tensor_descriptor tensor_;
  handle descriptor_ = cuda::make_handle<handle>("cudnnCreateActivationDescriptor",
                                                 &cudnnCreateActivationDescriptor);
};

static_assert(implements<cudnn::backend, op::activation>);

}  // namespace layerbench
