// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <layerbench/backend/cudnn/legacy_api.hpp>
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
    if (has_kernel(o, request.pass)) {
      kernel_.emplace(
          kernel{device.kernels().find(request.type, backward_ ? "pool_max_gradient" : "pool_max"),
                 sizes_of(o, request.order)});
    } else {
      function_.emplace(function{tensor_descriptor_of(0), tensor_descriptor_of(1)});
      set_descriptor(o);
    }
  }

  void run(const binding& bound) const {
    if (kernel_) {
      const sizes& o = kernel_->sizes_of_op;
      const std::int64_t rows = backward_ ? o.h : o.p;
      const std::int64_t columns = backward_ ? o.w : o.q;
      const bool channels_last = o.channels_last != 0;
      const std::int64_t lanes = cuda::lanes_of(logical(0).type);
      kernel_->self.launch(
          stream(),
          channels_last
              ? cuda::grid_for(columns * (o.c % lanes == 0 ? o.c / lanes : o.c), o.n * rows)
              : cuda::grid_for(rows * columns, std::int64_t{o.n} * o.c),
          bound[0], bound[1], bound.operands.size() > 2 ? bound[2] : nullptr, o);
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

  static std::string_view function_of(const op::pool& o, op::pass pass) {
    const bool backward = pass == op::pass::bwd;
    if (!has_kernel(o, pass)) {
      return backward ? "cudnnPoolingBackward" : "cudnnPoolingForward";
    }
    return backward ? "nvrtc_pool_max_gradient" : "nvrtc_pool_max";
  }

  /// pool_sizes of the kernels.
  struct sizes {
    int n, c, h, w, p, q, r, s, stride_v, stride_h, top, left, channels_last;
  };
  static sizes sizes_of(const op::pool& o, layout order) {
    for (const std::int64_t item : {o.c * o.h * o.w, o.n * o.c, o.n * o.h}) {
      if (item > max_size) throw unsupported("images of more than 2^31 elements, lines or planes");
    }
    const auto size = [](std::int64_t value) { return static_cast<int>(value); };
    return {size(o.n),
            size(o.c),
            size(o.h),
            size(o.w),
            size(o.p()),
            size(o.q()),
            size(o.r),
            size(o.s),
            size(o.stride.v),
            size(o.stride.h),
            size(o.pad.top),
            size(o.pad.left),
            order == layout::nchw ? 0 : 1};
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
  struct kernel {
    cuda::kernel self;
    sizes sizes_of_op;
  };

  bool backward_;
  std::optional<function> function_;
  std::optional<kernel> kernel_;
};

static_assert(implements<cudnn::backend, op::pool>);

}  // namespace layerbench
