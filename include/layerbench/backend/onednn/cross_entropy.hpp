// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/kernels/host/cross_entropy.hpp>
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
      set_loop(row_major(), host::cross_entropy_gradient_name);
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
      add_to_algorithm(host::cross_entropy_loss_name);
    });
  }

  void run(const binding& bound) const {
    if (pass_ != op::pass::bwd) primitive_plan::run(bound);
    with_number(type_, [&]<class T>(T /*tag*/) {
      if (pass_ == op::pass::bwd) {
        host::cross_entropy_gradient(o_, at<const T>(bound, 0), at<const float>(bound, 1),
                                     at<T>(bound, 2));
      } else {
        *at<T>(bound, 3) =
            host::cross_entropy_loss(o_, at<const T>(bound, 2), at<const float>(bound, 1));
      }
    });
  }

 private:
  op::cross_entropy o_;
  op::pass pass_;
  dtype type_;
};

static_assert(implements<onednn::backend, op::cross_entropy>);

}  // namespace layerbench
