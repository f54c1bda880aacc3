// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/backend/kernels/gpu/max_pool.hpp>
#include <layerbench/op/pool.hpp>

namespace layerbench {

/// Pooling by cuDNN. Max pooling in training is a layerbench kernel, because the legacy API does
/// not store argmax indices; so is max pooling with padding that cuDNN lacks.
template <>
class plan<cudnn::backend, op::pool> : public cudnn::direct_plan {
 public:
  plan(cudnn::backend& device, const op::pool& o, const plan_request& request)
      : direct_plan(device, o.operands(request.pass, request.type), request,
                    function_of(o, request.pass)),
        backward_(request.pass == op::pass::bwd) {
    if (o.has_depth()) throw unsupported("layerbench has no cuDNN plans for volumes");
    if (has_kernel(o, request.pass)) {
      kernel_.emplace(device, o, request);
    } else {
      function_.emplace(function{tensor_descriptor_of(0), tensor_descriptor_of(1)});
      set_descriptor(o);
    }
  }

  void run(const binding& bound) const {
    if (kernel_) {
      kernel_->run(bound[0], bound[1], bound.operands.size() > 2 ? bound[2] : nullptr);
    } else if (backward_) {  // of averages, whose gradient does not read src or dst
      check(cudnnPoolingBackward(library(), function_->pooling.get(), &cudnn::one,
                                 function_->input.get(), bound[0], function_->input.get(), bound[0],
                                 function_->output.get(), bound[1], &cudnn::zero,
                                 function_->output.get(), bound[1]));
    } else {
      check(cudnnPoolingForward(library(), function_->pooling.get(), &cudnn::one,
                                function_->input.get(), bound[0], &cudnn::zero,
                                function_->output.get(), bound[1]));
    }
  }

 private:
  static bool has_kernel(const op::pool& o, op::pass pass) {
    return o.kind == op::pool_kind::max && (pass != op::pass::fwd || !has_cudnn_sizes(o));
  }

  static std::string function_of(const op::pool& o, op::pass pass) {
    const bool backward = pass == op::pass::bwd;
    if (!has_kernel(o, pass)) {
      return backward ? "cudnnPoolingBackward" : "cudnnPoolingForward";
    }
    return gpu::max_pool::algorithm(pass);
  }

  void set_descriptor(const op::pool& o) const {
    if (!has_cudnn_sizes(o)) throw unsupported("cuDNN needs equal padding and floor rounding");
    const auto mode = o.kind == op::pool_kind::max ? CUDNN_POOLING_MAX
                      : o.count_padding            ? CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING
                                                   : CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING;
    const auto size = [](std::int64_t value) { return static_cast<int>(value); };
    cuda::check(cudnnSetPooling2dDescriptor(function_->pooling.get(), mode, CUDNN_PROPAGATE_NAN,
                                            size(o.r), size(o.s), size(o.pad.top), size(o.pad.left),
                                            size(o.stride.v), size(o.stride.h)),
                "cudnnSetPooling2dDescriptor");
  }
  /// Whether both sides have equal padding and output sizes are rounded down.
  static bool has_cudnn_sizes(const op::pool& o) {
    return o.pad.top == o.pad.bottom && o.pad.left == o.pad.right &&
           o.p() == op::window_outputs(o.h, 2 * o.pad.top, o.r, o.stride.v) &&
           o.q() == op::window_outputs(o.w, 2 * o.pad.left, o.s, o.stride.h);
  }

  using handle = cuda::handle<cudnnPoolingDescriptor_t, &cudnnDestroyPoolingDescriptor>;
  struct function {
    cudnn::tensor_descriptor input;
    cudnn::tensor_descriptor output;
    handle pooling =
        cuda::make_handle<handle>("cudnnCreatePoolingDescriptor", &cudnnCreatePoolingDescriptor);
  };

  bool backward_;
  std::optional<function> function_;
  std::optional<gpu::max_pool> kernel_;
};

static_assert(implements<cudnn::backend, op::pool>);

}  // namespace layerbench
