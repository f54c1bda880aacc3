// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/activation.hpp>
#include <layerbench/backend/reference/add.hpp>
#include <layerbench/backend/reference/append.hpp>
#include <layerbench/backend/reference/attention.hpp>
#include <layerbench/backend/reference/batchnorm.hpp>
#include <layerbench/backend/reference/collective.hpp>
#include <layerbench/backend/reference/concat.hpp>
#include <layerbench/backend/reference/conv.hpp>
#include <layerbench/backend/reference/cross_entropy.hpp>
#include <layerbench/backend/reference/deconv.hpp>
#include <layerbench/backend/reference/dropout.hpp>
#include <layerbench/backend/reference/embedding.hpp>
#include <layerbench/backend/reference/gemm.hpp>
#include <layerbench/backend/reference/groupnorm.hpp>
#include <layerbench/backend/reference/layernorm.hpp>
#include <layerbench/backend/reference/lrn.hpp>
#include <layerbench/backend/reference/multiply.hpp>
#include <layerbench/backend/reference/pad.hpp>
#include <layerbench/backend/reference/pool.hpp>
#include <layerbench/backend/reference/quantize.hpp>
#include <layerbench/backend/reference/reorder.hpp>
#include <layerbench/backend/reference/resample.hpp>
#include <layerbench/backend/reference/rnn.hpp>
#include <layerbench/backend/reference/rotary.hpp>
#include <layerbench/backend/reference/routed_gemm.hpp>
#include <layerbench/backend/reference/slice.hpp>
#include <layerbench/backend/reference/softmax.hpp>
#include <layerbench/backend/reference/stream.hpp>
#include <layerbench/backend/reference/topk.hpp>
#include <layerbench/backend/reference/transpose.hpp>
#include <layerbench/backend/reference/update.hpp>
