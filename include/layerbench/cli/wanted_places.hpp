// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <layerbench/session/options.hpp>

/// The places of threads that the user wants, or that suit the threads that the user wants. They
/// are needed before the options are read.
namespace layerbench::run::detail {

[[nodiscard]] std::string given_places(char** argv);

inline constexpr const char* openmp_threads_variable = "OMP_NUM_THREADS";

/// The first number of OMP_NUM_THREADS, that of the outermost team, without blanks; empty where it
/// is not set.
[[nodiscard]] std::string openmp_threads();

/// Whether OMP_NUM_THREADS set the number of threads of these options.
[[nodiscard]] bool takes_threads_of_openmp(const options& o);

/// Whether OMP_PROC_BIND does not bind threads: it is not set, or false.
[[nodiscard]] bool has_no_proc_bind();

/// OMP_PLACES for the threads that the command line asks for.
[[nodiscard]] std::string chosen_places(char** argv);

}  // namespace layerbench::run::detail

#ifndef LAYERBENCH_COMPILED
#include <layerbench/cli/wanted_places-inl.hpp>
#endif
