// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/cudnn/classic.hpp>
#include <layerbench/op/pool.hpp>

namespace layerbench {

/// Pooling; maxima for inference alone: the classic functions keep no positions of maxima.
template <>
class plan<cudnn::backend, op::pool> : public cudnn::classic_plan {
 public:
  plan(const cudnn::backend& here, const op::pool& o, const plan_request& request)
      : classic_plan(
            here, o.operands(request.pass, request.type), request,
            request.pass == op::pass::bwd ? "cudnnPoolingBackward" : "cudnnPoolingForward"),
        backward_(request.pass == op::pass::bwd),
        first_(described(0)),
        last_(described(operands().size() - 1)) {
    if (o.kind == op::pool_kind::max && request.pass != op::pass::fwd) {
      throw unsupported("cuDNN's classic functions keep no positions of maxima");
    }
    if (!is_plain(o)) throw unsupported("cuDNN pads alike on both sides, and rounds sizes down");
    const auto mode = o.kind == op::pool_kind::max ? CUDNN_POOLING_MAX
                      : o.count_padding            ? CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING
                                                   : CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING;
    const auto size = [](std::int64_t value) { return static_cast<int>(value); };
    cuda::check(cudnnSetPooling2dDescriptor(how_.get(), mode, CUDNN_PROPAGATE_NAN, size(o.r),
                                            size(o.s), size(o.pad.top), size(o.pad.left),
                                            size(o.stride.v), size(o.stride.h)),
                "cudnnSetPooling2dDescriptor");
  }

  void run(const binding& bound) const {
    if (backward_) {  // of averages, which depend on neither source nor destination
      check(cudnnPoolingBackward(library(), how_.get(), &cudnn::one, first_.get(), bound[0],
                                 first_.get(), bound[0], last_.get(), bound[1], &cudnn::zero,
                                 last_.get(), bound[1]));
    } else {
      check(cudnnPoolingForward(library(), how_.get(), &cudnn::one, first_.get(), bound[0],
                                &cudnn::zero, last_.get(), bound[1]));
    }
  }

 private:
  static bool is_plain(const op::pool& o) {
    return o.pad.top == o.pad.bottom && o.pad.left == o.pad.right &&
           o.p() == op::window_outputs(o.h, 2 * o.pad.top, o.r, o.stride.v) &&
           o.q() == op::window_outputs(o.w, 2 * o.pad.left, o.s, o.stride.h);
  }

  using handle = cuda::handle<cudnnPoolingDescriptor_t, &cudnnDestroyPoolingDescriptor>;

  bool backward_;
  cudnn::tensor_descriptor first_;
  cudnn::tensor_descriptor last_;
  handle how_ =
      cuda::make_handle<handle>("cudnnCreatePoolingDescriptor", &cudnnCreatePoolingDescriptor);
};

static_assert(implements<cudnn::backend, op::pool>);

}  // namespace layerbench
