// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0

// Does a row of bench_allreduce say what a bare loop over MPI_Allreduce says? Times powers of two
// both ways, in rounds that alternate, and prints the median times of the first rank and the median
// of the paired ratios. Not a test, since its answer depends on the machine's quiet: run it by
// hand.
//   mpirun -np 2 allreduce_agreement [ROUNDS] [LARGEST_BYTES]
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/mpi/all_plans.hpp>
#include <layerbench/backend/reference/collective.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/op/allreduce.hpp>
#include <layerbench/session/benchmark_row.hpp>
#include <layerbench/timing/sampler.hpp>

namespace {

using namespace layerbench;
constexpr double seconds_a_round = 0.02;

/// The collective by the library alone: nothing of the suite but memory aligned as the suite's.
class bare_loop {
 public:
  explicit bare_loop(std::int64_t bytes)
      : count_(static_cast<int>(bytes / 4)), array_(static_cast<std::size_t>(bytes)) {
    std::memset(array_.data(), 0x3F, static_cast<std::size_t>(bytes));
    repeat(3);
    double call = repeat(3);
    MPI_Bcast(&call, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    constexpr double seconds_a_sample = 1e-4;
    batch_ = static_cast<int>(std::ceil(seconds_a_sample / call));
    batches_ = static_cast<int>(std::ceil(seconds_a_round / (call * batch_)));
  }

  /// Median seconds of a call, of samples so long that the clock does not count.
  double round() {
    MPI_Barrier(MPI_COMM_WORLD);
    repeat(batch_);
    std::vector<double> seconds;
    for (int i = 0; i < std::max(3, batches_); ++i) seconds.push_back(repeat(batch_));
    return stats::median(std::move(seconds));
  }

 private:
  double repeat(int calls) {
    const double start = MPI_Wtime();
    for (int i = 0; i < calls; ++i) {
      MPI_Allreduce(MPI_IN_PLACE, array_.data(), count_, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - start) / calls;
  }

  int count_;
  host_buffer array_;
  int batch_ = 1;
  int batches_ = 1;
};

/// The row, measured as the program measures it. The others follow until told that it is done.
class suite_row {
 public:
  explicit suite_row(std::int64_t bytes)
      : row_({.name = {},
              .op = op::any(sizes_of(bytes)),
              .signature = {},
              .expected = reference::exact_value_of(sizes_of(bytes), op::pass::fwd)},
             std::make_shared<run::device_context>(
                 std::make_unique<run::backend_device<mpi::backend, op::allreduce>>(1))) {}

  [[nodiscard]] static op::allreduce sizes_of(std::int64_t bytes) {
    return {bytes, mpi::rank_group::all().size(), true};
  }

  double round() {
    if (mpi::backend::serve_first_rank()) return 0;
    static run::stopwatch wall(run::clock::wall);
    row_.prepare({});
    row_.activate();
    run::operand_ring& calls = row_.calls();
    calls.warm_shared_cache();
    const run::samples taken = run::sample(
        wall, [&](std::int64_t n) { calls.set_up(n); }, [&](std::int64_t n) { calls.call(n); },
        {.least_time = seconds_a_round, .most_time = 10, .least_samples = 3});
    mpi::rank_group::end_commands();
    return stats::median(taken.seconds);
  }

 private:
  run::benchmark_row row_;
};

void compare(std::int64_t bytes, int rounds) {
  suite_row row(bytes);
  bare_loop bare(bytes);
  std::vector<double> ratios;
  std::vector<double> ours;
  std::vector<double> theirs;
  for (int i = 0; i < rounds; ++i) {
    if (i % 2 == 0) ours.push_back(row.round());
    theirs.push_back(bare.round());
    if (i % 2 != 0) ours.push_back(row.round());
    ratios.push_back(ours.back() / theirs.back());
  }
  if (!mpi::rank_group::all().is_leader()) return;
  fmt::print("{:>10}  row {:>8}  bare loop {:>8}  {:+.1f} %\n",
             units::si(static_cast<double>(bytes), "B"), units::si(stats::median(ours), "s"),
             units::si(stats::median(theirs), "s"), 100 * (stats::median(ratios) - 1));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  const std::int64_t most = argc > 2 ? std::atoll(argv[2]) : std::int64_t{64} << 20U;
  for (std::int64_t bytes = 4; bytes <= most; bytes *= 4) compare(bytes, rounds);
  mpi::backend::serve_first_rank();  // the leader's last word comes when it ends
}
