// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

namespace layerbench::run {

/// A command of data-parallel training, where each rank has the suite's rows and chains.
struct command {
  enum class kind : std::int64_t {
    prepare,            ///< prepare a row
    release,            ///< release a row
    set_step_seconds,   ///< pace a row: its step takes `seconds`
    warm_shared_cache,  ///< warm the shared cache for a row; `count` is 1 if a warm-up follows
    call,               ///< set up a row, wait at a barrier, then make `count` calls
    run_alongside,      ///< call a row over and over while background all-reduces run
    make_chain,         ///< make a chain
    drop_chain,         ///< destroy a chain
    run_step,           ///< set up a chain, wait at a barrier, then run one whole step
    disconnect,         ///< leave the communicator of the GPUs
  };
  kind what = kind::prepare;
  std::int64_t index = 0;  ///< of the row or the chain in the suite
  std::int64_t count = 0;
  double seconds = 0;
};
static_assert(std::is_trivially_copyable_v<command>);

}  // namespace layerbench::run
