// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <layerbench/backend/mpi/command.hpp>
#include <layerbench/backend/mpi/rank_group.hpp>
#include <layerbench/backend/mpi/worker.hpp>
#include <layerbench/backend/nccl/backend.hpp>
#include <layerbench/backend/nccl/calls.hpp>
#include <layerbench/backend/nccl_mpi/connect.hpp>

namespace layerbench::nccl_mpi {

/// The arrays of a worker on its GPU, and NCCL's calls.
class gpu_arrays : public mpi::worker_arrays {
 public:
  void reserve(std::size_t bytes) override {
    if (bytes <= bytes_) return;
    bytes_ = bytes;
    for (nccl::buffer& array : arrays_) {
      array = {};  // frees the old array first
      array = gpu_->memory(bytes, 0);
    }
  }
  void set_result_bits() override {
    gpu_->fill(arrays_.back().data(), bytes_, std::byte{0xFF});
    gpu_->synchronize();
  }
  void write(std::size_t array, std::size_t first, std::span<const std::byte> bytes) override {
    copy(bytes_of(array) + first, bytes.data(), bytes.size());
  }
  void read(std::size_t array, std::size_t first, std::span<std::byte> bytes) override {
    copy(bytes.data(), bytes_of(array) + first, bytes.size());
  }
  [[nodiscard]] std::size_t result_offset(const mpi::command& next) const override {
    return nccl::result_offset(next.collective, next.type, mpi::rank_group::all().rank());
  }
  void communicate(const mpi::command& next) override {
    nccl::collective_calls calls(*gpu_, next.collective, next.type, next.recorded == 1,
                                 {{arrays_.front().data(), arrays_.back().data()}});
    calls.prepare(next.warm_up, next.count);
    mpi::rank_group::barrier();
    for (std::int64_t i = 0; i < next.count; ++i) calls.run();
    gpu_->synchronize();
  }
  void execute(const mpi::command& next) override {
    switch (next.what) {
      case mpi::command::kind::find_gpu: static_cast<void>(gather_gpus()); return;
      case mpi::command::kind::connect:
        if (next.count == 1) nccl::backend::register_buffers();
        gpu_.emplace();
        return;
      case mpi::command::kind::disconnect:
        arrays_ = {};
        bytes_ = 0;
        gpu_.reset();
        return;
      default: return mpi::worker_arrays::execute(next);
    }
  }

 private:
  class member : public nccl::backend {
   public:
    member() : nccl::backend(/*threads=*/1, connect()) {}
  };

  [[nodiscard]] std::byte* bytes_of(std::size_t array) const {
    return static_cast<std::byte*>(arrays_.at(array).data());
  }
  void copy(void* to, const void* from, std::size_t bytes) const {
    gpu_->copy(to, from, bytes);
    gpu_->synchronize();
  }

  std::optional<member> gpu_;
  std::array<nccl::buffer, 2> arrays_;  ///< src and dst
  std::size_t bytes_ = 0;
};

}  // namespace layerbench::nccl_mpi
