// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/cublas/gemm.hpp>
#include <layerbench/backend/cudnn/attention.hpp>
#include <layerbench/backend/cudnn/batchnorm.hpp>
#include <layerbench/backend/cudnn/conv.hpp>
#include <layerbench/backend/cudnn/cross_entropy.hpp>
#include <layerbench/backend/cudnn/deconv.hpp>
#include <layerbench/backend/cudnn/layernorm.hpp>
#include <layerbench/backend/cudnn/lrn.hpp>
#include <layerbench/backend/cudnn/pool.hpp>
#include <layerbench/backend/cudnn/softmax.hpp>
#include <layerbench/backend/kernels/gpu/plans/activation.hpp>
#include <layerbench/backend/kernels/gpu/plans/add.hpp>
#include <layerbench/backend/kernels/gpu/plans/append.hpp>
#include <layerbench/backend/kernels/gpu/plans/concat.hpp>
#include <layerbench/backend/kernels/gpu/plans/dropout.hpp>
#include <layerbench/backend/kernels/gpu/plans/embedding.hpp>
#include <layerbench/backend/kernels/gpu/plans/multiply.hpp>
#include <layerbench/backend/kernels/gpu/plans/pad.hpp>
#include <layerbench/backend/kernels/gpu/plans/reorder.hpp>
#include <layerbench/backend/kernels/gpu/plans/rotary.hpp>
#include <layerbench/backend/kernels/gpu/plans/slice.hpp>
#include <layerbench/backend/kernels/gpu/plans/stream.hpp>
#include <layerbench/backend/kernels/gpu/plans/transpose.hpp>
#include <layerbench/backend/kernels/gpu/plans/update.hpp>
#include <layerbench/backend/op_set.hpp>

namespace layerbench {

namespace cudnn {
/// Ops by layerbench kernels alone: cuDNN lacks them, or its functions are slower than a copy by
/// more than the bytes that they touch.
using own_ops = op_set<op::activation, op::add, op::append, op::concat, op::dropout, op::embedding,
                       op::multiply, op::pad, op::reorder, op::rotary, op::slice, op::stream,
                       op::transpose, op::update>;
}  // namespace cudnn

template <class Op>
  requires(cudnn::own_ops::has<Op>)
class plan<cudnn::backend, Op> : public gpu::own_plan<Op> {
  using gpu::own_plan<Op>::own_plan;
};

static_assert(cudnn::own_ops::implemented_by<cudnn::backend>);

/// Matrix product by cuBLASLt.
template <>
class plan<cudnn::backend, op::gemm> : public plan<cublas::backend, op::gemm> {
  using plan<cublas::backend, op::gemm>::plan;
};

static_assert(implements<cudnn::backend, op::gemm>);

}  // namespace layerbench
