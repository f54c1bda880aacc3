// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/op/activation.hpp>
#include <layerbench/op/add.hpp>
#include <layerbench/op/allreduce.hpp>
#include <layerbench/op/append.hpp>
#include <layerbench/op/attention.hpp>
#include <layerbench/op/batchnorm.hpp>
#include <layerbench/op/collective.hpp>
#include <layerbench/op/concat.hpp>
#include <layerbench/op/conv.hpp>
#include <layerbench/op/cross_entropy.hpp>
#include <layerbench/op/deconv.hpp>
#include <layerbench/op/dropout.hpp>
#include <layerbench/op/embedding.hpp>
#include <layerbench/op/gemm.hpp>
#include <layerbench/op/groupnorm.hpp>
#include <layerbench/op/layernorm.hpp>
#include <layerbench/op/lrn.hpp>
#include <layerbench/op/multiply.hpp>
#include <layerbench/op/pad.hpp>
#include <layerbench/op/pool.hpp>
#include <layerbench/op/quantize.hpp>
#include <layerbench/op/reorder.hpp>
#include <layerbench/op/resample.hpp>
#include <layerbench/op/rnn.hpp>
#include <layerbench/op/rotary.hpp>
#include <layerbench/op/routed_gemm.hpp>
#include <layerbench/op/slice.hpp>
#include <layerbench/op/softmax.hpp>
#include <layerbench/op/stream.hpp>
#include <layerbench/op/topk.hpp>
#include <layerbench/op/transpose.hpp>
#include <layerbench/op/update.hpp>

namespace layerbench::op {

/// Every op of the library: what shape files may contain.
using builtin = list<conv, deconv, gemm, embedding, pool, resample, batchnorm, lrn, layernorm,
                     groupnorm, rnn, attention, append, rotary, topk, routed_gemm, activation, add,
                     concat, multiply, pad, slice, transpose, softmax, reorder, quantize, dropout,
                     cross_entropy, update, stream, allreduce, collective>;

}  // namespace layerbench::op
