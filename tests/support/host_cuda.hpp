// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

/// Stands in for the CUDA run time in a program that does not link it: a GPU whose memory is this
/// program's, and where all is done at once. To be included in one file of a program.

/// The number in an environment variable, which programs get from their tests.
inline int host_number(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}
/// How many GPUs there are, and the number of the first one on the bus.
inline int host_gpus = host_number("SOFTWARE_GPUS", 1);
inline const int host_first_gpu = host_number("SOFTWARE_FIRST_GPU", 0);
/// The one in use.
inline int host_gpu = 0;
/// Seconds of the GPU's own that work has taken, where events are to count these: what is copied
/// and filled, and what the test adds.
inline double host_seconds = 0;
inline bool events_count_work = false;
inline double seconds_a_copy = 0;
inline double seconds_a_fill = 0;
/// Recorded graphs that were launched, and graphs that are there, as they are and to be launched.
inline int host_launches = 0;
inline int host_graphs = 0;
/// Whether a stream records, and whether something came that it cannot. Where several do at once,
/// the first has all that is recorded.
inline bool host_records = false;
inline std::vector<cudaStream_t> host_recording_streams;
inline bool host_record_broken = false;
/// The stream in which each event of this thread was recorded last.
inline thread_local std::map<cudaEvent_t, cudaStream_t> host_recorded_in;
/// Which stream waited for which other one.
inline std::vector<std::pair<cudaStream_t, cudaStream_t>> host_waits;
/// Prints at the end of a process with SOFTWARE_GPU_REPORT how often each stream waited.
inline const struct host_wait_report {
  ~host_wait_report() {
    if (std::getenv("SOFTWARE_GPU_REPORT") == nullptr) return;
    std::map<cudaStream_t, int> waits;
    for (const auto& [later, earlier] : host_waits) ++waits[later];
    for (const auto& [stream, count] : waits) {
      std::fprintf(stderr, "software_gpu: a stream waited %d times\n", count);
    }
  }
} host_wait_reporter;
/// What every call returns after an illegal access.
inline std::atomic<cudaError_t> host_fault = cudaSuccess;
/// Bytes that were copied between the GPU's memory and the host's.
inline std::size_t host_copied_bytes = 0;
/// Whether the GPU's work runs at the moment, on this thread.
inline thread_local bool host_gpu_works = false;
/// The GPU's memory: bytes by first address.
inline std::map<const char*, std::size_t> host_gpu_blocks;
inline bool host_is_on_gpu(const void* address) {
  const auto* place = static_cast<const char*>(address);
  auto after = host_gpu_blocks.upper_bound(place);
  return after != host_gpu_blocks.begin() && place < (--after)->first + after->second;
}
/// Bytes that are free on them.
inline const auto host_gpu_memory =
    static_cast<std::size_t>(host_number("SOFTWARE_GPU_BYTES", 1 << 30));

template <class Raw>
cudaError_t host_make(Raw** result, std::size_t bytes) {
  *result = static_cast<Raw*>(std::malloc(bytes));
  return cudaSuccess;
}
inline cudaError_t host_free(void* created) {
  std::free(created);
  return cudaSuccess;
}

using host_work = std::vector<std::function<void()>>;
inline host_work host_recorded;
inline int host_recorded_copies = 0;  ///< by the runtime, not by kernels

/// Whether no work is done: what the host does is looked at alone.
inline bool host_skips_work = false;

/// Does work now, or records it.
inline cudaError_t host_enqueue(std::function<void()> work) {
  if (host_fault != cudaSuccess) return host_fault;
  if (host_skips_work) return cudaSuccess;
  if (host_records) {
    host_recorded.push_back(std::move(work));
  } else {
    host_gpu_works = true;
    work();
    host_gpu_works = false;
  }
  return cudaSuccess;
}
/// What cannot be done while the stream records.
inline cudaError_t host_unrecorded() {
  host_record_broken = host_record_broken || host_records;
  return host_records ? cudaErrorStreamCaptureUnsupported : host_fault.load();
}
template <class Raw>
cudaError_t host_make_graph(Raw* result, host_work work) {
  *result = reinterpret_cast<Raw>(new host_work(std::move(work)));
  ++host_graphs;
  return cudaSuccess;
}
template <class Raw>
cudaError_t host_free_graph(Raw graph) {
  delete reinterpret_cast<host_work*>(graph);
  --host_graphs;
  return cudaSuccess;
}

