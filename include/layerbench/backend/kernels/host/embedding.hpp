// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <layerbench/backend/kernels/host/tensor_plan.hpp>
#include <layerbench/op/embedding.hpp>

namespace layerbench::host {

/// Loops of layerbench: libraries have no gather. Gradients of a row are summed in f32 and
/// rounded once. Each thread has some of the columns, so that no two write to the same element.
template <>
class own_plan<op::embedding> : public call_plan {
 public:
  own_plan(const op::embedding& o, const plan_request& request)
      : call_plan(request.pass == op::pass::fwd ? "layerbench:embedding"
                                                : "layerbench:embedding_gradient",
                  o.operands(request.pass, request.type), request.layout),
        o_(o),
        request_(request) {
    require_number(request.type);
    sums_in_workspace_ = request.pass == op::pass::bwd_weights && request.type != dtype::f32;
  }

  [[nodiscard]] std::size_t workspace_bytes() const override {
    const std::int64_t sums = sums_in_workspace_ ? o_.rows * o_.columns : 0;
    return static_cast<std::size_t>(sums) * sizeof(float);
  }

  void run(const binding& bound) const {
    with_number(request_.type, [&]<class T>(T /*tag*/) {
      if (request_.pass == op::pass::fwd) {
        gather<T>(bound);
      } else if (sums_in_workspace_) {
        auto* sums = static_cast<float*>(bound.workspace);
        scatter(bound, sums, at<T>(bound, 1));
        round(sums, at<T>(bound, 2));
      } else {
        scatter(bound, at<float>(bound, 2), at<T>(bound, 1));
      }
    });
  }

 private:
  template <class T>
  void gather(const binding& bound) const {
    const auto* indices = at<float>(bound, 0);
    const T* weights = at<T>(bound, 1);
    T* dst = at<T>(bound, 2);
#pragma omp parallel for
    for (std::int64_t i = 0; i < o_.n; ++i) {
      std::copy_n(weights + o_.row(indices[i]) * o_.columns, o_.columns, dst + i * o_.columns);
    }
  }

  template <class T>
  void scatter(const binding& bound, float* sums, const T* diff_dst) const {
    constexpr std::int64_t line = 16;  // elements of the sums
    const auto* indices = at<float>(bound, 0);
#pragma omp parallel for
    for (std::int64_t i = 0; i < o_.rows * o_.columns; ++i) sums[i] = 0;
#pragma omp parallel for
    for (std::int64_t first = 0; first < o_.columns; first += line) {
      const std::int64_t count = std::min(line, o_.columns - first);
      for (std::int64_t i = 0; i < o_.n; ++i) {
        float* to = sums + o_.row(indices[i]) * o_.columns + first;
        const T* from = diff_dst + i * o_.columns + first;
        for (std::int64_t j = 0; j < count; ++j) to[j] += static_cast<float>(from[j]);
      }
    }
  }

  template <class T>
  void round(const float* sums, T* result) const {
#pragma omp parallel for simd
    for (std::int64_t i = 0; i < o_.rows * o_.columns; ++i) result[i] = static_cast<T>(sums[i]);
  }

  op::embedding o_;
  plan_request request_;
  bool sums_in_workspace_ = false;
};

}  // namespace layerbench::host
