// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <climits>
#include <cstdlib>
#include <optional>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include <layerbench/base/system.hpp>
#include <layerbench/cli/launcher.hpp>
#include <layerbench/cli/openmp_places.hpp>
#include <layerbench/topology/this_machine.hpp>
#include <layerbench/topology/thread_binding.hpp>

namespace layerbench::run {

namespace detail {

/// The variable by which a restarted program finds its stderr.
inline constexpr const char* stderr_variable = "LAYERBENCH_RESTARTED_STDERR";

/// Gives a restarted program its stderr back.
inline void restore_stderr() {
  const char* text = std::getenv(stderr_variable);
  const auto saved = text == nullptr ? std::nullopt : machine::number_in(text);
  ::unsetenv(stderr_variable);
  if (!saved || *saved <= STDERR_FILENO || *saved > INT_MAX) return;
  const int file = static_cast<int>(*saved);
  if (::dup2(file, STDERR_FILENO) >= 0) ::close(file);
}

/// Restarts the program. Returns only where that fails. When the OpenMP run time is loaded it warns
/// of the user's variables. stderr goes nowhere while it is loaded again, so that it warns once.
/// require_places() checks --places.
inline void restart(char** argv) {
  const int saved = ::fcntl(STDERR_FILENO, F_DUPFD, STDERR_FILENO + 1);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (saved >= 0 && nowhere >= 0) {
    ::setenv(stderr_variable, std::to_string(saved).c_str(), 1);
    ::dup2(nowhere, STDERR_FILENO);
  }
  ::close(nowhere);
  // By its own path, which gives the process its name.
  if (const auto program = machine::this_program()) ::execv(program->c_str(), argv);
  ::execv("/proc/self/exe", argv);
  restore_stderr();
}

}  // namespace detail

/// Sets this program's defaults for the OpenMP run time, which reads them once, when it is loaded:
/// threads bound to cores (machine::processors_in_order), which is both faster and more repeatable
/// than free ones. Values that the user set stay, unless --places replaces them. Restarts the
/// program where something was to be set. `binding`: that of OpenMP now.
inline void configure_threads(char** argv, const machine::thread_binding& binding) {
  detail::restore_stderr();
  // A launcher of several binds each; all would bind their threads to the same first cores.
  if (launched_processes() > 1) return;
  const bool bound = binding.order != machine::thread_order::free;
  const std::string asked = detail::given_places(argv);
  if (asked.empty() && (bound || std::getenv("OMP_PROC_BIND") != nullptr)) return;
  const std::string places = asked.empty() ? detail::chosen_places(argv) : asked;
  const bool free = detail::has_no_proc_bind();
  const char* known = std::getenv("OMP_PLACES");
  if (known != nullptr && known == places && !free) return;
  // OpenMP has bound this thread to one of its places, and other threads would inherit that.
  if (bound) machine::run_this_thread_on(binding.processors());
  if (free) ::setenv("OMP_PROC_BIND", "close", 1);
  ::setenv("OMP_PLACES", places.c_str(), 1);
  // Where a restart fails threads stay unbound, and the context shows what was asked for.
  detail::restart(argv);
}

}  // namespace layerbench::run
