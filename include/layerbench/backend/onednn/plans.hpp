// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/onednn/activation.hpp>
#include <layerbench/backend/onednn/add.hpp>
#include <layerbench/backend/onednn/append.hpp>
#include <layerbench/backend/onednn/attention.hpp>
#include <layerbench/backend/onednn/batchnorm.hpp>
#include <layerbench/backend/onednn/concat.hpp>
#include <layerbench/backend/onednn/conv.hpp>
#include <layerbench/backend/onednn/cross_entropy.hpp>
#include <layerbench/backend/onednn/deconv.hpp>
#include <layerbench/backend/onednn/dropout.hpp>
#include <layerbench/backend/onednn/embedding.hpp>
#include <layerbench/backend/onednn/gemm.hpp>
#include <layerbench/backend/onednn/layernorm.hpp>
#include <layerbench/backend/onednn/lrn.hpp>
#include <layerbench/backend/onednn/multiply.hpp>
#include <layerbench/backend/onednn/pad.hpp>
#include <layerbench/backend/onednn/pool.hpp>
#include <layerbench/backend/onednn/quantize.hpp>
#include <layerbench/backend/onednn/reorder.hpp>
#include <layerbench/backend/onednn/rnn.hpp>
#include <layerbench/backend/onednn/rotary.hpp>
#include <layerbench/backend/onednn/slice.hpp>
#include <layerbench/backend/onednn/softmax.hpp>
#include <layerbench/backend/onednn/stream.hpp>
#include <layerbench/backend/onednn/transpose.hpp>
#include <layerbench/backend/onednn/update.hpp>
