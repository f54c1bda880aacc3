// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/collective.hpp>
#include <layerbench/backend/nccl/backend.hpp>

namespace layerbench {

namespace nccl {

/// A collective between the GPUs of this machine. The bound operands are those of rank 0, on the
/// first GPU; the plan owns the memory of the other ranks, on their GPUs.
class group_plan {
 public:
  /// Throws unsupported unless there is one GPU per rank, and for types that NCCL lacks.
  group_plan(backend& device, const op::collective& o, const plan_request& request)
      : device_(device), collective_(o), block_(static_cast<std::size_t>(o.block(request.type))) {
    if (o.ranks != backend::ranks()) {
      throw unsupported(
          fmt::format("{} ranks were requested on {} GPUs", o.ranks, device.all().size()));
    }
    type_ = type_of(o, request.type);
    block_bytes_ = block_ * traits(request.type).bytes;
    operands_ = operands_of_rank(o, request);
    for (std::size_t rank = 1; rank < device_.all().size(); ++rank) {
      device_.on(rank, [&] {
        other_ranks_.push_back(
            {cuda::buffer(operands_[0].bytes), cuda::buffer(operands_[1].bytes)});
      });
    }
  }

  [[nodiscard]] const std::vector<plan_operand>& operands() const { return operands_; }
  [[nodiscard]] static std::size_t workspace_bytes() { return 0; }
  [[nodiscard]] std::string algorithm() const { return algorithm_of(backend::name, collective_); }

  /// `values`: those of all ranks, in the order of ranks. Fills the results of the other ranks with
  /// NaN, as far as the type has one: verification fails unless the collective writes them.
  void upload(std::size_t operand, std::span<const float> values, address to) const {
    const std::vector<std::byte> not_a_number(operands_[1].bytes, std::byte{0xFF});
    for (const auto& arrays : other_ranks_) {
      copy(arrays[1].data(), not_a_number.data(), not_a_number.size());
    }
    std::vector<std::byte> stored(row_bytes(operands_[operand].logical));
    for (std::size_t rank = 0; rank < rows(operand); ++rank) {
      store_row(operands_[operand].logical, row_of(values, operand, rank), stored.data());
      copy(address_of(rank, operand, to), stored.data(), stored.size());
    }
  }
  void download(std::size_t operand, address from, std::span<float> values) const {
    std::vector<std::byte> stored(row_bytes(operands_[operand].logical));
    for (std::size_t rank = 0; rank < rows(operand); ++rank) {
      void* const array = address_of(rank, operand, from);
      copy(stored.data(), operand == 0 ? array : result_in(array, rank), stored.size());
      load_row(operands_[operand].logical, stored.data(), row_of(values, operand, rank));
    }
  }

  struct binding {
    address from;
    address to;
    std::int64_t announced_calls =
        0;  ///< calls left for which announce_calls() has copied the input
  };
  [[nodiscard]] static binding bind(std::span<const address> addresses, address /*workspace*/) {
    return {addresses[0], addresses[1]};
  }
  static void place(binding& bound, std::span<const address> addresses) {
    bound = {addresses[0], addresses[1]};
  }

  /// Copies each rank's source into the memory of its result if the collective is in place.
  void announce_calls(binding& bound, std::int64_t calls) const {
    bound.announced_calls = calls;
    for (std::size_t rank = 0; collective_.is_in_place() && rank < rows(0); ++rank) {
      copy(source_in(address_of(rank, 1, bound.to), rank), address_of(rank, 0, bound.from),
           row_bytes(operands_[0].logical));
    }
  }
  void run(binding& bound) const {
    if (bound.announced_calls == 0) announce_calls(bound, 1);
    --bound.announced_calls;
    cuda::check(ncclGroupStart(), "ncclGroupStart");
    for (std::size_t rank = 0; rank < device_.all().size(); ++rank) {
      void* const to = address_of(rank, 1, bound.to);
      const void* from =
          collective_.is_in_place() ? source_in(to, rank) : address_of(rank, 0, bound.from);
      call(rank, from, result_in(to, rank));
    }
    cuda::check(ncclGroupEnd(), "ncclGroupEnd");
  }

