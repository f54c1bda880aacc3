// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/device.hpp>
#include <layerbench/backend/formula.hpp>

namespace layerbench::run {

/// Writes to the operands of a backward plan what its forward pass in training writes. Does nothing
/// for a plan without opaque operands, which may read any numbers instead. `places` are the plan's
/// operands; null where nothing is to be written. `inputs` are their elements: the forward pass
/// reads those that it shares with the plan, and test data for empty ones; those that it writes are
/// replaced by its results, which stay unknown to the host where the device is another one. Throws
/// error where the two passes disagree on the bytes of an opaque operand.
void write_forward_results(compute_device& device, const any_plan& plan,
                           std::span<reference::tensor> inputs, std::span<const address> places,
                           std::uint64_t seed);

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/backend/forward_results-inl.hpp>
#endif
