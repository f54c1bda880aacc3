// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include <cuda_runtime_api.h>
#include <nccl.h>

/// What the stand-ins for NCCL share: its calls as data. The program that includes this is the
/// library, and has enqueue().
namespace nccl_calls {

enum class call { all_reduce, all_gather, reduce_scatter, broadcast, send, receive };

struct asked {
  call what;
  const void* from;
  void* to;
  std::size_t count;
  ncclDataType_t type;
  ncclComm_t comm;
  cudaStream_t stream;
  int peer = 0;  ///< or root
  ncclRedOp_t op = ncclSum;
};
using calls = std::vector<asked>;

inline std::size_t bytes_of(const asked& item) {
  const std::size_t element = item.type == ncclFloat32 ? 4 : item.type == ncclUint8 ? 1 : 2;
  return item.count * element;
}

/// Sizes of memory by first address.
using blocks_of_memory = std::map<const char*, std::size_t>;
inline bool has(const blocks_of_memory& blocks, const void* address) {
  const auto* place = static_cast<const char*>(address);
  auto after = blocks.upper_bound(place);
  return after != blocks.begin() && place < (--after)->first + after->second;
}

/// Takes a call.
ncclResult_t enqueue(const asked& item);

}  // namespace nccl_calls

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = 22809;
  return ncclSuccess;
}
ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  using enum nccl_calls::call;
  return nccl_calls::enqueue({all_reduce, from, to, count, type, comm, stream, 0, op});
}
ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  using enum nccl_calls::call;
  return nccl_calls::enqueue({reduce_scatter, from, to, count, type, comm, stream, 0, op});
}
ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  using enum nccl_calls::call;
  return nccl_calls::enqueue({all_gather, from, to, count, type, comm, stream});
}
ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  using enum nccl_calls::call;
  return nccl_calls::enqueue({broadcast, from, to, count, type, comm, stream, root});
}
ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  using enum nccl_calls::call;
  return nccl_calls::enqueue({send, from, nullptr, count, type, comm, stream, peer});
}
ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  using enum nccl_calls::call;
  return nccl_calls::enqueue({receive, nullptr, to, count, type, comm, stream, peer});
}

}  // extern "C"
