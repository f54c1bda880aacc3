// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <layerbench/op/collective.hpp>
#include <layerbench/shape/dtype.hpp>

namespace layerbench::mpi {

/// The libraries between ranks. Each has its own arrays on a worker.
enum class library : std::int64_t { mpi, nccl };

/// A command of a program that measures collectives, such as bench_allreduce. Its workers have
/// nothing but the arrays of one op.
struct command {
  enum class kind : std::int64_t {
    upload,       ///< receive an operand from the leader
    download,     ///< send an operand to the leader
    communicate,  ///< warm up, wait at a barrier, then make `count` calls
    find_gpu,     ///< tell the leader which GPU this rank takes
    connect,      ///< join the leader's communicator; `count` is 1 if it registers buffers
    disconnect,   ///< free the arrays and leave the communicator
  };
  kind what = kind::upload;
  std::int64_t operand = 0;
  std::int64_t count = 0;
  mpi::library library = library::mpi;
  op::collective collective = {};
  dtype type = dtype::f32;
  std::int64_t warm_up = 0;   ///< untimed calls before the barrier
  std::int64_t recorded = 0;  ///< 1: the calls run as a graph
};
static_assert(std::is_trivially_copyable_v<command>);

}  // namespace layerbench::mpi
