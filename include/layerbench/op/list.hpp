// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/op/activation.hpp>
#include <layerbench/op/add.hpp>
#include <layerbench/op/batchnorm.hpp>
#include <layerbench/op/conv.hpp>
#include <layerbench/op/cross_entropy.hpp>
#include <layerbench/op/gemm.hpp>
#include <layerbench/op/pool.hpp>
#include <layerbench/op/reorder.hpp>
#include <layerbench/op/softmax.hpp>
#include <layerbench/op/update.hpp>

namespace layerbench::op {

/// Every op of the library: what shape files may contain.
using builtin =
    list<conv, gemm, pool, batchnorm, activation, add, softmax, reorder, cross_entropy, update>;

}  // namespace layerbench::op
