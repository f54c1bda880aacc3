// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <mpi.h>

#include <layerbench/base/error.hpp>
#include <layerbench/shape/dtype.hpp>

/// MPI, with memory of the host. The first rank leads: it alone decides, reports and writes, and
/// the others do what it tells them to, so that no decision has to be agreed upon. Errors of MPI
/// end all ranks, as is its default; so does the launcher where a rank dies.
namespace layerbench::mpi {

enum class task : std::int64_t { end, take, give, reduce, join };

/// What the leader tells the others to do.
struct order {
  mpi::task task = task::end;
  std::int64_t operand = 0;   ///< that is taken or given
  std::int64_t count = 0;     ///< elements of each rank's arrays
  dtype type = dtype::f32;    ///< of these
  std::int64_t in_place = 0;  ///< whether they are reduced so
  std::int64_t warm_up = 0;   ///< calls before all meet: the copy in place fills caches with more
  std::int64_t calls = 0;     ///< how often after that
  double seconds = 0;         ///< of who joins in what is measured (run/company.hpp)
};

/// All ranks of this program. Alone, without a launcher, it is one.
class rank_group {
 public:
  /// Made when it is first asked for, by all ranks at once.
  static rank_group& all() {
    static rank_group result;
    return result;
  }
  rank_group(const rank_group&) = delete;
  rank_group& operator=(const rank_group&) = delete;
  /// Lets the others go, where this is the leader.
  ~rank_group() {
    if (is_leader()) send({});
    MPI_Finalize();
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int hosts() const { return hosts_; }
  /// How many are on this machine.
  [[nodiscard]] int ranks_on_host() const { return ranks_on_host_; }
  [[nodiscard]] bool is_leader() const { return rank_ == 0; }

  /// Ends all ranks: this one cannot go on.
  [[noreturn]] void abort_all(std::string_view why) const {
    fmt::print(stderr, "layerbench: rank {}: {}\n", rank_, why);
    MPI_Abort(MPI_COMM_WORLD, static_cast<int>(exit_code::failure));
    std::abort();
  }

  /// Tells all others.
  void send(order what) const { exchange(what); }
  /// Waits for what the leader says.
  [[nodiscard]] order receive() const {
    order what;
    exchange(what);
    return what;
  }

 private:
  rank_group() {
    int provided = 0;  // threads may take turns; whoever wants that asks whether they may
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    // The launcher may hand on what is written through a terminal of its own.
    if (size_ > 1) ::setenv("NO_COLOR", "1", 0);
    MPI_Comm device = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &device);
    int rank_here = 0;
    MPI_Comm_rank(device, &rank_here);
    MPI_Comm_size(device, &ranks_on_host_);
    MPI_Comm_free(&device);
    const int first = rank_here == 0 ? 1 : 0;
    MPI_Allreduce(&first, &hosts_, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }

  void exchange(order& what) const { MPI_Bcast(&what, sizeof what, MPI_BYTE, 0, MPI_COMM_WORLD); }

  int rank_ = 0;
  int size_ = 1;
  int hosts_ = 1;
  int ranks_on_host_ = 1;
};

/// MPI's name of a data type. Throws unsupported where MPI does not add up in it.
[[nodiscard]] inline MPI_Datatype datatype_of(dtype type) {
  if (type == dtype::f32) return MPI_FLOAT;
  if (type == dtype::f64) return MPI_DOUBLE;
  throw unsupported(fmt::format("MPI does not add up in {}", name(type)));
}

/// Numbers in memory of a data type that MPI adds up in.
class typed_span {
 public:
  typed_span(dtype type, void* where) : type_(type), where_(where) {}

  void store(std::size_t first, std::span<const float> values) const {
    if (type_ == dtype::f64) {
      std::ranges::copy(values, static_cast<double*>(where_) + first);
    } else {
      std::ranges::copy(values, static_cast<float*>(where_) + first);
    }
  }
  void load(std::size_t first, std::span<float> values) const {
    if (type_ == dtype::f64) {
      const auto* from = static_cast<const double*>(where_) + first;
      std::ranges::transform(from, from + values.size(), values.begin(),
                             [](double value) { return static_cast<float>(value); });
    } else {
      std::copy_n(static_cast<const float*>(where_) + first, values.size(), values.begin());
    }
  }

 private:
  dtype type_;
  void* where_;
};

/// Calls `work(first, count)` for pieces of `all` numbers: their copies need not be large.
template <class Work>
void in_pieces(std::size_t all, Work&& work) {
  constexpr std::size_t most = std::size_t{1} << 20U;
  for (std::size_t first = 0; first < all; first += most) {
    work(first, std::min(most, all - first));
  }
}

}  // namespace layerbench::mpi