 private:
  /// NCCL computes in floating-point types, and copies the numbers of others, too. Throws
  /// unsupported.
  [[nodiscard]] static ncclDataType_t type_of(const op::collective& o, dtype type) {
    switch (type) {
      case dtype::f32: return ncclFloat32;
      case dtype::f16: return ncclFloat16;
      case dtype::bf16: return ncclBfloat16;
      case dtype::s8:
      case dtype::u8:
      case dtype::f8_e4m3:
        if (!o.adds()) return ncclUint8;
        [[fallthrough]];
      default: throw unsupported(fmt::format("no {} of {} through NCCL", name(o.kind), name(type)));
    }
  }

  /// Enqueues the part of one rank.
  void call(std::size_t rank, const void* from, address to) const {
    const nccl::rank& own = device_.all()[rank];
    ncclComm_t all = own.communicator.get();
    switch (collective_.kind) {
      case op::collective_kind::all_reduce:
        return cuda::check(ncclAllReduce(from, to, block_, type_, ncclSum, all, own.stream),
                           "ncclAllReduce");
      case op::collective_kind::all_gather:
        return cuda::check(ncclAllGather(from, to, block_, type_, all, own.stream),
                           "ncclAllGather");
      case op::collective_kind::reduce_scatter:
        return cuda::check(ncclReduceScatter(from, to, block_, type_, ncclSum, all, own.stream),
                           "ncclReduceScatter");
      case op::collective_kind::broadcast:
        return cuda::check(ncclBroadcast(from, to, block_, type_, 0, all, own.stream),
                           "ncclBroadcast");
      case op::collective_kind::all_to_all: return exchange(own, from, to);
    }
  }

  /// As NCCL's manual has it; ncclAlltoAll needs NCCL 2.28.
  void exchange(const nccl::rank& own, const void* from, address to) const {
    ncclComm_t all = own.communicator.get();
    for (std::size_t peer = 0; peer < device_.all().size(); ++peer) {
      const std::size_t offset = peer * block_bytes_;
      cuda::check(ncclSend(static_cast<const std::byte*>(from) + offset, block_, type_,
                           static_cast<int>(peer), all, own.stream),
                  "ncclSend");
      cuda::check(ncclRecv(static_cast<std::byte*>(to) + offset, block_, type_,
                           static_cast<int>(peer), all, own.stream),
                  "ncclRecv");
    }
  }

  /// Ranks that have a row of the operand, and the row of one of them.
  [[nodiscard]] std::size_t rows(std::size_t operand) const {
    return static_cast<std::size_t>(operands_[operand].logical.extents[0]);
  }
  template <class Number>
  [[nodiscard]] std::span<Number> row_of(std::span<Number> values, std::size_t operand,
                                         std::size_t rank) const {
    const auto count = static_cast<std::size_t>(operands_[operand].logical.extents[1]);
    return values.subspan(rank * count, count);
  }

  [[nodiscard]] address address_of(std::size_t rank, std::size_t operand, address first) const {
    return rank == 0 ? first : other_ranks_[rank - 1].at(operand).data();
  }
  /// Where a rank's source is in the memory of its result, in place.
  [[nodiscard]] address source_in(address array, std::size_t rank) const {
    return static_cast<std::byte*>(array) +
           source_offset(collective_, operands_[0].logical.type, static_cast<std::int64_t>(rank));
  }
  /// Where the result begins in its memory. In place, NCCL sums a block where the rank has it.
  [[nodiscard]] address result_in(address array, std::size_t rank) const {
    const bool own_block =
        collective_.in_place && collective_.kind == op::collective_kind::reduce_scatter;
    return static_cast<std::byte*>(array) + (own_block ? rank * block_bytes_ : 0);
  }

  /// Copies after all work enqueued on any GPU, and waits.
  void copy(void* to, const void* from, std::size_t bytes) const {
    device_.synchronize();
    device_.copy(to, from, bytes);
    device_.synchronize();
  }

  backend& device_;
  op::collective collective_;
  std::size_t block_;            ///< elements
  std::size_t block_bytes_ = 0;  ///< of one block
  ncclDataType_t type_{};
  std::vector<plan_operand> operands_;
  std::vector<std::array<cuda::buffer, 2>> other_ranks_;  ///< src and dst of ranks 1, 2...
};

}  // namespace nccl

/// Collectives between the GPUs of this machine.
template <op::is_collective Op>
class plan<nccl::backend, Op> : public nccl::group_plan {
 public:
  /// Throws as nccl::group_plan does.
  plan(nccl::backend& device, const Op& o, const plan_request& request)
      : group_plan(device, op::as_collective(o), request) {}
};

static_assert(implements<nccl::backend, op::allreduce>);
static_assert(implements<nccl::backend, op::collective>);

}  // namespace layerbench
