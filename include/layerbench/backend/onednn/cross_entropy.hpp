// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <layerbench/backend/number_types.hpp>
#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/cross_entropy.hpp>

namespace layerbench {

/// oneDNN's softmax, and layerbench loops for the loss and its gradient.
template <>
class plan<onednn::backend, op::cross_entropy> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& device, const op::cross_entropy& o, const plan_request& request)
      : primitive_plan(device, o.operands(request.pass, request.type)),
        o_(o),
        pass_(request.pass),
        type_(request.type) {
    using namespace dnnl;
    require_number(type_);
    if (pass_ == op::pass::bwd) {
      set_loop();
      return;
    }
    const memory::desc values = onednn::plain({o.n, o.c}, onednn::data_type(type_));
    const memory::desc target = onednn::plain({o.n}, memory::data_type::f32);
    onednn::checked("softmax", [&] {
      const softmax_forward::primitive_desc result(device.engine(), prop_kind::forward_training,
                                                   algorithm::softmax_accurate, values, values, 1,
                                                   attributes());
      set_primitive(result, {DNNL_ARG_SRC, not_an_argument, DNNL_ARG_DST, not_an_argument},
                    {values, target, values, onednn::plain({1}, onednn::data_type(type_))});
    });
  }

  void run(const binding& bound) const {
    if (pass_ != op::pass::bwd) primitive_plan::run(bound);
    with_number(type_, [&]<class T>(T /*tag*/) {
      if (pass_ == op::pass::bwd) {
        compute_gradient<T>(bound);
      } else {
        add_loss<T>(bound);
      }
    });
  }

 private:
  template <class T>
  void add_loss(const binding& bound) const {
    const auto* target = at<float>(bound, 1);
    const auto* probabilities = at<T>(bound, 2);
    float sum = 0;
    for (std::int64_t n = 0; n < o_.n; ++n) {
      const std::int64_t label = o_.label_of(target[n]);
      const auto probability = static_cast<float>(probabilities[n * o_.c + label]);
      sum -= std::log(std::max(probability, op::cross_entropy::min_probability));
    }
    *at<T>(bound, 3) = static_cast<T>(sum / static_cast<float>(o_.n));
  }

  template <class T>
  void compute_gradient(const binding& bound) const {
    const auto* probabilities = at<T>(bound, 0);
    const auto* target = at<float>(bound, 1);
    auto* gradient = at<T>(bound, 2);
    const float scale = 1 / static_cast<float>(o_.n);
#pragma omp parallel for
    for (std::int64_t n = 0; n < o_.n; ++n) {
      const std::int64_t first = n * o_.c;
#pragma omp simd
      for (std::int64_t i = first; i < first + o_.c; ++i) {
        gradient[i] = static_cast<T>(static_cast<float>(probabilities[i]) * scale);
      }
      const std::int64_t label = first + o_.label_of(target[n]);
      gradient[label] = static_cast<T>((static_cast<float>(probabilities[label]) - 1) * scale);
    }
  }

  op::cross_entropy o_;
  op::pass pass_;
  dtype type_;
};

static_assert(implements<onednn::backend, op::cross_entropy>);

}  // namespace layerbench