extern "C" {

const char* cudaGetErrorName(cudaError_t /*status*/) { return ""; }
const char* cudaGetErrorString(cudaError_t /*status*/) { return ""; }
cudaError_t cudaGetLastError() { return host_fault; }
cudaError_t cudaPeekAtLastError() { return host_fault; }
cudaError_t cudaGetDeviceCount(int* count) {
  *count = host_gpus;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* number) {
  *number = host_gpu;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* place, int size, int number) {
  std::snprintf(place, static_cast<std::size_t>(size), "0000:%02X:00.0",
                static_cast<unsigned>(0x3B + host_first_gpu + number));
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int number) {
  if (number >= host_gpus) return cudaErrorInvalidDevice;
  host_gpu = number;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* all, int /*number*/) {
  std::strncpy(static_cast<char*>(all->name), "this processor", sizeof all->name);
  all->l2CacheSize = 1 << 20;
  all->major = 9;
  all->multiProcessorCount = 1;
  all->totalGlobalMem = host_gpu_memory;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int /*number*/) {
  switch (which) {  // those of an H200
    case cudaDevAttrClockRate: *value = 1'980'000; break;
    case cudaDevAttrMemoryClockRate: *value = 3'201'000; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = 6144; break;
    default: return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* output, unsigned /*flags*/) {
  return host_make(output, 1);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return host_free(stream); }
cudaError_t cudaStreamSynchronize(cudaStream_t /*stream*/) { return host_unrecorded(); }
cudaError_t cudaMalloc(void** result, std::size_t bytes) {
  const cudaError_t status = host_unrecorded();
  if (status != cudaSuccess) return status;
  host_make(result, bytes);
  host_gpu_blocks[static_cast<const char*>(*result)] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  host_gpu_blocks.erase(static_cast<const char*>(memory));
  return host_free(memory);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/,
                            cudaStream_t /*stream*/) {
  if (host_is_on_gpu(to) != host_is_on_gpu(from)) host_copied_bytes += bytes;
  host_recorded_copies += host_records ? 1 : 0;
  return host_enqueue([=] {
    std::memcpy(to, from, bytes);
    host_seconds += seconds_a_copy;
  });
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t /*stream*/) {
  return host_enqueue([=] {
    std::memset(to, value, bytes);
    host_seconds += seconds_a_fill;
  });
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode /*mode*/) {
  const auto& known = host_recording_streams;
  if (std::find(known.begin(), known.end(), stream) != known.end()) return cudaErrorIllegalState;
  if (!host_records) host_record_broken = false;
  host_records = true;
  host_recording_streams.push_back(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t /*stream*/, cudaStreamCaptureStatus* status) {
  *status = host_records ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* built) {
  host_work work = std::exchange(host_recorded, {});
  std::erase(host_recording_streams, stream);
  host_records = !host_recording_streams.empty();
  *built = nullptr;
  return host_record_broken ? cudaErrorStreamCaptureInvalidated
                            : host_make_graph(built, std::move(work));
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return host_free_graph(graph); }
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* created, cudaGraph_t graph,
                                          unsigned long long /*flags*/) {
  return host_make_graph(created, *reinterpret_cast<host_work*>(graph));
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) { return host_free_graph(graph); }
cudaError_t cudaGraphUpload(cudaGraphExec_t /*graph*/, cudaStream_t /*stream*/) {
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t /*stream*/) {
  ++host_launches;
  for (const auto& item : *reinterpret_cast<host_work*>(graph)) item();
  return cudaSuccess;
}

cudaError_t cudaLibraryUnload(cudaLibrary_t /*library*/) { return cudaSuccess; }
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all) {
  *free = *all = host_gpu_memory;
  return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t /*stream*/, cudaHostFn_t work, void* with) {
  return host_enqueue([=] { work(with); });
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* result, unsigned /*flags*/) {
  return host_make(result, sizeof(double));
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return host_free(event); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  host_recorded_in[event] = stream;
  static std::atomic<int> good_events = host_number("SOFTWARE_GPU_EVENTS", INT_MAX);
  if (--good_events < 0) host_fault = cudaErrorIllegalAddress;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const double milliseconds = events_count_work
                                  ? 1e3 * host_seconds
                                  : std::chrono::duration<double, std::milli>(now).count();
  std::memcpy(event, &milliseconds, sizeof milliseconds);
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
  host_waits.emplace_back(stream, host_recorded_in[event]);
  return host_fault;
}
cudaError_t cudaEventSynchronize(cudaEvent_t /*event*/) { return host_fault; }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  double from = 0;
  double to = 0;
  std::memcpy(&from, begin, sizeof from);
  std::memcpy(&to, end, sizeof to);
  *milliseconds = static_cast<float>(to - from);
  return cudaSuccess;
}

}  // extern "C"
