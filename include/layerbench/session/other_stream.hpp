// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/registry.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/session/program.hpp>

namespace layerbench::run {

/// What a stream beside the measured one does: repeats the steps that the measuring process names,
/// until that ends.
void serve_stream(const options& o, const program& what, const registry& known);

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/session/other_stream-inl.hpp>
#endif
