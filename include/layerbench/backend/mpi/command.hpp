// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <cstdint>
#include <type_traits>

#include <layerbench/op/collective.hpp>
#include <layerbench/shape/dtype.hpp>

/// The protocol between ranks: rank 0, the leader, broadcasts commands, and all other ranks are
/// workers that execute them. The leader alone decides, reports and writes, so no decision has to
/// be agreed upon.
namespace layerbench::mpi {

/// The libraries between ranks. Each has its own arrays on a worker.
enum class library : std::int64_t { mpi, nccl };

/// A command of the leader, sent as bytes.
struct command {
  enum class kind : std::int64_t {
    end,  ///< the program is over
    // Commands of bench_allreduce, whose workers have nothing but the arrays of one op:
    upload,       ///< receive an operand from the leader
    download,     ///< send an operand to the leader
    communicate,  ///< warm up, wait at a barrier, then make `count` calls
    find_gpu,     ///< tell the leader which GPU this rank takes
    connect,      ///< join the leader's communicator; `count` is 1 if it registers buffers
    disconnect,   ///< free the arrays and leave the communicator
    // Commands of data-parallel training, where each rank has the suite's rows and chains:
    prepare,            ///< prepare a row
    release,            ///< release a row
    set_step_seconds,   ///< pace a row: its step takes `seconds`
    warm_shared_cache,  ///< warm the shared cache for a row; `count` is 1 if a warm-up follows
    call,               ///< set up a row, wait at a barrier, then make `count` calls
    run_alongside,      ///< call a row over and over while background all-reduces run
    make_chain,         ///< make a chain
    drop_chain,         ///< destroy a chain
    run_step,           ///< set up a chain, wait at a barrier, then run one whole step
  };
  kind what = kind::end;
  std::int64_t index = 0;  ///< of the operand, or of the row or the chain in the suite
  std::int64_t count = 0;
  double seconds = 0;
  // Of the commands of bench_allreduce:
  mpi::library library = library::mpi;
  op::collective collective = {};
  dtype type = dtype::f32;
  std::int64_t warm_up = 0;   ///< untimed calls before the barrier
  std::int64_t recorded = 0;  ///< 1: the calls run as a graph
};
static_assert(std::is_trivially_copyable_v<command>);

/// Executes the commands that `ranks` receives, up to the end. Only the leader handles signals to
/// stop; it then ends the workers.
template <class Ranks, class Execute>
void serve(Ranks& ranks, Execute&& execute) {
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  for (command next = ranks.receive(); next.what != command::kind::end; next = ranks.receive()) {
    execute(next);
  }
}

}  // namespace layerbench::mpi
