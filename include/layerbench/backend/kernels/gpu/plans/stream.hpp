// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <layerbench/backend/kernels/gpu/tensor_plan.hpp>
#include <layerbench/op/stream.hpp>

namespace layerbench::gpu {

/// Memory streams by layerbench kernels, with loads and stores of 16 bytes through the L2 cache. A
/// read of more than one warp first sets its sum to 0.
template <>
class own_plan<op::stream> : public call_plan {
 public:
  own_plan(const runtime& device, const op::stream& o, const plan_request& request)
      : call_plan(std::string("layerbench:") + kernel_of(o.kind), device,
                  o.operands(request.pass, request.type), request.layout),
        kind_(o.kind),
        size_(std::max(elements(logical(0).extents), elements(logical(1).extents))),
        grid_(grid_of(device, o.kind, size_)),
        adds_up_(o.kind == op::stream_kind::read && grid_.blocks * grid_.threads > 32),
        kernel_(device.find(dtype::f32, kernel_of(o.kind))) {
    if (adds_up_) {
      set_algorithm(std::string(device.fill_call()) + "+layerbench:" + kernel_of(o.kind));
    }
  }

  void run(const binding& bound) const {
    if (adds_up_) device().fill(bound[1], sizeof(float), std::byte{0});
    const auto bytes = static_cast<std::int64_t>(sizeof(float));
    kernel_.launch(grid_, bound[0], bound[1],
                   kind_ == op::stream_kind::copy ? bytes * size_ : size_);
  }

 private:
  [[nodiscard]] static const char* kernel_of(op::stream_kind kind) {
    switch (kind) {
      case op::stream_kind::read: return "stream_read";
      case op::stream_kind::write: return "stream_write";
      case op::stream_kind::copy: break;
    }
    return "copy";
  }

  /// Two blocks per multiprocessor keep enough reads in flight; more would only have more sums to
  /// add up.
  [[nodiscard]] static grid grid_of(const runtime& device, op::stream_kind kind,
                                    std::int64_t size) {
    grid result = grid_for_vectors(size, dtype::f32);
    if (kind == op::stream_kind::read) {
      result.blocks = std::min(result.blocks, 2 * static_cast<unsigned>(device.multiprocessors()));
    }
    return result;
  }

  op::stream_kind kind_;
  std::int64_t size_;  ///< numbers that are read or written
  grid grid_;
  bool adds_up_;  ///< a read of several sums
  kernel kernel_;
};

}  // namespace layerbench::gpu
