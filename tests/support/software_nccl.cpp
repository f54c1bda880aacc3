// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0

// NCCL between processes on the GPU in software: found before NVIDIA's library, it computes the
// collectives by MPI, in the streams of software_gpu. SOFTWARE_NCCL names what it insists on:
// `graph`, that calls are recorded; `registered`, that their arrays are. With `alone` it cannot
// connect, and with `streams` it prints at its end how many calls each stream had. With `broken`
// calls never end, and only ncclCommGetAsyncError() says so.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <cuda_runtime_api.h>
#include <mpi.h>
#include <nccl.h>
#include <unistd.h>

#include <layerbench/backend/number_types.hpp>

#include "nccl_calls.hpp"

struct ncclComm {
  MPI_Comm all;
  int rank;
  int size;
  nccl_calls::blocks_of_memory registered;
  std::map<cudaStream_t, int> calls;  ///< in each stream
};

namespace {

using namespace nccl_calls;

int group_depth = 0;
calls group;
std::deque<calls> enqueued;  ///< kept, as a graph may run them again

bool has_setting(std::string_view what) {
  const char* text = std::getenv("SOFTWARE_NCCL");
  return text != nullptr && std::string_view(text).find(what) != std::string_view::npos;
}

/// Those of all ranks, up to the next call. The memory is kept: fresh pages take longer than a sum.
const std::vector<char>& gather(const asked& item, std::size_t blocks) {
  const auto bytes = static_cast<int>(blocks * bytes_of(item));
  thread_local std::vector<char> all;
  all.resize(static_cast<std::size_t>(item.comm->size * bytes));
  MPI_Allgather(item.from, bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, item.comm->all);
  return all;
}

/// Writes the sums of `count` elements, the first at byte `first` of each rank's array.
template <class T>
void add(const asked& item, const std::vector<char>& all, std::size_t first) {
  const std::size_t array = all.size() / static_cast<std::size_t>(item.comm->size);
  for (std::size_t i = 0; i < item.count; ++i) {
    float sum = 0;
    for (std::size_t at = first + i * sizeof(T); at < all.size(); at += array) {
      T term{};
      std::memcpy(&term, &all[at], sizeof term);
      sum += static_cast<float>(term);
    }
    const T rounded = static_cast<T>(sum);
    std::memcpy(static_cast<char*>(item.to) + i * sizeof(T), &rounded, sizeof rounded);
  }
}
void add(const asked& item, const std::vector<char>& all, std::size_t first) {
  if (item.type == ncclFloat32) return add<float>(item, all, first);
  if (item.type == ncclFloat16) return add<layerbench::f16>(item, all, first);
  if (item.type == ncclBfloat16) return add<layerbench::bf16>(item, all, first);
  std::fputs("software_nccl: a sum of another type\n", stderr);
  std::abort();
}

void exchange(const calls& of) {
  std::vector<MPI_Request> requests;
  for (const asked& item : of) {
    MPI_Request& request = requests.emplace_back();
    const auto bytes = static_cast<int>(bytes_of(item));
    if (item.what == call::send) {
      MPI_Isend(item.from, bytes, MPI_BYTE, item.peer, 0, item.comm->all, &request);
    } else {
      MPI_Irecv(item.to, bytes, MPI_BYTE, item.peer, 0, item.comm->all, &request);
    }
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

/// Runs in a stream.
void CUDART_CB compute(void* work) {
  while (has_setting("broken")) pause();
  const calls& of = *static_cast<const calls*>(work);
  const asked& item = of.front();
  const std::size_t own = static_cast<std::size_t>(item.comm->rank) * bytes_of(item);
  switch (item.what) {
    case call::all_reduce: return add(item, gather(item, 1), 0);
    case call::reduce_scatter:
      return add(item, gather(item, static_cast<std::size_t>(item.comm->size)), own);
    case call::all_gather: {
      const std::vector<char>& all = gather(item, 1);
      std::memcpy(item.to, all.data(), all.size());
      return;
    }
    case call::broadcast: {
      if (item.comm->rank == item.peer) std::memmove(item.to, item.from, bytes_of(item));
      MPI_Bcast(item.to, static_cast<int>(bytes_of(item)), MPI_BYTE, item.peer, item.comm->all);
      return;
    }
    case call::send:
    case call::receive: return exchange(of);
  }
}

std::set<const void*> all_registered;  // with any communicator

/// What is wrong with a call; empty if nothing is.
std::string fault_of(const asked& item) {
  for (const void* array : {item.from, static_cast<const void*>(item.to)}) {
    if (has_setting("registered") && array != nullptr && !has(item.comm->registered, array))
      return "an array is not registered";
  }
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaStreamIsCapturing(item.stream, &status);
  if (has_setting("graph") && status == cudaStreamCaptureStatusNone)
    return "a call is not recorded";
  return {};
}

ncclResult_t flush() {
  if (group.empty()) return ncclSuccess;
  const cudaStream_t stream = group.front().stream;
  calls& work = enqueued.emplace_back(std::move(group));
  group.clear();
  return cudaLaunchHostFunc(stream, &compute, &work) == cudaSuccess ? ncclSuccess
                                                                    : ncclUnhandledCudaError;
}

ncclResult_t make(ncclComm_t* result, MPI_Comm among) {
  MPI_Comm all = MPI_COMM_NULL;
  MPI_Comm_dup(among, &all);
  auto* communicator = new ncclComm{all, 0, 1, {}, {}};
  MPI_Comm_rank(all, &communicator->rank);
  MPI_Comm_size(all, &communicator->size);
  *result = communicator;
  return ncclSuccess;
}

}  // namespace

ncclResult_t nccl_calls::enqueue(const asked& item) {
  if (const std::string fault = fault_of(item); !fault.empty()) {
    std::fprintf(stderr, "software_nccl: %s\n", fault.c_str());
    return ncclInvalidUsage;
  }
  ++item.comm->calls[item.stream];
  group.push_back(item);
  return group_depth > 0 ? ncclSuccess : flush();
}

extern "C" {

const char* ncclGetErrorString(ncclResult_t /*result*/) { return "refused by the stand-in"; }
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::snprintf(id->internal, sizeof id->internal, "of process %d", static_cast<int>(getpid()));
  return ncclSuccess;
}
/// Refuses, as NCCL does, other ids than rank 0's and two ranks on one GPU.
ncclResult_t ncclCommInitRank(ncclComm_t* result, int size, ncclUniqueId id, int rank) {
  if (has_setting("alone")) return ncclSystemError;
  make(result, MPI_COMM_WORLD);
  if ((*result)->size != size || (*result)->rank != rank) return ncclInvalidArgument;
  ncclUniqueId first = id;
  MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, (*result)->all);
  if (std::memcmp(&first, &id, sizeof id) != 0) return ncclInvalidArgument;
  int number = 0;
  char own[32] = {};
  cudaGetDevice(&number);
  cudaDeviceGetPCIBusId(own, sizeof own, number);
  std::vector<char> all(sizeof own * static_cast<std::size_t>(size));
  MPI_Allgather(own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, (*result)->all);
  int equal = 0;
  for (int i = 0; i < size; ++i) {
    equal += std::strcmp(own, &all[sizeof own * static_cast<std::size_t>(i)]) == 0 ? 1 : 0;
  }
  return equal == 1 ? ncclSuccess : ncclInvalidUsage;
}
ncclResult_t ncclCommInitAll(ncclComm_t* result, int count, const int* /*devices*/) {
  return count == 1 ? make(result, MPI_COMM_SELF) : ncclInvalidArgument;
}
/// Waits for all ranks, as NCCL may.
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (!comm->registered.empty()) {
    std::fputs("software_nccl: memory is still registered\n", stderr);
    std::abort();
  }
  if (has_setting("streams")) {
    for (const auto& [stream, count] : comm->calls) {
      std::fprintf(stderr, "software_nccl: a stream had %d calls\n", count);
    }
  }
  MPI_Barrier(comm->all);
  MPI_Comm_free(&comm->all);
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t /*comm*/, ncclResult_t* status) {
  *status = has_setting("broken") ? ncclRemoteError : ncclSuccess;
  return ncclSuccess;
}
ncclResult_t ncclMemAlloc(void** result, std::size_t bytes) {
  return cudaMalloc(result, bytes) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
ncclResult_t ncclMemFree(void* memory) {
  if (all_registered.contains(memory)) {
    std::fputs("software_nccl: registered memory is freed\n", stderr);
    std::abort();
  }
  return cudaFree(memory) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
ncclResult_t ncclCommRegister(const ncclComm_t comm, void* memory, std::size_t bytes,
                              void** handle) {
  comm->registered[static_cast<const char*>(memory)] = bytes;
  all_registered.insert(memory);
  *handle = memory;
  return ncclSuccess;
}
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) {
  const bool known = comm->registered.erase(static_cast<const char*>(handle)) == 1;
  all_registered.erase(handle);
  return known ? ncclSuccess : ncclInvalidArgument;
}
ncclResult_t ncclGroupStart() {
  ++group_depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() { return --group_depth > 0 ? ncclSuccess : flush(); }
}  // extern "C"
