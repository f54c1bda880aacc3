// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <fmt/format.h>

#include <layerbench/backend/cuda/backend.hpp>

template <>
struct layerbench::cuda::status_traits<ncclResult_t> {
  static constexpr std::string_view library = "NCCL";
  static bool is_success(ncclResult_t status) { return status == ncclSuccess; }
  static bool is_unsupported(ncclResult_t /*status*/) { return false; }
  static std::string text(ncclResult_t status) {
    return fmt::format("{}: {}", static_cast<int>(status), ncclGetErrorString(status));
  }
};

/// NCCL between all GPUs of this machine, in a single process.
namespace layerbench::nccl {

/// Communicator and stream of a GPU.
struct rank {
  cuda::handle<ncclComm_t, &ncclCommDestroy> communicator;
  cudaStream_t stream;
  cuda::stream owned_stream = {};  ///< empty for rank 0, which uses the stream of the backend
};

class backend : public cuda::backend {
 public:
  static constexpr std::string_view name = "nccl";
  static constexpr bool waits = true;
  static constexpr std::string_view more_ranks = "each GPU is a rank";

  static void choose(int number) = delete;  ///< all GPUs take part
  cuda::stream_clock& clock() = delete;     ///< a call ends when all GPUs are done: wall clock
  void record() = delete;                   ///< a graph captures one stream only

  /// Number of GPUs; 1 without a GPU, where rows can still be listed.
  static int ranks() {
    int count = 0;
    const bool none = cuda::unavailable_reason().has_value();
    return none || cudaGetDeviceCount(&count) != cudaSuccess ? 1 : std::max(1, count);
  }

  explicit backend(int threads) : cuda::backend(threads) {
    std::vector<ncclComm_t> communicators(static_cast<std::size_t>(ranks()));
    cuda::check(ncclCommInitAll(communicators.data(), ranks(), nullptr), "ncclCommInitAll");
    for (auto* const item : communicators) {
      ranks_.push_back({decltype(rank::communicator)(item), stream()});
      if (ranks_.size() == 1) continue;
      on(ranks_.size() - 1, [&] { ranks_.back().owned_stream = cuda::make_stream(); });
      ranks_.back().stream = ranks_.back().owned_stream.get();
    }
  }

  static void describe(description& facts) {
    cuda::backend::describe(facts);
    int version = 0;
    cuda::check(ncclGetVersion(&version), "ncclGetVersion");
    facts["nccl_version"] = cuda::library_version_text(static_cast<std::size_t>(version));
    facts["nccl_compiled_version"] = cuda::library_version_text(NCCL_VERSION_CODE);
    facts["nccl_ranks"] = std::to_string(ranks());
  }

  /// Waits for all GPUs.
  void synchronize() const {
    for (const rank& item : ranks_) {
      cuda::check(cudaStreamSynchronize(item.stream), "cudaStreamSynchronize");
    }
  }

  [[nodiscard]] const std::vector<rank>& all() const { return ranks_; }

  /// Runs `work` with GPU `number` as the current device, then makes the first GPU current again.
  template <class Work>
  void on(std::size_t number, Work&& work) const {
    cuda::check(cudaSetDevice(static_cast<int>(number)), "cudaSetDevice");
    work();
    activate();
  }

 private:
  std::vector<rank> ranks_;
};

static_assert(layerbench::backend<backend>);

}  // namespace layerbench::nccl
