// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <layerbench/backend/collective_buffers.hpp>
#include <layerbench/backend/mpi/command.hpp>
#include <layerbench/backend/mpi/rank_group.hpp>
#include <layerbench/backend/mpi/worker_rows.hpp>
#include <layerbench/backend/nccl/collective.hpp>
#include <layerbench/backend/nccl_mpi/backend.hpp>
#include <layerbench/op/allreduce.hpp>
#include <layerbench/op/collective.hpp>

namespace layerbench {

namespace nccl_mpi {

/// The leader's side of a collective: the plan of its own GPUs, and the workers with theirs.
class leader_plan : public nccl::group_plan {
 public:
  /// Throws as nccl::group_plan does.
  leader_plan(const backend& device, const op::collective& o, const plan_request& request)
      : group_plan(device, o, request), workers_(mpi::library::nccl, o, request.type, operands()) {}

  /// `values` are the rows of all ranks.
  void upload(std::size_t operand, std::span<const float> values, address to) const override {
    workers_.upload(operand, values);
    group_plan::upload(operand, values, to);
  }
  void download(std::size_t operand, address from, std::span<float> values) const override {
    workers_.download(operand, values);
    group_plan::download(operand, from, values);
  }

  /// Announces calls to the workers, and waits until all ranks are ready for them.
  void announce_calls(binding& bound, std::int64_t calls) const {
    announce(bound, warm_up_calls(collective(), calls), calls);
  }
  void run(binding& bound) const {
    if (bound.announced_calls == 0) announce(bound, 0, 1);
    together([&] { group_plan::run(bound); });
  }

 private:
  void announce(binding& bound, std::int64_t warm_up, std::int64_t calls) const {
    workers_.announce(warm_up, calls, is_recorded());
    together([&] { prepare(bound, warm_up, calls); });
    mpi::rank_group::barrier();
  }

  /// Does this rank's part of what all ranks do. After an error the workers would wait in NCCL, so
  /// it ends all ranks.
  template <class Work>
  static void together(Work&& work) {
    const mpi::rank_group& ranks = mpi::rank_group::all();
    if (ranks.size() == 1) return work();
    ranks.do_or_abort(work);
  }

  mpi::worker_rows workers_;
};

}  // namespace nccl_mpi

/// Collectives between GPUs, by all processes that a launcher started.
template <op::is_collective Op>
class plan<nccl_mpi::backend, Op> : public nccl_mpi::leader_plan {
 public:
  /// Throws as nccl::group_plan does.
  plan(const nccl_mpi::backend& device, const Op& o, const plan_request& request)
      : leader_plan(device, op::as_collective(o), request) {}
};

static_assert(implements<nccl_mpi::backend, op::allreduce>);
static_assert(implements<nccl_mpi::backend, op::collective>);

}  // namespace layerbench
