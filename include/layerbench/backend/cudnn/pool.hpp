// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/pool.hpp>

namespace layerbench {

/// Pooling. Maxima of training are kernels of the suite's own: the classic functions keep no
/// positions of maxima.
template <>
class plan<cudnn::backend, op::pool> : public cudnn::legacy_plan {
 public:
  plan(cudnn::backend& device, const op::pool& o, const plan_request& request)
      : legacy_plan(device, o.operands(request.pass, request.type), request,
                    function_of(o, request.pass)),
        backward_(request.pass == op::pass::bwd) {
    if (o.kind == op::pool_kind::max && request.pass != op::pass::fwd) {
      kernel_.emplace(
          kernel{device.kernels().find(request.type, backward_ ? "pool_max_gradient" : "pool_max"),
                 sizes_of(o, request.order)});
    } else {
      function_.emplace(described(0), described(1));
      describe(o);
    }
  }

  void run(const binding& bound) const {
    if (kernel_) {
      const sizes& o = kernel_->of;
      const std::int64_t rows = backward_ ? o.h : o.p;
      const std::int64_t columns = backward_ ? o.w : o.q;
      const bool last = o.channels_last != 0;
      kernel_->self.launch(
          stream(),
          last ? cuda::grid_for(columns * (o.c % 4 == 0 ? o.c / 4 : o.c), o.n * rows)
               : cuda::grid_for(rows * columns, std::int64_t{o.n} * o.c),
          bound[0], bound[1], bound[2], o);
    } else if (backward_) {  // of averages, which depend on neither source nor destination
      check(cudnnPoolingBackward(library(), function_->how.get(), &cudnn::one,
                                 function_->first.get(), bound[0], function_->first.get(), bound[0],
                                 function_->last.get(), bound[1], &cudnn::zero,
                                 function_->last.get(), bound[1]));
    } else {
      check(cudnnPoolingForward(library(), function_->how.get(), &cudnn::one,
                                function_->first.get(), bound[0], &cudnn::zero,
                                function_->last.get(), bound[1]));
    }
  }

 private:
  static std::string_view function_of(const op::pool& o, op::pass pass) {
    const bool backward = pass == op::pass::bwd;
    if (o.kind == op::pool_kind::average || pass == op::pass::fwd) {
      return backward ? "cudnnPoolingBackward" : "cudnnPoolingForward";
    }
    return backward ? "nvrtc_pool_max_gradient" : "nvrtc_pool_max";
  }

  /// What the kernels take beside the tensors.
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

  void describe(const op::pool& o) const {
    if (!is_plain(o)) throw unsupported("cuDNN pads alike on both sides, and rounds sizes down");
    const auto mode = o.kind == op::pool_kind::max ? CUDNN_POOLING_MAX
                      : o.count_padding            ? CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING
                                                   : CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING;
    const auto size = [](std::int64_t value) { return static_cast<int>(value); };
    cuda::check(cudnnSetPooling2dDescriptor(function_->how.get(), mode, CUDNN_PROPAGATE_NAN,
                                            size(o.r), size(o.s), size(o.pad.top), size(o.pad.left),
                                            size(o.stride.v), size(o.stride.h)),
                "cudnnSetPooling2dDescriptor");
  }
  static bool is_plain(const op::pool& o) {
    return o.pad.top == o.pad.bottom && o.pad.left == o.pad.right &&
           o.p() == op::window_outputs(o.h, 2 * o.pad.top, o.r, o.stride.v) &&
           o.q() == op::window_outputs(o.w, 2 * o.pad.left, o.s, o.stride.h);
  }

  using handle = cuda::handle<cudnnPoolingDescriptor_t, &cudnnDestroyPoolingDescriptor>;
  struct function {
    cudnn::tensor_descriptor first;
    cudnn::tensor_descriptor last;
    handle how =
        cuda::make_handle<handle>("cudnnCreatePoolingDescriptor", &cudnnCreatePoolingDescriptor);
    function(cudnn::tensor_descriptor of, cudnn::tensor_descriptor result)
        : first(std::move(of)), last(std::move(result)) {}
  };
  struct kernel {
    cuda::kernel self;
    sizes of;
  };

  bool backward_;
  std::optional<function> function_;
  std::optional<kernel> kernel_;
};

static_assert(implements<cudnn::backend, op::pool>);

}  // namespace layerbench
