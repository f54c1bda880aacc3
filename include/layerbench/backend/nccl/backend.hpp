// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <fmt/format.h>

#include <layerbench/backend/cuda/device_backend.hpp>

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

/// Ends the program, for the given reason.
using program_end = void (*)(const std::string& why);
[[noreturn]] inline void end_process(const std::string& why) {
  static_cast<void>(std::fputs(("layerbench: " + why + '\n').c_str(), stderr));
  std::_Exit(static_cast<int>(exit_code::failure));
}

/// Ends the program after NCCL has reported an error for 10 s. No call returns some errors, such as
/// those of the network: the calls wait for ever, and threads that wait in NCCL cannot end. Rows of
/// complete rounds are in the result file.
class error_watch {
 public:
  error_watch(ncclComm_t of, program_end end)
      : thread_([of, end](const std::stop_token& stop) { watch(of, end, stop); }) {}

 private:
  static void watch(ncclComm_t of, program_end end, const std::stop_token& stop) {
    constexpr int patience = 10;  // seconds
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any never;
    ncclResult_t status = ncclSuccess;
    for (int failed = 0; failed < patience;) {
      never.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
      if (stop.stop_requested()) return;
      const ncclResult_t asked = ncclCommGetAsyncError(of, &status);
      if (asked != ncclSuccess) status = asked;
      failed = status == ncclSuccess ? 0 : failed + 1;
    }
    end("ncclCommGetAsyncError: " + cuda::status_traits<ncclResult_t>::text(status));
  }

  std::jthread thread_;
};

/// Watched, and destroyed with the last object that needs it.
using communicator = std::shared_ptr<ncclComm>;
[[nodiscard]] inline communicator owned(ncclComm_t raw, program_end end = end_process) {
  struct watched {
    cuda::handle<ncclComm_t, &ncclCommDestroy> self;
    error_watch watch;  ///< ends first
    watched(cuda::handle<ncclComm_t, &ncclCommDestroy> of, program_end end)
        : self(std::move(of)), watch(self.get(), end) {}
  };
  auto whole = std::make_shared<watched>(cuda::handle<ncclComm_t, &ncclCommDestroy>(raw), end);
  return {whole, whole->self.get()};
}

/// Memory of a GPU. Registered memory is NCCL's own kind and known to a communicator, so that NCCL
/// may send from it without a copy to its internal buffers, as `-R 1` of NCCL's tests has it.
class buffer {
 public:
  buffer() = default;
  explicit buffer(std::size_t bytes) : plain_(bytes) {}
  /// Throws api_error.
  buffer(std::size_t bytes, communicator with) {
    if (bytes == 0) return;
    void* raw = nullptr;
    cuda::check(ncclMemAlloc(&raw, bytes), fmt::format("ncclMemAlloc of {} bytes", bytes));
    allocated_.reset(raw);
    void* handle = nullptr;
    cuda::check(ncclCommRegister(with.get(), raw, bytes, &handle), "ncclCommRegister");
    registration_ = {handle, deregister{std::move(with)}};
  }
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
  buffer(buffer&&) = default;
  /// Deregisters the old memory before it frees it.
  buffer& operator=(buffer&& other) noexcept {
    registration_ = std::move(other.registration_);
    allocated_ = std::move(other.allocated_);
    plain_ = std::move(other.plain_);
    return *this;
  }
  ~buffer() = default;
  [[nodiscard]] void* data() const noexcept {
    return allocated_ ? allocated_.get() : plain_.data();
  }

 private:
  struct deregister {
    communicator with;
    void operator()(void* handle) const noexcept {
      static_cast<void>(ncclCommDeregister(with.get(), handle));
    }
  };

  cuda::buffer plain_;
  cuda::handle<void*, &ncclMemFree> allocated_;
  std::unique_ptr<void, deregister> registration_;
};

/// What connects a GPU of this process to the others.
struct rank {
  nccl::communicator communicator;
  cudaStream_t stream;
  cuda::stream owned_stream = {};  ///< empty for the first GPU, which uses the backend's stream
};

/// The communicators of this process, one per GPU that it uses, and their place among all.
struct membership {
  std::vector<communicator> communicators;
  int first;  ///< rank of the first of them
  int ranks;  ///< of all processes
};

/// Adds what result files say of NCCL. Throws api_error.
inline void describe_library(description& facts) {
  int version = 0;
  cuda::check(ncclGetVersion(&version), "ncclGetVersion");
  facts["nccl_version"] = {cuda::library_version_text(static_cast<std::size_t>(version)),
                           field_dimension::version};
  facts["nccl_compiled_version"] = {cuda::library_version_text(NCCL_VERSION_CODE),
                                    field_dimension::version};
}

class backend : public cuda::device_backend {
 public:
  static constexpr std::string_view name = "nccl";

  [[nodiscard]] static run::backend_entry entry() {
    run::backend_entry own = cuda::device_backend::entry();
    own.probe = &probe;
    own.describe = &describe;
    own.waits = true;
    own.plans_record = true;
    own.choose_device = nullptr;  // all GPUs take part
    own.devices = nullptr;
    own.register_buffers = [] { register_buffers(); };
    own.ranks = &ranks;
    own.more_ranks = "each GPU is a rank";
    return own;
  }
  /// Plans record, since all ranks must record the same.
  [[nodiscard]] std::unique_ptr<run::recording> record(
      const std::function<void()>& /*work*/) const override {
    return nullptr;
  }

