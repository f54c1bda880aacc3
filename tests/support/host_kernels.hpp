// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <cuda_runtime_api.h>
#include <nvrtc.h>

#include <layerbench/backend/kernels/gpu/kernel_source.hpp>

#include "host_cuda.hpp"
#include "host_launch.hpp"

/// Stands in for NVRTC and for the part of the CUDA run time that runs kernels: these are compiled
/// for processors when the tests are, by write_kernels. Code is its own source. To be included in
/// one file of a program.

/// How many programs were compiled.
inline int host_compilations = 0;
/// Blocks and threads per block of each launch.
struct host_grid {
  dim3 blocks, threads;
};
inline std::vector<host_grid> host_grids;

struct _nvrtcProgram {
  std::string source;
};

extern "C" {

const char* nvrtcGetErrorString(nvrtcResult /*status*/) { return ""; }
nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  *count = 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetSupportedArchs(int* all) {
  *all = 90;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCreateProgram(nvrtcProgram* built, const char* source, const char* /*name*/,
                               int /*headers*/, const char* const* /*texts*/,
                               const char* const* /*names*/) {
  *built = new _nvrtcProgram{source};
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  delete *program;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram /*program*/, int /*count*/,
                                const char* const* /*options*/) {
  ++host_compilations;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram /*program*/, std::size_t* size) {
  *size = 0;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram /*program*/, char* /*log*/) { return NVRTC_SUCCESS; }
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, std::size_t* size) {
  *size = program->source.size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* code) {
  std::memcpy(code, program->source.c_str(), program->source.size() + 1);
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetPTXSize(nvrtcProgram /*program*/, std::size_t* /*size*/) {
  return NVRTC_ERROR_INTERNAL_ERROR;
}
nvrtcResult nvrtcGetPTX(nvrtcProgram /*program*/, char* /*code*/) {
  return NVRTC_ERROR_INTERNAL_ERROR;
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t* created, const void* code,
                                cudaJitOption* /*options*/, void** /*values*/, unsigned /*count*/,
                                cudaLibraryOption* /*library_options*/, void** /*library_values*/,
                                unsigned /*library_count*/) {
  const std::string_view source(static_cast<const char*>(code));
  const auto has = [&](std::string_view part) { return source.find(part) != source.npos; };
  const host_kernels& all = has(layerbench::gpu::f32_source)    ? host_f32::all()
                            : has(layerbench::gpu::bf16_source) ? host_bf16::all()
                                                                : host_f16::all();
  *created = reinterpret_cast<cudaLibrary_t>(const_cast<host_kernels*>(&all));
  return cudaSuccess;
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t* result, cudaLibrary_t library, const char* name) {
  const auto& all = *reinterpret_cast<const host_kernels*>(library);
  const auto found = all.find(name);
  if (found == all.end()) return cudaErrorSymbolNotFound;
  *result = reinterpret_cast<cudaKernel_t>(found->second);
  return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3 blocks, dim3 threads, void** arguments,
                             std::size_t shared, cudaStream_t /*stream*/) {
  if (shared != 0 || threads.x > 1024 || blocks.y > 65535) return cudaErrorInvalidConfiguration;
  host_grids.push_back({blocks, threads});
  const auto bind = reinterpret_cast<host_kernel>(const_cast<void*>(kernel));
  return host_enqueue(
      [blocks, threads, run = bind(arguments)] { host_run_grid(blocks, threads, run); });
}

}  // extern "C"
