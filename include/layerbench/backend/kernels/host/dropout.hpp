// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <layerbench/backend/kernels/host/tensor_plan.hpp>
#include <layerbench/op/dropout.hpp>

namespace layerbench::host {

/// Dropout by layerbench loops, because libraries draw other random bits or have none. Which
/// elements are kept depends on their row-major index, in channels-last images too.
template <>
class own_plan<op::dropout> : public call_plan {
 public:
  own_plan(const op::dropout& o, const plan_request& request)
      : call_plan(
            request.pass == op::pass::bwd ? "layerbench:dropout_gradient" : "layerbench:dropout",
            o.operands(request.pass, request.type), request.layout),
        o_(o),
        request_(request) {
    require_number(request.type);
    if (o.dims.size() != 4 || request.layout == layout::nchw) return;
    channels_ = o.dims[1];
    pixels_ = o.dims[2] * o.dims[3];
  }

  void run(const binding& bound) const {
    with_number(request_.type, [&]<class T>(T /*tag*/) {
      if (request_.pass == op::pass::bwd) {
        compute_gradient<T>(bound);
      } else {
        drop<T>(bound);
      }
    });
  }

 private:
  template <class T>
  void drop(const binding& bound) const {
    const auto* src = at<T>(bound, 0);
    const float seed = *at<float>(bound, 1);
    auto* dst = at<T>(bound, 2);
    auto* mask = at<std::int8_t>(bound, 3);
    const float factor = o_.factor();
    const auto drop_element = [=, this](std::int64_t i, std::int64_t index) {
      const bool kept = o_.keeps(seed, index);
      dst[i] = static_cast<T>(static_cast<float>(src[i]) * (kept ? factor : 0.0F));
      mask[i] = kept ? 1 : 0;
    };
    const std::int64_t size = elements(o_.dims);
    const std::int64_t channels = channels_;
    const std::int64_t pixels = pixels_;
    if (channels == 1) {
#pragma omp parallel for simd
      for (std::int64_t i = 0; i < size; ++i) drop_element(i, i);
    } else {
#pragma omp parallel for
      for (std::int64_t row = 0; row < size / channels; ++row) {
        const std::int64_t first = row / pixels * pixels * channels + row % pixels;
        for (std::int64_t c = 0; c < channels; ++c) {
          drop_element(row * channels + c, first + c * pixels);
        }
      }
    }
    *at<float>(bound, 4) = seed + 1;
  }

  template <class T>
  void compute_gradient(const binding& bound) const {
    const auto* gradient = at<T>(bound, 0);
    const auto* mask = at<std::int8_t>(bound, 1);
    auto* result = at<T>(bound, 2);
    const std::int64_t size = elements(o_.dims);
    const float factor = o_.factor();
#pragma omp parallel for simd
    for (std::int64_t i = 0; i < size; ++i) {
      result[i] = static_cast<T>(static_cast<float>(gradient[i]) * (mask[i] != 0 ? factor : 0.0F));
    }
  }

  op::dropout o_;
  plan_request request_;
  std::int64_t channels_ = 1;  ///< of channels-last images; 1 for row-major tensors
  std::int64_t pixels_ = 1;
};

}  // namespace layerbench::host
