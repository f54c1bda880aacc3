// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime_api.h>

/// Stands in for the CUDA run time in a program that does not link it: a GPU whose memory is this
/// program's, and where all is done at once. To be included in one file of a program.

/// How many GPUs there are.
inline int host_gpus = 1;

extern "C" {

const char* cudaGetErrorName(cudaError_t /*status*/) { return ""; }
const char* cudaGetErrorString(cudaError_t /*status*/) { return ""; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
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
  *number = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int /*number*/) { return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* all, int /*number*/) {
  all->l2CacheSize = 1 << 20;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* made, unsigned /*flags*/) {
  *made = static_cast<cudaStream_t>(std::malloc(1));
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  std::free(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t /*stream*/) { return cudaSuccess; }
cudaError_t cudaMalloc(void** made, std::size_t bytes) {
  *made = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/,
                            cudaStream_t /*stream*/) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t /*stream*/) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}

}  // extern "C"
