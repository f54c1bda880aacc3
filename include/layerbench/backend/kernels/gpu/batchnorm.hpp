// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <layerbench/backend/kernels/gpu/runtime.hpp>
#include <layerbench/op/batchnorm.hpp>

namespace layerbench::gpu {

/// Launches the kernel of batch normalisation in inference.
class batchnorm {
 public:
  static constexpr const char* algorithm = "layerbench:batchnorm";

  batchnorm(const runtime& device, const op::batchnorm& o, dtype type, bool channels_last)
      : size_(o.n * o.c * o.h * o.w),
        channels_(o.c),
        pixels_(channels_last ? 1 : o.h * o.w),
        epsilon_(static_cast<float>(o.epsilon)),
        type_(type),
        kernel_(device.find(type, "batchnorm")) {}

  /// `scale` and `shift` are nullptr where they are not learned.
  void run(address src, address scale, address shift, address mean, address variance,
           address dst) const {
    kernel_.launch(grid_for_vectors(size_, type_), src, dst, size_, channels_, pixels_,
                   channel_values{scale, shift, mean, variance, epsilon_});
  }

 private:
  /// channel_values of the kernel.
  struct channel_values {
    address scale, shift, mean, variance;
    float epsilon;
  };

  std::int64_t size_, channels_, pixels_;
  float epsilon_;
  dtype type_;
  kernel kernel_;
};

}  // namespace layerbench::gpu
