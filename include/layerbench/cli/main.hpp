// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/registry.hpp>
#include <layerbench/cli/measure.hpp>
#include <layerbench/ranks/communicator.hpp>
#include <layerbench/session/program.hpp>

namespace layerbench::run {

/// A benchmark program: measures the ops that `what` names on the backends of `known`. `make_ranks`
/// is for --ranks. Returns the exit code of base/error.hpp.
[[nodiscard]] int main(int argc, char** argv, const program& what, const registry& known,
                       const epilogue& after = {}, const communicator_factory& make_ranks = {});

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/cli/main-inl.hpp>
#endif
