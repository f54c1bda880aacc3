// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <exception>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include <layerbench/backend/registry.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/plain_text.hpp>
#include <layerbench/base/process_setup.hpp>
#include <layerbench/cli/all_devices.hpp>
#include <layerbench/cli/launcher.hpp>
#include <layerbench/cli/messages.hpp>
#include <layerbench/cli/threads.hpp>
#include <layerbench/ranks/communicator.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/session/backends.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/session/program.hpp>

namespace layerbench::run {

/// What a program does with its results after the rows: called with the results, what
/// the user wants, and whether the rows went to stdout in a machine's format.
using epilogue = std::function<void(const result::results&, const options&, bool machine_format)>;

/// Reads the command line; nothing where it asked for help alone. Throws usage_error.
using option_parser = std::optional<options> (*)(int argc, char** argv, const program& what,
                                                 const registry& known);
/// Does what the options ask for.
using program_runner = exit_code (*)(const options& o, char* self, const program& what,
                                     const registry& known, const epilogue& after,
                                     const communicator_factory& make_ranks);

namespace detail {

/// Throws usage_error if a launcher started several processes, but a backend whose first rank leads
/// reaches this one alone.
inline void require_all_ranks_of(const registry& known) {
  for (const backend_entry& entry : known.backends) {
    if (entry.serve_first_rank != nullptr) require_all_ranks(entry.ranks());
  }
}

}  // namespace detail

/// What main does around these two, which may be compiled elsewhere: starts threads and ranks, and
/// reports errors. Returns the exit code of base/error.hpp.
[[nodiscard]] inline int entry_point(int argc, char** argv, const program& what,
                                     const registry& known, const epilogue& after,
                                     const communicator_factory& make_ranks,
                                     option_parser parse_options, program_runner run_program) {
  prepare_process();
  std::optional<options> parsed;
  try {
    require_stack();
    configure_threads(argv, binding_of(known));
    if (detail::leads_ranks(known)) require_connection();
    if (detail::served_first_rank(known)) return static_cast<int>(exit_code::done);
    detail::require_all_ranks_of(known);
    parsed = parse_options(argc, argv, what, known);
    exit_code code = exit_code::done;  // nothing parsed: --help or --version said it all
    if (parsed) {
      const bool lists = parsed->list || parsed->list_tests || parsed->list_backends;
      code = parsed->on_all_devices() && !lists
                 ? measure_on_all_devices(*parsed, argc, argv, what, known)
                 : run_program(*parsed, argv[0], what, known, after, make_ranks);
    }
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      throw error("writing to stdout failed; the output is truncated");
    }
    return static_cast<int>(code);
  } catch (const error& e) {
    print_message(parsed ? detail::about_variable(e.what(), parsed->variables) : e.what());
    return static_cast<int>(e.code());
  } catch (const std::exception& e) {
    print_message(fmt::format("internal error: {}", e.what()));
    return static_cast<int>(exit_code::failure);
  }
}

}  // namespace layerbench::run
