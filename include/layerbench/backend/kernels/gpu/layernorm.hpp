// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <layerbench/backend/kernels/gpu/runtime.hpp>
#include <layerbench/op/layernorm.hpp>

namespace layerbench::gpu {

/// Launches the kernels that normalize rows, which are row-major in every layout. In training it
/// stores the inverse standard deviation in place of the variance (normalization.hpp).
class layernorm {
 public:
  static constexpr const char* algorithm = "layerbench:layernorm";

  layernorm(const runtime& device, const op::layernorm& o, const plan_request& request)
      : o_(o),
        training_(request.pass == op::pass::fwd_training),
        kernel_(device.find(request.type, "layernorm")) {}

  /// `operands` are the op's.
  void run(std::span<const address> operands) const {
    std::size_t next = 0;
    const auto following = [&](bool exists) { return exists ? operands[next++] : nullptr; };
    address src = following(true);
    address scale = following(o_.scale);
    address bias = following(o_.has_bias());
    address dst = following(true);
    address mean = following(training_ && o_.has_mean());
    address variance = following(training_);
    const std::int64_t rows = elements(o_.rows());
    constexpr std::int64_t warp = 32;  // threads of a row
    kernel_.launch(grid_for(rows * warp), src, dst, rows, o_.columns(),
                   row_values{scale, bias, mean, variance, static_cast<float>(o_.epsilon),
                              o_.has_mean() ? 1 : 0});
  }

 private:
  /// As the kernel has them.
  struct row_values {
    address scale, bias, mean, inverse_deviation;
    float epsilon;
    int centred;
  };

  op::layernorm o_;
  bool training_;  ///< whether statistics are stored
  kernel kernel_;
};

}  // namespace layerbench::gpu
