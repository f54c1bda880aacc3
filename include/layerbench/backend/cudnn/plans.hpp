// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/cudnn/activation.hpp>
#include <layerbench/backend/cudnn/add.hpp>
#include <layerbench/backend/cudnn/append.hpp>
#include <layerbench/backend/cudnn/attention.hpp>
#include <layerbench/backend/cudnn/batchnorm.hpp>
#include <layerbench/backend/cudnn/concat.hpp>
#include <layerbench/backend/cudnn/conv.hpp>
#include <layerbench/backend/cudnn/cross_entropy.hpp>
#include <layerbench/backend/cudnn/deconv.hpp>
#include <layerbench/backend/cudnn/dropout.hpp>
#include <layerbench/backend/cudnn/embedding.hpp>
#include <layerbench/backend/cudnn/gemm.hpp>
#include <layerbench/backend/cudnn/layernorm.hpp>
#include <layerbench/backend/cudnn/lrn.hpp>
#include <layerbench/backend/cudnn/multiply.hpp>
#include <layerbench/backend/cudnn/pad.hpp>
#include <layerbench/backend/cudnn/pool.hpp>
#include <layerbench/backend/cudnn/reorder.hpp>
#include <layerbench/backend/cudnn/rotary.hpp>
#include <layerbench/backend/cudnn/slice.hpp>
#include <layerbench/backend/cudnn/softmax.hpp>
#include <layerbench/backend/cudnn/stream.hpp>
#include <layerbench/backend/cudnn/transpose.hpp>
#include <layerbench/backend/cudnn/update.hpp>
