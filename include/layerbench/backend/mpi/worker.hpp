// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <exception>
#include <vector>

#include <layerbench/backend/host_buffer.hpp>
#include <layerbench/backend/mpi/rank_group.hpp>

namespace layerbench::mpi {

/// Reduces a rank's arrays so often, in step with the others: every rank does this at once.
class reduction {
 public:
  /// In place `to` gets the values of `from` first.
  reduction(const order& what, const void* from, void* to)
      : from_(what.in_place != 0 ? MPI_IN_PLACE : from),
        to_(to),
        count_(static_cast<int>(what.count)),
        type_(datatype_of(what.type)) {
    const auto bytes = static_cast<std::size_t>(what.count) * traits(what.type).bytes;
    if (what.in_place != 0 && from != to) std::memcpy(to, from, bytes);
  }

  static void barrier() { MPI_Barrier(MPI_COMM_WORLD); }
  void meet_after(std::int64_t calls) const {
    for (std::int64_t i = 0; i < calls; ++i) run();
    barrier();
  }
  void run() const { MPI_Allreduce(from_, to_, count_, type_, MPI_SUM, MPI_COMM_WORLD); }

 private:
  const void* from_;
  void* to_;
  int count_;
  MPI_Datatype type_;
};

/// Any rank but the first.
class worker {
 public:
  explicit worker(const rank_group& all) : all_(all) {}

  /// Does what the leader says until that is done. Signals to stop are the leader's to heed. Ends
  /// all ranks where it cannot.
  void serve() {
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, SIG_IGN);
    try {
      for (order now = all_.receive(); now.task != task::end; now = all_.receive()) execute(now);
    } catch (const std::exception& e) {
      all_.abort_all(e.what());
    }
  }

 private:
  void execute(const order& now) {
    const auto count = static_cast<std::size_t>(now.count);
    make_room(count * traits(now.type).bytes);
    const auto operand = static_cast<std::size_t>(now.operand);
    const typed_span its(now.type, arrays_.at(operand).data());
    std::vector<float> piece;
    switch (now.task) {
      case task::take:
        std::memset(arrays_.back().data(), 0xFF, bytes_);  // results are to be written, not left
        in_pieces(count, [&](std::size_t first, std::size_t some) {
          piece.resize(some);
          MPI_Recv(piece.data(), static_cast<int>(some), MPI_FLOAT, 0, 0, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
          its.store(first, piece);
        });
        break;
      case task::give:
        in_pieces(count, [&](std::size_t first, std::size_t some) {
          piece.resize(some);
          its.load(first, piece);
          MPI_Send(piece.data(), static_cast<int>(some), MPI_FLOAT, 0, 0, MPI_COMM_WORLD);
        });
        break;
      case task::reduce: {
        const reduction own(now, arrays_.front().data(), arrays_.back().data());
        own.meet_after(now.warm_up);
        for (std::int64_t i = 0; i < now.calls; ++i) own.run();
        break;
      }
      case task::join:
      case task::end: break;
    }
  }

  /// Arrays of at least that size; new ones hold numbers, lest memory stays a page of zeros.
  void make_room(std::size_t bytes) {
    if (bytes <= bytes_) return;
    bytes_ = bytes;
    for (host_buffer& array : arrays_) {
      array = {};  // first, so that both are never there together
      array = host_buffer(bytes);
      std::memset(array.data(), 0x3F, bytes);
    }
  }

  const rank_group& all_;
  std::array<host_buffer, 2> arrays_;  ///< src and dst
  std::size_t bytes_ = 0;
};

}  // namespace layerbench::mpi
