// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <fmt/format.h>

#include <layerbench/backend/collective_buffers.hpp>
#include <layerbench/backend/nccl/backend.hpp>

namespace layerbench::nccl {

/// Where a rank has its source and its result.
struct arrays {
  address from;
  address to;
};

/// NCCL computes in floating-point types, and copies the numbers of others, too. Throws
/// unsupported.
[[nodiscard]] inline ncclDataType_t type_of(const op::collective& o, dtype type) {
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

/// Where the result of a rank begins in its memory, in bytes. In place, NCCL sums a block where the
/// rank has it.
[[nodiscard]] inline std::size_t result_offset(const op::collective& o, dtype type,
                                               std::int64_t rank) {
  if (!o.in_place || o.kind != op::collective_kind::reduce_scatter) return 0;
  return static_cast<std::size_t>(rank * o.block(type)) * traits(type).bytes;
}

/// A group of NCCL's calls. After an error the destructor ends it: otherwise later calls would join
/// the open group and never run.
class call_group {
 public:
  call_group() { cuda::check(ncclGroupStart(), "ncclGroupStart"); }
  call_group(const call_group&) = delete;
  call_group& operator=(const call_group&) = delete;
  ~call_group() {
    if (is_open_) static_cast<void>(ncclGroupEnd());
  }
  /// Enqueues the calls. Throws api_error.
  void end() {
    is_open_ = false;
    cuda::check(ncclGroupEnd(), "ncclGroupEnd");
  }

 private:
  bool is_open_ = true;
};

/// The calls of a collective that the GPUs of this process make, in the same arrays. All processes
/// make the same calls.
class collective_calls {
 public:
  /// `recorded`: calls run as a graph. Throws unsupported for types that NCCL lacks.
  collective_calls(const backend& device, const op::collective& o, dtype type, bool recorded,
                   std::vector<arrays> of_ranks)
      : device_(device),
        collective_(o),
        type_(nccl::type_of(o, type)),
        number_type_(type),
        count_(static_cast<std::size_t>(o.block(type))),
        recorded_(recorded),
        arrays_(std::move(of_ranks)) {}

  /// Moves the calls to other arrays.
  void place(std::vector<arrays> of_ranks) {
    arrays_ = std::move(of_ranks);
    graphs_.clear();
    is_launched_ = false;
  }

  /// Gets ready for `calls` calls of run(): copies sources into place if the collective is in
  /// place, makes untimed calls, and waits for them.
  void prepare(std::int64_t warm_up, std::int64_t calls) {
    copy_into_place();
    // The root of a broadcast may be done before the others, so calls with one root would overlap.
    // Each call has the next rank as its root, which has the array from the call before.
    root_ = 0;
    for (std::int64_t i = 0; i < warm_up; ++i) enqueue();
    if (recorded_) record(calls);
    device_.synchronize();
  }

  /// Enqueues the next call. The first of recorded calls enqueues all.
  void run() {
    if (!recorded_) return enqueue();
    if (std::exchange(is_launched_, true)) return;
    if (graphs_.empty()) throw error("calls run that were not recorded");
    for (const cuda::graph& item : graphs_) item.launch();
  }

 private:
  [[nodiscard]] static std::byte* bytes_at(address memory, std::size_t offset) {
    return static_cast<std::byte*>(memory) + offset;
  }
  [[nodiscard]] std::int64_t rank(std::size_t number) const {
    return device_.first() + static_cast<std::int64_t>(number);
  }
  [[nodiscard]] std::size_t block_bytes() const { return count_ * traits(number_type_).bytes; }
  /// In place, the source in the memory of the result.
  [[nodiscard]] address source_in_place(std::size_t number) const {
    return bytes_at(arrays_[number].to, source_offset(collective_, number_type_, rank(number)));
  }

  void copy_into_place() const {
    if (!collective_.is_in_place()) return;
    device_.synchronize();
    const std::size_t bytes = row_bytes(collective_.operands(op::pass::fwd, number_type_).front());
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      if (rank(i) >= collective_.sources()) break;
      device_.copy(source_in_place(i), arrays_[i].from, bytes);
    }
    device_.synchronize();
  }

  /// Captures calls, one graph per GPU. All ranks record at the same time: NCCL may connect them,
  /// and registers the arrays with them.
  void record(std::int64_t calls) {
    graphs_.clear();
    std::deque<cuda::capture> captures;
    for (const nccl::rank& item : device_.local()) captures.emplace_back(item.stream);
    for (std::int64_t i = 0; i < calls; ++i) enqueue();
    std::vector<cuda::recorded_graph> captured;
    for (cuda::capture& item : captures) captured.push_back(item.end());
    for (std::size_t i = 0; i < captured.size(); ++i) {
      graphs_.emplace_back(device_.local()[i].stream, captured[i]);
    }
    is_launched_ = false;
  }

  /// Enqueues one call on all GPUs of this process.
  void enqueue() {
    call_group group;
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      call(device_.local()[i], collective_.is_in_place() ? source_in_place(i) : arrays_[i].from,
           bytes_at(arrays_[i].to, result_offset(collective_, number_type_, rank(i))));
    }
    group.end();
    root_ = (root_ + 1) % device_.size();
  }

  void call(const nccl::rank& own, const void* from, address to) const {
    ncclComm_t all = own.communicator.get();
    switch (collective_.kind) {
      case op::collective_kind::all_reduce:
        return cuda::check(ncclAllReduce(from, to, count_, type_, ncclSum, all, own.stream),
                           "ncclAllReduce");
      case op::collective_kind::all_gather:
        return cuda::check(ncclAllGather(from, to, count_, type_, all, own.stream),
                           "ncclAllGather");
      case op::collective_kind::reduce_scatter:
        return cuda::check(ncclReduceScatter(from, to, count_, type_, ncclSum, all, own.stream),
                           "ncclReduceScatter");
      case op::collective_kind::broadcast:
        return cuda::check(ncclBroadcast(from, to, count_, type_, root_, all, own.stream),
                           "ncclBroadcast");
      case op::collective_kind::all_to_all: return exchange(own, from, to);
    }
  }

  /// As NCCL's manual has it; ncclAlltoAll needs NCCL 2.28.
  void exchange(const nccl::rank& own, const void* from, address to) const {
    ncclComm_t all = own.communicator.get();
    for (int peer = 0; peer < device_.size(); ++peer) {
      const std::size_t offset = static_cast<std::size_t>(peer) * block_bytes();
      cuda::check(ncclSend(static_cast<const std::byte*>(from) + offset, count_, type_, peer, all,
                           own.stream),
                  "ncclSend");
      cuda::check(ncclRecv(bytes_at(to, offset), count_, type_, peer, all, own.stream), "ncclRecv");
    }
  }

  const backend& device_;
  op::collective collective_;
  ncclDataType_t type_;
  dtype number_type_;
  std::size_t count_;  ///< elements of a block
  bool recorded_;
  std::vector<arrays> arrays_;  ///< of each GPU of this process
  int root_ = 0;                ///< of the next broadcast
  std::deque<cuda::graph> graphs_;
  bool is_launched_ = false;
};

}  // namespace layerbench::nccl
