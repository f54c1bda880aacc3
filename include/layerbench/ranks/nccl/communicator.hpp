// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include <layerbench/backend/nccl/allreducer.hpp>
#include <layerbench/backend/nccl_mpi/connect.hpp>
#include <layerbench/ranks/mpi/communicator.hpp>

namespace layerbench::run {

namespace detail {

[[nodiscard]] inline cudaStream_t compute_stream(compute_device& device) {
  return static_cast<cudaStream_t>(device.queue());
}

/// Through NCCL, on the GPU of this rank.
class nccl_allreduce_plan final : public allreduce_plan {
 public:
  /// Throws unsupported for types that NCCL does not add up. Bound plans need `*by`.
  nccl_allreduce_plan(compute_device& device, const op::collective& o, const plan_request& request,
                      const std::optional<nccl::allreducer>& by)
      : allreduce_plan(device, o, request.type, operands_of_rank(o, request)), allreducer_(by) {
    static_cast<void>(nccl::type_of(o, request.type));
  }

  [[nodiscard]] std::string algorithm() const override {
    return algorithm_of(nccl::backend::name, collective());
  }
  [[nodiscard]] std::unique_ptr<bound_plan> bound_to(std::span<const address> operands,
                                                     address /*workspace*/) const override {
    return std::make_unique<bound>(*this, operands);
  }

  class bound final : public bound_allreduce {
   public:
    bound(const nccl_allreduce_plan& plan, std::span<const address> operands)
        : bound_allreduce(operands), plan_(plan) {}
    void run() override {
      mpi::rank_group::all().do_or_abort([&] {
        plan_.allreducer_.value().enqueue(plan_.collective(), plan_.type(), from(), to(),
                                          compute_stream(plan_.device()));
      });
    }
    /// As run(), overlapped with what the device does next.
    void run_overlapped() {
      mpi::rank_group::all().do_or_abort([&] {
        plan_.allreducer_.value().enqueue_overlapped(plan_.collective(), plan_.type(), from(), to(),
                                                     compute_stream(plan_.device()));
      });
    }

   private:
    const nccl_allreduce_plan& plan_;
  };

 private:
  const std::optional<nccl::allreducer>& allreducer_;
};

/// On the GPU of this rank, through NCCL.
class nccl_bucket_allreduces final : public bucket_allreduces {
 public:
  explicit nccl_bucket_allreduces(const nccl::allreducer& by)
      : allreduces_(by, bucket_between(mpi::rank_group::all().size()), dtype::f32) {}
  double next() override { return allreduces_.next(); }
  void finish() override { allreduces_.finish(); }

 private:
  nccl::repeated_allreduce allreduces_;
};

}  // namespace detail

/// The ranks that a launcher started. They may have a GPU each, which NCCL connects.
class nccl_communicator final : public mpi_communicator {
 public:
  nccl_communicator() = default;
  nccl_communicator(const nccl_communicator&) = delete;
  nccl_communicator& operator=(const nccl_communicator&) = delete;
  /// NCCL destroys its communicator when all ranks do. If the leader's GPU is lost, the workers
  /// wait in NCCL and receive no command, so all ranks are ended.
  ~nccl_communicator() override {
    if (!allreducer_ || !is_leader()) return;
    if (const auto lost = allreducer_->lasting_error()) mpi::rank_group::all().abort_all(*lost);
    send({.what = command::kind::disconnect});
  }

  [[nodiscard]] std::optional<command> receive() override {
    std::optional<command> next = mpi_communicator::receive();
    while (next && next->what == command::kind::disconnect) {
      gpu_bucket_allreduces_.reset();
      allreducer_.reset();
      next = mpi_communicator::receive();
    }
    return next;
  }
  void take_gpus() override {
    if (const auto conflict = nccl_mpi::conflict_between_ranks()) {
      throw unavailable("--ranks: " + *conflict);
    }
    mpi::rank_group::all().do_or_abort(
        [&] { allreducer_.emplace(nccl_mpi::connect().communicators.front()); });
  }
  void prepare_background_allreduce() override {
    mpi_communicator::prepare_background_allreduce();
    if (allreducer_)
      mpi::rank_group::all().do_or_abort([&] { gpu_bucket_allreduces_.emplace(*allreducer_); });
  }
  void post(compute_device& device, bound_plan& collective) override {
    if (device.is_host()) return mpi_communicator::post(device, collective);
    dynamic_cast<detail::nccl_allreduce_plan::bound&>(collective).run_overlapped();
  }
  void wait_for_posted(compute_device& device) override {
    if (device.is_host()) return mpi_communicator::wait_for_posted(device);
    allreducer_.value().join(detail::compute_stream(device));
  }
  [[nodiscard]] std::unique_ptr<any_plan> plan(compute_device& device, const op::any& op,
                                               const plan_request& request) override {
    const auto* allreduce = op.get<op::allreduce>();
    if (device.is_host() || allreduce == nullptr)
      return mpi_communicator::plan(device, op, request);
    return std::make_unique<detail::nccl_allreduce_plan>(device, allreduce->as_collective(),
                                                         request, allreducer_);
  }
  void describe(description& facts) const override {
    mpi_communicator::describe(facts);
    if (allreducer_) nccl::describe_library(facts);
  }

 protected:
  [[nodiscard]] detail::bucket_allreduces& bucket_allreduces_on(compute_device& device) override {
    if (device.is_host()) return mpi_communicator::bucket_allreduces_on(device);
    return gpu_bucket_allreduces_.value();
  }

 private:
  std::optional<nccl::allreducer> allreducer_;
  std::optional<detail::nccl_bucket_allreduces> gpu_bucket_allreduces_;
};

}  // namespace layerbench::run
