// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/lrn.hpp>

namespace layerbench {

/// Local response normalisation, which keeps nothing but its result for the gradient.
template <>
class plan<cudnn::backend, op::lrn> : public cudnn::direct_plan {
 public:
  plan(const cudnn::backend& device, const op::lrn& o, const plan_request& request)
      : direct_plan(device, o.operands(request.pass, request.type), request,
                    request.pass == op::pass::bwd ? "cudnnLRNCrossChannelBackward"
                                                  : "cudnnLRNCrossChannelForward"),
        backward_(request.pass == op::pass::bwd),
        image_(tensor_descriptor_of(0)) {
    if (o.size > CUDNN_LRN_MAX_N) throw unsupported("cuDNN sums up at most 16 channels");
    if (o.k < CUDNN_LRN_MIN_K || o.beta < CUDNN_LRN_MIN_BETA) {
      throw unsupported("cuDNN wants k of 1e-5 and more, and beta of 0.01 and more");
    }
    cuda::check(
        cudnnSetLRNDescriptor(lrn_.get(), static_cast<unsigned>(o.size), o.alpha, o.beta, o.k),
        "cudnnSetLRNDescriptor");
  }

  /// cuDNN approximates the power: errors of up to 1.6 times the bound of sums alone were seen on
  /// an H100.
  [[nodiscard]] reference::sum as_stored(std::size_t /*operand*/,
                                         reference::sum exact) const override {
    exact.magnitude *= 2;
    return exact;
  }

  void run(const binding& bound) const {
    const auto image = image_.get();
    if (backward_) {
      check(cudnnLRNCrossChannelBackward(library(), lrn_.get(), mode, &cudnn::one, image, bound[1],
                                         image, bound[2], image, bound[0], &cudnn::zero, image,
                                         bound[4]));
    } else {
      check(cudnnLRNCrossChannelForward(library(), lrn_.get(), mode, &cudnn::one, image, bound[0],
                                        &cudnn::zero, image, bound[1]));
    }
  }

 private:
  static constexpr cudnnLRNMode_t mode = CUDNN_LRN_CROSS_CHANNEL_DIM1;

  using handle = cuda::handle<cudnnLRNDescriptor_t, &cudnnDestroyLRNDescriptor>;

  bool backward_;
  cudnn::tensor_descriptor image_;
  handle lrn_ = cuda::make_handle<handle>("cudnnCreateLRNDescriptor", &cudnnCreateLRNDescriptor);
};

static_assert(implements<cudnn::backend, op::lrn>);

}  // namespace layerbench
