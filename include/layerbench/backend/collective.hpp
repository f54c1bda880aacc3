// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/backend/number_types.hpp>
#include <layerbench/backend/plan.hpp>
#include <layerbench/op/collective.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/shape/dtype.hpp>

/// What the plans of collectives share: the arrays of a rank, as MPI and NCCL lay them out.
namespace layerbench {

/// Bytes of a row of an operand: the elements of one rank.
[[nodiscard]] std::size_t row_bytes(const op::operand& of);

/// The operands as one rank has them: each has the memory of one row. In place the memory of the
/// result is large enough for the source, too.
[[nodiscard]] std::vector<plan_operand> operands_of_rank(const op::collective& o,
                                                         const plan_request& request);

/// Where the source of a rank begins in the memory of its result, in bytes, if it is in place.
[[nodiscard]] std::size_t source_offset(const op::collective& o, dtype type, std::int64_t rank);

/// Untimed calls before `calls` timed ones. In place there is one, since the copy into place fills
/// the caches with more than a call does. A broadcast has a second one if rank 0 would else be
/// the root of the last call: call i has rank i modulo `ranks` as its root, and a root does not
/// wait until the others have the array.
[[nodiscard]] std::int64_t warm_up_calls(const op::collective& o, std::int64_t calls);

/// The name of the call, since neither library tells which algorithm it chose.
[[nodiscard]] std::string algorithm_of(std::string_view library, const op::collective& o);

/// Writes the values of consecutive elements of an operand to memory.
void store_row(const op::operand& of, std::span<const float> values, address to);
/// The inverse.
void load_row(const op::operand& of, const void* from, std::span<float> values);

}  // namespace layerbench

#ifndef LAYERBENCH_COMPILED
#include <layerbench/backend/collective-inl.hpp>
#endif
