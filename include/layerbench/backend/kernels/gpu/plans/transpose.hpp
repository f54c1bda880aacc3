// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <layerbench/backend/kernels/gpu/tensor_plan.hpp>
#include <layerbench/op/transpose.hpp>

namespace layerbench::gpu {

/// A copy of all elements to other places, by a layerbench kernel. It moves up to 16 bytes at once:
/// several elements that follow each other in both tensors, or tiles of several rows and columns.
class copy_plan : public call_plan {
 public:
  void run(const binding& bound) const {
    kernel_.launch(grid_, bound[0], bound[1], size_, loops_, width_);
  }

 protected:
  /// `layouts`: that of the request, or the orders of both operands.
  template <class Layouts>
  copy_plan(const runtime& device, std::vector<op::operand> logical, const Layouts& layouts,
            dtype type)
      : call_plan("layerbench:transpose", device, std::move(logical), layouts),
        lanes_(static_cast<int>(lanes_of(type))),
        kernel_(device.find(type, "transpose")) {}

  /// Sets the loops, which are in the order of the destination, slowest first.
  void set_loops(std::vector<op::transpose::loop> loops) {
    if (loops.size() > loops_.size()) throw unsupported("transposes have at most 6 loops");
    // The kernel wants the loop along which the source is contiguous last, or just before the last.
    const auto read = std::ranges::find(loops, 1, &op::transpose::loop::src_step);
    if (read < loops.end() - 1) std::rotate(read, read + 1, loops.end() - 1);
    std::ranges::copy(loops, loops_.end() - static_cast<std::ptrdiff_t>(loops.size()));
    for (const op::transpose::loop& loop : loops) size_ *= loop.extent;
    width_ = fits(lanes_) ? lanes_ : fits(lanes_ / 2) ? lanes_ / 2 : 1;
    const bool in_tiles = loops_.back().src_step != 1;
    grid_ = grid_for(size_ / (in_tiles ? width_ * width_ : width_));
  }

 private:
  /// Whether all runs of `width` elements begin at multiples of it, in both tensors.
  [[nodiscard]] bool fits(std::int64_t width) const {
    return std::ranges::all_of(loops_, [&](const op::transpose::loop& loop) {
      const auto fits_step = [&](std::int64_t step) {
        return (step == 1 ? loop.extent : step) % width == 0;
      };
      return fits_step(loop.src_step) && fits_step(loop.dst_step);
    });
  }

  int lanes_;
  kernel kernel_;
  std::int64_t size_ = 1;
  int width_ = 1;
  grid grid_{};
  std::array<op::transpose::loop, 6> loops_{
      {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}, {1, 0, 0}, {1, 0, 0}, {1, 0, 0}}};
};

template <>
class own_plan<op::transpose> : public copy_plan {
 public:
  own_plan(const runtime& device, const op::transpose& o, const plan_request& request)
      : copy_plan(device, o.operands(request.pass, request.type), request.layout, request.type) {
    const op::transpose moved = request.pass == op::pass::bwd ? o.inverse() : o;
    set_loops(moved.loops(strides_of(0), strides_of(1)));
  }
};

}  // namespace layerbench::gpu
