// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <exception>
#include <optional>

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/plain_text.hpp>
#include <layerbench/base/process_setup.hpp>
#include <layerbench/cli/all_devices.hpp>
#include <layerbench/cli/command_line.hpp>
#include <layerbench/cli/launcher.hpp>
#include <layerbench/cli/main.hpp>
#include <layerbench/cli/messages.hpp>
#include <layerbench/cli/run_program.hpp>
#include <layerbench/cli/threads.hpp>
#include <layerbench/session/backend_selection.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/session/streams.hpp>

namespace layerbench::run {

namespace detail {

/// Throws usage_error if a launcher started several processes, but a backend whose first rank leads
/// reaches this one alone.
inline void require_all_ranks_of(const registry& known) {
  for (const backend_entry& entry : known.backends) {
    if (entry.serve_first_rank != nullptr) require_all_ranks(entry.ranks());
  }
}

}  // namespace detail

LAYERBENCH_INLINE int main(int argc, char** argv, const program_parts& parts) {
  const auto& [what, known, after, make_ranks] = parts;
  prepare_process();
  std::optional<options> parsed;
  try {
    require_stack();
    if (!is_other_stream()) configure_threads(argv, binding_of(known));
    if (detail::leads_ranks(known)) require_connection();
    if (detail::served_first_rank(known)) return static_cast<int>(exit_code::done);
    detail::require_all_ranks_of(known);
    parsed = parse(argc, argv, what, known);
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
