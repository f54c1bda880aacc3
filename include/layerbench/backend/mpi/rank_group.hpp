// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <mpi.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/plain_text.hpp>
#include <layerbench/op/collective.hpp>
#include <layerbench/shape/dtype.hpp>

/// MPI on memory of the host. An error in MPI ends all ranks, as is MPI's default; the launcher
/// ends all ranks when one dies.
namespace layerbench::mpi {

/// All ranks of this program. Without a launcher there is one.
class rank_group {
 public:
  /// Initialises MPI on the first call, which all ranks make at the same time.
  static rank_group& all() {
    static rank_group ranks;
    return ranks;
  }
  rank_group(const rank_group&) = delete;
  rank_group& operator=(const rank_group&) = delete;
  /// The leader ends the workers.
  ~rank_group() {
    if (is_leader()) end_commands();
    MPI_Finalize();
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int hosts() const { return hosts_; }
  /// How many ranks run on this machine.
  [[nodiscard]] int ranks_on_host() const { return ranks_on_host_; }
  /// The number of this rank among them.
  [[nodiscard]] int rank_on_host() const { return rank_on_host_; }
  /// The first of them, which identifies the machine.
  [[nodiscard]] int first_rank_on_host() const { return first_rank_on_host_; }
  [[nodiscard]] bool is_leader() const { return rank_ == 0; }

  /// Ends all ranks because this rank failed; prints the reason.
  [[noreturn]] void abort_all(std::string_view reason) const {
    print_message(fmt::format("rank {}: {}", rank_, reason));
    MPI_Abort(MPI_COMM_WORLD, static_cast<int>(exit_code::failure));
    std::abort();
  }

  /// Does this rank's part of what all ranks do, and returns its result. All ranks end if it
  /// throws: the others would wait for ever.
  template <class Work>
  auto do_or_abort(Work&& work) const {
    try {
      return work();
    } catch (const std::exception& e) {
      abort_all(e.what());
    }
  }

  /// The leader sends a command to all workers, as bytes.
  template <class Command>
  void send(Command next) const {
    broadcast_size(sizeof next);
    MPI_Bcast(&next, sizeof next, MPI_BYTE, 0, MPI_COMM_WORLD);
  }
  /// The leader sends no more commands to workers that wait for one.
  static void end_commands() { broadcast_size(0); }
  /// A worker waits for the leader's next command. Nothing after the last one.
  template <class Command>
  [[nodiscard]] std::optional<Command> receive() const {
    const std::size_t size = broadcast_size(0);
    if (size == 0) return std::nullopt;
    Command next;
    if (size != sizeof next) throw error("the leader sent a command of another program");
    MPI_Bcast(&next, sizeof next, MPI_BYTE, 0, MPI_COMM_WORLD);
    return next;
  }
  static void barrier() { MPI_Barrier(MPI_COMM_WORLD); }

 private:
  rank_group() {
    // Background all-reduces need SERIALIZED, and check that MPI provides it.
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    // mpirun may give a rank a terminal, although its own output is no terminal.
    if (size_ > 1) ::setenv("NO_COLOR", "1", 0);
    MPI_Comm host = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &rank_on_host_);
    MPI_Comm_size(host, &ranks_on_host_);
    MPI_Allreduce(&rank_, &first_rank_on_host_, 1, MPI_INT, MPI_MIN, host);
    MPI_Comm_free(&host);
    const int first = rank_on_host_ == 0 ? 1 : 0;
    MPI_Allreduce(&first, &hosts_, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }

  /// The leader's bytes of the next command, on all ranks; 0: there is none.
  static std::size_t broadcast_size(std::size_t size) {
    std::uint64_t bytes = size;
    MPI_Bcast(&bytes, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    return bytes;
  }

  int rank_ = 0;
  int size_ = 1;
  int hosts_ = 1;
  int ranks_on_host_ = 1;
  int rank_on_host_ = 0;
  int first_rank_on_host_ = 0;
};

/// MPI's handle of a data type. MPI adds up in some types only, and sends the numbers of others as
/// integers of their size. Throws unsupported where it lacks the type.
[[nodiscard]] inline MPI_Datatype datatype_of(const op::collective& o, dtype type) {
  if (type == dtype::f32) return MPI_FLOAT;
  if (type == dtype::f64) return MPI_DOUBLE;
  if (o.adds() || type == dtype::tf32) {
    throw unsupported(fmt::format("MPI has no {} of {}", name(o.kind), name(type)));
  }
  return traits(type).bytes == 2 ? MPI_UINT16_T : MPI_UINT8_T;
}

/// Calls `work(first, count)` for consecutive chunks of `total` bytes, so that buffers for
/// conversion stay small. Chunks have whole elements.
template <class Work>
void for_each_chunk(std::size_t total, Work&& work) {
  constexpr std::size_t chunk = std::size_t{1} << 22U;
  for (std::size_t first = 0; first < total; first += chunk) {
    work(first, std::min(chunk, total - first));
  }
}

}  // namespace layerbench::mpi
