// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

/// The protocol between ranks: rank 0, the leader, broadcasts commands, and all other ranks are
/// workers that execute them. The leader alone decides, reports and writes, so no decision has to
/// be agreed upon.
namespace layerbench::mpi {

/// Executes the commands that `receive` returns, up to the end, for which it returns nothing. Only
/// the leader handles signals to stop; it then ends the workers.
template <class Receive, class Execute>
void serve(Receive&& receive, Execute&& execute) {
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  while (const auto next = receive()) execute(*next);
}

}  // namespace layerbench::mpi
