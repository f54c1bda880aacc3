// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <layerbench/model/graph.hpp>
#include <layerbench/op/collective.hpp>
#include <layerbench/shape/dtype.hpp>

/// Collectives as lists of layers: no models, but timed like them.
namespace layerbench::model {

/// Settings of the collectives.
struct collective_settings {
  std::int64_t ranks = 1;
  bool in_place = true;  ///< where a kind can be
  dtype type = dtype::f32;
  std::vector<op::collective_kind> kinds{op::collective_kind::all_reduce};
};

/// The pseudo-model of a sweep over sizes. Its layers are called bytes_<n>.
inline constexpr std::string_view sweep_model = "sweep";

/// The collective of an array of that many bytes, or of the next size with equal blocks: whole
/// elements, and from 16 bytes on multiples of 16 bytes, as in NCCL's tests, which round down. An
/// all-reduce keeps its bytes.
[[nodiscard]] op::collective collective_of(op::collective_kind kind, std::int64_t bytes,
                                           const collective_settings& how);

/// Collectives for the gradients of `g`: of all at once (`gradients`), of each bucket (`bucket<i>`,
/// from 1, in the order in which they are ready), and of each layer (by its name). Names of other
/// kinds than all-reduces have the prefix `<kind>_`.
[[nodiscard]] graph gradient_collectives(const graph& g, const collective_settings& how);

/// The collectives of a sweep that are of these kinds.
[[nodiscard]] graph collectives_of(const graph& sweep, const collective_settings& how);

/// Powers of two from 4 bytes to 1 GiB, rounded up to equal blocks; no larger ones than can be
/// checked in `available` bytes of memory.
[[nodiscard]] graph collective_sweep(const collective_settings& how, std::int64_t available);

}  // namespace layerbench::model

#ifndef LAYERBENCH_COMPILED
#include <layerbench/model/collectives-inl.hpp>
#endif
