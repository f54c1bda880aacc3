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

/// NCCL between all GPUs of this machine, which this program leads.
namespace layerbench::nccl {

/// "2.28.9" of 22809, as NCCL counts versions.
[[nodiscard]] inline std::string version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

/// One GPU's part.
struct rank {
  cuda::handle<ncclComm_t, &ncclCommDestroy> library;
  cudaStream_t stream;
  cuda::stream own = {};  ///< of all but the first, whose stream is the backend's
};

class backend : public cuda::backend {
 public:
  static constexpr std::string_view name = "nccl";
  static constexpr bool waits = true;
  static constexpr std::string_view more_ranks = "each GPU is a rank";

  static void choose(int number) = delete;  ///< all of them take part
  cuda::stream_clock& clock() = delete;     ///< the wall clock counts: all have to be through
  void record() = delete;                   ///< nothing is recorded of several streams

  /// Each GPU is one; 1 where there is none, as when rows are only listed.
  static int ranks() {
    int count = 0;
    return why_none() || cudaGetDeviceCount(&count) != cudaSuccess ? 1 : std::max(1, count);
  }

  explicit backend(int threads) : cuda::backend(threads) {
    std::vector<ncclComm_t> result(static_cast<std::size_t>(ranks()));
    cuda::check(ncclCommInitAll(result.data(), ranks(), nullptr), "ncclCommInitAll");
    for (auto* const item : result) {
      all_.push_back({decltype(rank::library)(item), stream()});
      if (all_.size() == 1) continue;
      on(all_.size() - 1, [&] { all_.back().own = cuda::make_stream(); });
      all_.back().stream = all_.back().own.get();
    }
  }

  static void describe(description& facts) {
    cuda::backend::describe(facts);
    int version = 0;
    cuda::check(ncclGetVersion(&version), "ncclGetVersion");
    facts["nccl_version"] = version_text(version);
    facts["nccl_compiled_version"] = version_text(NCCL_VERSION_CODE);
    facts["nccl_ranks"] = std::to_string(ranks());
  }

  /// Waits for all GPUs.
  void synchronize() const {
    for (const rank& item : all_) {
      cuda::check(cudaStreamSynchronize(item.stream), "cudaStreamSynchronize");
    }
  }

  [[nodiscard]] const std::vector<rank>& all() const { return all_; }

  /// Does `work` with GPU `number` as the current one, and has the first one current after it.
  template <class Work>
  void on(std::size_t number, Work&& work) const {
    cuda::check(cudaSetDevice(static_cast<int>(number)), "cudaSetDevice");
    work();
    activate();
  }

 private:
  static bool why_none() noexcept { return cuda::why_unusable().has_value(); }

  std::vector<rank> all_;
};

static_assert(layerbench::backend<backend>);

}  // namespace layerbench::nccl