  /// Number of GPUs; 1 without a GPU, where rows can still be listed.
  static int ranks() { return std::max(1, cuda::device_count()); }

  /// Also refuses CUDA_LAUNCH_BLOCKING with several GPUs. A launch then returns when its kernel
  /// ends, and NCCL's kernels end when those of all GPUs run, which are launched later.
  static std::optional<std::string> probe() noexcept {
    if (auto reason = cuda::unavailable_reason()) return reason;
    const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
    if (ranks() == 1 || blocking == nullptr || std::string_view(blocking) == "0") return {};
    return "CUDA_LAUNCH_BLOCKING is set, and one process has several GPUs; unset it";
  }

  /// Whether memory is registered from now on. Unless told to, NCCL does not register memory for
  /// NVLink SHARP where a process has several ranks (its release notes).
  static void register_buffers(bool registers = true) {
    registered_memory = registers;
    if (registers) static_cast<void>(::setenv("NCCL_SINGLE_PROC_MEM_REG_ENABLE", "1", 0));
  }
  static bool registers_buffers() { return registered_memory; }

  explicit backend(int threads) : backend(threads, all_gpus()) {}

  static void describe(description& facts) {
    cuda::device_backend::describe(facts);
    describe_library(facts);
    facts["nccl_ranks"] = {std::to_string(ranks()), field_dimension::setting};
  }

  [[nodiscard]] std::unique_ptr<run::device_memory> allocate(std::size_t bytes) const override {
    return std::make_unique<run::memory_of<buffer>>(memory(bytes, 0));
  }
  /// Memory of GPU `number` of this process, which is the current device.
  [[nodiscard]] buffer memory(std::size_t bytes, std::size_t number) const {
    return registered_memory ? buffer(bytes, ranks_[number].communicator) : buffer(bytes);
  }

  /// Waits for all GPUs of this process.
  void synchronize() const override {
    for (const rank& item : ranks_) {
      cuda::check(cudaStreamSynchronize(item.stream), "cudaStreamSynchronize");
    }
  }

  /// The GPUs of this process.
  [[nodiscard]] const std::vector<rank>& local() const { return ranks_; }
  /// The rank of the first of them.
  [[nodiscard]] int first() const { return first_; }
  /// The ranks of all processes.
  [[nodiscard]] int size() const { return size_; }

  /// Runs `work` with GPU `number` as the current device, then makes the first GPU current again.
  template <class Work>
  void on(std::size_t number, Work&& work) const {
    cuda::check(cudaSetDevice(static_cast<int>(number)), "cudaSetDevice");
    try {
      work();
    } catch (...) {
      static_cast<void>(cudaSetDevice(device()));
      throw;
    }
    activate();
  }

  /// Gives each GPU of this process but the first a source and a result of at least `bytes` each.
  /// All plans share them, since rows of all sizes and types are prepared at once. Growing moves
  /// them, and after a failure there are none, so plans reserve before each use. Throws api_error.
  void reserve(const std::array<std::size_t, 2>& bytes) const {
    others_.resize(ranks_.size() - 1);
    for (std::size_t number = 1; number < ranks_.size(); ++number) {
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        array_of_all_plans& kept = others_[number - 1].at(i);
        if (bytes.at(i) <= kept.bytes) continue;
        synchronize();
        kept = {};  // frees the old one first
        on(number, [&] { kept.memory = memory(bytes.at(i), number); });
        kept.bytes = bytes.at(i);
      }
    }
  }
  /// The source (0) or the result (1) of GPU `number`, not the first.
  [[nodiscard]] address array(std::size_t number, std::size_t which) const {
    return others_.at(number - 1).at(which).memory.data();
  }

 protected:
  /// The current device is the GPU of the first communicator.
  backend(int threads, membership of)
      : cuda::device_backend(threads), first_(of.first), size_(of.ranks) {
    for (communicator& item : of.communicators) {
      ranks_.push_back({std::move(item), stream()});
      if (ranks_.size() == 1) continue;
      on(ranks_.size() - 1, [&] { ranks_.back().owned_stream = cuda::make_stream(); });
      ranks_.back().stream = ranks_.back().owned_stream.get();
    }
  }

  /// Connects all GPUs of this machine. Throws api_error.
  static membership all_gpus() {
    const int gpus = ranks();
    std::vector<ncclComm_t> raw(static_cast<std::size_t>(gpus));
    cuda::check(ncclCommInitAll(raw.data(), gpus, nullptr), "ncclCommInitAll");
    membership result{{}, 0, gpus};
    for (ncclComm_t item : raw) result.communicators.push_back(owned(item));
    return result;
  }

 private:
  struct array_of_all_plans {
    buffer memory;
    std::size_t bytes = 0;
  };

  inline static bool registered_memory = false;

  std::vector<rank> ranks_;
  int first_;
  int size_;
  mutable std::vector<std::array<array_of_all_plans, 2>> others_;  ///< of GPUs 1, 2...
};

static_assert(layerbench::backend<backend>);

}  // namespace layerbench::nccl
