// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <layerbench/backend/kernels/host/tensor_plan.hpp>
#include <layerbench/op/topk.hpp>

namespace layerbench::host {

/// A loop of layerbench, because libraries have none. It keeps the largest values so far in order:
/// most values of a row are compared with the least of them alone.
template <>
class own_plan<op::topk> : public call_plan {
 public:
  own_plan(const op::topk& o, const plan_request& request)
      : call_plan("layerbench:topk", o.operands(request.pass, request.type), request.layout),
        o_(o),
        type_(request.type) {
    require_number(type_);
  }

  void run(const binding& bound) const {
    with_number(type_, [&]<class T>(T /*tag*/) {
      const T* src = at<T>(bound, 0);
      T* dst = at<T>(bound, 1);
      auto* indices = at<float>(bound, 2);
#pragma omp parallel for
      for (std::int64_t row = 0; row < o_.n; ++row) {
        choose(src + row * o_.c, dst + row * o_.k, indices + row * o_.k);
      }
    });
  }

 private:
  template <class T>
  void choose(const T* src, T* dst, float* indices) const {
    std::int64_t chosen = 0;
    for (std::int64_t c = 0; c < o_.c; ++c) {
      const auto value = static_cast<float>(src[c]);
      std::int64_t at = chosen < o_.k ? chosen++ : o_.k;
      for (; at > 0 && value > static_cast<float>(dst[at - 1]); --at) {
        if (at == o_.k) continue;
        dst[at] = dst[at - 1];
        indices[at] = indices[at - 1];
      }
      if (at == o_.k) continue;
      dst[at] = src[c];
      indices[at] = static_cast<float>(c);
    }
    if (!o_.normalized) return;
    float sum = 0;
    for (std::int64_t i = 0; i < o_.k; ++i) sum += static_cast<float>(dst[i]);
    for (std::int64_t i = 0; i < o_.k; ++i) {
      dst[i] = static_cast<T>(static_cast<float>(dst[i]) / sum);
    }
  }

  op::topk o_;
  dtype type_;
};

}  // namespace layerbench::host
