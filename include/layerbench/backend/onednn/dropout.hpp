// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/backend/typed_span.hpp>
#include <layerbench/op/dropout.hpp>

namespace layerbench {

/// Dropout by layerbench loops, because oneDNN has no primitive for it. Only for tensors of up to
/// two extents: random bits depend on the row-major index, and the loops do not know the memory
/// order of images.
template <>
class plan<onednn::backend, op::dropout> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& device, const op::dropout& o, const plan_request& request)
      : primitive_plan(device, o.operands(request.pass, request.type)), o_(o), request_(request) {
    with_number(request.type, [](auto /*tag*/) {});  // throws if there is no loop for the type
    if (o.dims.size() > 2) throw unsupported("no dropout of images; use dims of two extents");
    set_loop();
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
    const std::int64_t size = elements(o_.dims);
    const float factor = o_.factor();
#pragma omp parallel for simd
    for (std::int64_t i = 0; i < size; ++i) {
      const bool kept = o_.keeps(seed, i);
      dst[i] = static_cast<T>(static_cast<float>(src[i]) * (kept ? factor : 0.0F));
      mask[i] = kept ? 1 : 0;
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
};

static_assert(implements<onednn::backend, op::dropout>);

}  // namespace layerbench
