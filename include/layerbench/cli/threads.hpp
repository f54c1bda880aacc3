// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <climits>
#include <cstdlib>

#include <unistd.h>

#include <layerbench/topology/thread_binding.hpp>

namespace layerbench::run {

namespace detail {

/// The variable by which a restarted program finds its stderr.
inline constexpr const char* stderr_variable = "LAYERBENCH_RESTARTED_STDERR";

}  // namespace detail

/// Sets this program's defaults for the OpenMP run time, which reads them once, when it is loaded:
/// threads bound to cores (machine::processors_in_order), which is both faster and more repeatable
/// than free ones. Values that the user set stay, unless --places replaces them. Restarts the
/// program where something was to be set. `binding`: that of OpenMP now.
void configure_threads(char** argv, const machine::thread_binding& binding);

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/cli/threads-inl.hpp>
#endif
