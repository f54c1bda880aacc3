// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <layerbench/backend/registry.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/session/program.hpp>

namespace layerbench::run {

/// Measures the steps that curves need (--curve) into the result file of `o`, and prints the
/// curves. `measure` measures what its options ask for, and adds it to that file. Each model has
/// the budget, or 60 seconds, for each number of threads. The least size comes first, then the
/// largest one of which a third of the budget suffices, then both sides of places where a library
/// switches the algorithm of a layer of much time, and sizes of which the curve is least sure. Up
/// to three steps also run end to end. It ends when no interval is much wider than those of
/// measured steps. Throws usage_error.
exit_code measure_curve(const options& o, const program& what, const registry& known,
                        const std::function<exit_code(const options&)>& measure);

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/cli/curve_run-inl.hpp>
#endif
