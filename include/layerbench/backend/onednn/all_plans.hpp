// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/kernels/host/dropout.hpp>
#include <layerbench/backend/kernels/host/embedding.hpp>
#include <layerbench/backend/kernels/host/groupnorm.hpp>
#include <layerbench/backend/kernels/host/pad.hpp>
#include <layerbench/backend/kernels/host/stream.hpp>
#include <layerbench/backend/kernels/host/topk.hpp>
#include <layerbench/backend/kernels/host/update.hpp>
#include <layerbench/backend/onednn/activation.hpp>
#include <layerbench/backend/onednn/add.hpp>
#include <layerbench/backend/onednn/append.hpp>
#include <layerbench/backend/onednn/attention.hpp>
#include <layerbench/backend/onednn/batchnorm.hpp>
#include <layerbench/backend/onednn/concat.hpp>
#include <layerbench/backend/onednn/conv.hpp>
#include <layerbench/backend/onednn/cross_entropy.hpp>
#include <layerbench/backend/onednn/deconv.hpp>
#include <layerbench/backend/onednn/gemm.hpp>
#include <layerbench/backend/onednn/layernorm.hpp>
#include <layerbench/backend/onednn/lrn.hpp>
#include <layerbench/backend/onednn/multiply.hpp>
#include <layerbench/backend/onednn/pool.hpp>
#include <layerbench/backend/onednn/quantize.hpp>
#include <layerbench/backend/onednn/reorder.hpp>
#include <layerbench/backend/onednn/resample.hpp>
#include <layerbench/backend/onednn/rnn.hpp>
#include <layerbench/backend/onednn/rotary.hpp>
#include <layerbench/backend/onednn/routed_gemm.hpp>
#include <layerbench/backend/onednn/slice.hpp>
#include <layerbench/backend/onednn/softmax.hpp>
#include <layerbench/backend/onednn/transpose.hpp>
#include <layerbench/backend/op_set.hpp>

namespace layerbench {

namespace onednn {
/// Ops by layerbench's loops alone: oneDNN lacks them, before version 3.3 also groupnorm.
using own_ops =
    op_set<op::dropout, op::embedding, op::groupnorm, op::pad, op::stream, op::topk, op::update>;
}  // namespace onednn

/// The plan of such an op. Throws unsupported for types that oneDNN lacks on this CPU.
template <class Op>
  requires(onednn::own_ops::has<Op>)
class plan<onednn::backend, Op> : public host::own_plan<Op> {
 public:
  plan(const onednn::backend& /*device*/, const Op& o, const plan_request& request)
      : host::own_plan<Op>(o, request) {
    for (const plan_operand& operand : this->operands()) {
      static_cast<void>(onednn::data_type(operand.logical.type));
    }
  }
};

static_assert(onednn::own_ops::implemented_by<onednn::backend>);

}  // namespace layerbench
