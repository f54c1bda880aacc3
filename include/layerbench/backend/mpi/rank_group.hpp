// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <mpi.h>

#include <layerbench/backend/mpi/command.hpp>
#include <layerbench/base/error.hpp>
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
    if (is_leader()) send({});
    MPI_Finalize();
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int hosts() const { return hosts_; }
  /// How many ranks run on this machine.
  [[nodiscard]] int ranks_on_host() const { return ranks_on_host_; }
  [[nodiscard]] bool is_leader() const { return rank_ == 0; }

  /// Ends all ranks because this rank failed; prints the reason.
  [[noreturn]] void abort_all(std::string_view reason) const {
    fmt::print(stderr, "layerbench: rank {}: {}\n", rank_, reason);
    MPI_Abort(MPI_COMM_WORLD, static_cast<int>(exit_code::failure));
    std::abort();
  }

  /// The leader sends a command to all workers.
  void send(command next) const { broadcast(next); }
  /// A worker waits for the leader's next command.
  [[nodiscard]] command receive() const {
    command next;
    broadcast(next);
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
    int rank_on_host = 0;
    MPI_Comm_rank(host, &rank_on_host);
    MPI_Comm_size(host, &ranks_on_host_);
    MPI_Comm_free(&host);
    const int first = rank_on_host == 0 ? 1 : 0;
    MPI_Allreduce(&first, &hosts_, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }

  static void broadcast(command& next) {
    MPI_Bcast(&next, sizeof next, MPI_BYTE, 0, MPI_COMM_WORLD);
  }

  int rank_ = 0;
  int size_ = 1;
  int hosts_ = 1;
  int ranks_on_host_ = 1;
};

/// MPI's handle of a data type. Throws unsupported where MPI has no sum of that type.
[[nodiscard]] inline MPI_Datatype datatype_of(dtype type) {
  if (type == dtype::f32) return MPI_FLOAT;
  if (type == dtype::f64) return MPI_DOUBLE;
  throw unsupported(fmt::format("MPI does not add up in {}", name(type)));
}

/// An array of a data type that MPI adds up, read and written as float.
class typed_span {
 public:
  typed_span(dtype type, void* data) : type_(type), data_(data) {}

  void store(std::size_t first, std::span<const float> values) const {
    if (type_ == dtype::f64) {
      std::ranges::copy(values, static_cast<double*>(data_) + first);
    } else {
      std::ranges::copy(values, static_cast<float*>(data_) + first);
    }
  }
  void load(std::size_t first, std::span<float> values) const {
    if (type_ == dtype::f64) {
      const auto* from = static_cast<const double*>(data_) + first;
      std::ranges::transform(from, from + values.size(), values.begin(),
                             [](double value) { return static_cast<float>(value); });
    } else {
      std::copy_n(static_cast<const float*>(data_) + first, values.size(), values.begin());
    }
  }

 private:
  dtype type_;
  void* data_;
};

/// Calls `work(first, count)` for consecutive chunks of `total` elements, so that buffers for
/// conversion stay small.
template <class Work>
void for_each_chunk(std::size_t total, Work&& work) {
  constexpr std::size_t chunk = std::size_t{1} << 20U;
  for (std::size_t first = 0; first < total; first += chunk) {
    work(first, std::min(chunk, total - first));
  }
}

}  // namespace layerbench::mpi
