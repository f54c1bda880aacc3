// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <layerbench/backend/kernels/gpu/runtime.hpp>
#include <layerbench/op/pool.hpp>

namespace layerbench::gpu {

/// Launches the kernels of max pooling with any padding, which in training stores argmax indices,
/// and its gradient.
class max_pool {
 public:
  max_pool(const runtime& device, const op::pool& o, const plan_request& request)
      : backward_(request.pass == op::pass::bwd),
        type_(request.type),
        sizes_(sizes_of(o, request.layout)),
        kernel_(device.find(request.type, backward_ ? "pool_max_gradient" : "pool_max")) {}

  [[nodiscard]] static const char* algorithm(op::pass pass) {
    return pass == op::pass::bwd ? "layerbench:pool_max_gradient" : "layerbench:pool_max";
  }

  /// The operands are the op's; `last` is nullptr in inference, which has two.
  void run(address first, address second, address last) const {
    const std::int64_t rows = backward_ ? sizes_.h : sizes_.p;
    const std::int64_t columns = backward_ ? sizes_.w : sizes_.q;
    const std::int64_t lanes = lanes_of(type_);
    const std::int64_t c = sizes_.c;
    kernel_.launch(sizes_.channels_last != 0
                       ? grid_for(columns * (c % lanes == 0 ? c / lanes : c), sizes_.n * rows)
                       : grid_for(rows * columns, sizes_.n * c),
                   first, second, last, sizes_);
  }

 private:
  /// pool_sizes of the kernels.
  struct sizes {
    int n, c, h, w, p, q, r, s, stride_v, stride_h, top, left, channels_last;
  };
  static sizes sizes_of(const op::pool& o, layout image_layout) {
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
            image_layout == layout::nchw ? 0 : 1};
  }

  bool backward_;
  dtype type_;
  sizes sizes_;
  kernel kernel_;
};

}  // namespace layerbench::gpu
