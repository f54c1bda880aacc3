// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <layerbench/backend/cublas/backend.hpp>
#include <layerbench/backend/cuda/tensor_plan.hpp>
#include <layerbench/op/stream.hpp>

namespace layerbench {

/// Memory streams by layerbench kernels, with loads and stores of 16 bytes through the L2 cache. A
/// read of more than one warp first sets its sum to 0.
template <>
class plan<cublas::backend, op::stream> : public cuda::tensor_plan {
 public:
  plan(cublas::backend& device, const op::stream& o, const plan_request& request)
      : tensor_plan(device, o.operands(request.pass, request.type), request.order),
        kind_(o.kind),
        size_(std::max(elements(logical(0).extents), elements(logical(1).extents))),
        grid_(grid_of(device, o.kind, size_)),
        kernel_(device.kernels().find(dtype::f32, kernel_of(o.kind))) {}

  [[nodiscard]] std::string algorithm() const override {
    return (adds_up() ? "cudaMemsetAsync+nvrtc_" : "nvrtc_") + std::string(kernel_of(kind_));
  }

  using binding = std::vector<address>;
  [[nodiscard]] static binding bind(std::span<const address> addresses, address /*workspace*/) {
    return {addresses.begin(), addresses.end()};
  }
  static void place(binding& bound, std::span<const address> addresses) {
    bound.assign(addresses.begin(), addresses.end());
  }

  void run(const binding& bound) const {
    if (adds_up()) {
      cuda::check(cudaMemsetAsync(bound[1], 0, sizeof(float), stream()), "cudaMemsetAsync");
    }
    const auto bytes = static_cast<std::int64_t>(sizeof(float));
    kernel_.launch(stream(), grid_, bound[0], bound[1],
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
  [[nodiscard]] static cuda::grid grid_of(const cublas::backend& device, op::stream_kind kind,
                                          std::int64_t size) {
    cuda::grid result = cuda::grid_for_vectors(size, dtype::f32);
    if (kind == op::stream_kind::read) {
      const auto most =
          2 * static_cast<unsigned>(cuda::properties_of(device.device()).multiprocessors);
      result.blocks.x = std::min(result.blocks.x, most);
    }
    return result;
  }
  [[nodiscard]] bool adds_up() const {
    return kind_ == op::stream_kind::read && grid_.blocks.x * grid_.threads > 32;
  }

  op::stream_kind kind_;
  std::int64_t size_;  ///< numbers that are read or written
  cuda::grid grid_;
  cuda::kernel kernel_;
};

static_assert(implements<cublas::backend, op::stream>);

}  // namespace layerbench
