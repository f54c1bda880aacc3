// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <layerbench/backend/mpi/command.hpp>
#include <layerbench/backend/mpi/rank_group.hpp>
#include <layerbench/backend/mpi/worker.hpp>
#include <layerbench/backend/nccl/backend.hpp>
#include <layerbench/backend/nccl_mpi/connect.hpp>
#include <layerbench/backend/nccl_mpi/worker.hpp>

namespace layerbench::nccl_mpi {

/// The leader's side: the rank that measures.
class backend : public nccl::backend {
 public:
  [[nodiscard]] static run::backend_entry entry() {
    run::backend_entry own = nccl::backend::entry();
    own.probe = &probe;
    own.describe = &describe;
    own.ranks = &ranks;
    own.more_ranks =
        "each GPU is a rank; mpirun -np N (as root with --allow-run-as-root) starts a process for "
        "each of N";
    own.serve_first_rank = &serve_first_rank;
    return own;
  }

  static int ranks() { return is_alone() ? nccl::backend::ranks() : all().size(); }

  /// Also says why the ranks of a host cannot have a GPU each.
  static std::optional<std::string> probe() noexcept {
    if (is_alone()) return nccl::backend::probe();
    static const std::optional<std::string> conflict = [] {
      all().send(mpi::command{.what = mpi::command::kind::find_gpu, .library = mpi::library::nccl});
      return conflict_of(gather_gpus());
    }();
    return conflict;
  }

  /// Returns false on the leader. On a worker, executes the leader's commands up to the end, those
  /// for MPI's arrays in memory of the host included, then returns true.
  static bool serve_first_rank() {
    if (all().is_leader()) return false;
    mpi::worker worker(all());
    worker.add(mpi::library::nccl, std::make_unique<gpu_arrays>());
    worker.serve();
    return true;
  }

  static void describe(description& facts) {
    nccl::backend::describe(facts);
    facts["nccl_ranks"] = {std::to_string(ranks()), field_dimension::setting};
    facts["nccl_processes"] = {std::to_string(all().size()), field_dimension::setting};
    facts["nccl_hosts"] = {std::to_string(all().hosts()), field_dimension::setting};
  }

  explicit backend(int threads) : nccl::backend(threads, members()) {}
  backend(const backend&) = delete;
  backend& operator=(const backend&) = delete;
  /// NCCL destroys a communicator when all of its ranks do. If the leader's GPU is lost, the
  /// workers wait in NCCL and receive no command, so all ranks are ended.
  ~backend() override {
    if (is_alone()) return;
    if (const auto lost = lasting_error()) all().abort_all(*lost);
    send(mpi::command::kind::disconnect);
  }

 private:
  static mpi::rank_group& all() { return mpi::rank_group::all(); }
  static bool is_alone() { return all().size() == 1; }
  static void send(mpi::command::kind what) {
    all().send(mpi::command{
        .what = what, .count = registers_buffers() ? 1 : 0, .library = mpi::library::nccl});
  }

  /// Workers that wait in NCCL receive no command, so an error ends all ranks.
  static nccl::membership members() {
    if (is_alone()) return all_gpus();
    send(mpi::command::kind::connect);
    return all().do_or_abort([] { return connect(); });
  }
};

static_assert(layerbench::backend<backend>);

}  // namespace layerbench::nccl_mpi
