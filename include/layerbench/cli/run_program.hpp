// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/registry.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/cli/measure_suite.hpp>
#include <layerbench/ranks/communicator.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/session/program.hpp>

namespace layerbench::run {

/// Does what the options ask for.
exit_code run_program(const options& asked, char* self, const program& what, const registry& known,
                      const epilogue& after, const communicator_factory& make_communicator);

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/cli/run_program-inl.hpp>
#endif
