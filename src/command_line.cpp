// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "parts.hpp"

#include <layerbench/cli/command_line.hpp>

namespace layerbench::programs {

std::optional<run::options> parse(int argc, char** argv, const run::program& what,
                                  const run::registry& known) {
  return run::parse(argc, argv, what, known);
}

}  // namespace layerbench::programs
