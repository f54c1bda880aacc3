// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <cuda_runtime_api.h>
#include <nvrtc.h>

#include "counting_libraries.hpp"

/// Stand in for NVRTC and for what loads and runs its code, as counting_libraries.hpp does for
/// others.

namespace {

/// What any program is compiled to, and what the compiler says of it.
constexpr std::string_view code_of_the_test = "code";
bool source_is_wrong = false;

inline nvrtcResult use(const char* function, nvrtcProgram program) {
  fake.use(program);
  return fake.fails(function) ? NVRTC_ERROR_INTERNAL_ERROR : NVRTC_SUCCESS;
}
inline nvrtcResult give_code(const char* function, nvrtcProgram program, char* to) {
  std::ranges::copy(code_of_the_test, to);
  return use(function, program);
}
inline nvrtcResult give_size(const char* function, nvrtcProgram program, std::size_t* to) {
  *to = code_of_the_test.size();
  return use(function, program);
}
inline cudaError_t use_of_cuda(const char* function, void* handle) {
  fake.use(handle);
  return fake.fails(function) ? cudaErrorUnknown : cudaSuccess;
}

}  // namespace

extern "C" {

const char* nvrtcGetErrorString(nvrtcResult /*status*/) { return "NVRTC_ERROR_OF_TEST"; }
nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  *count = 1;
  return fake.fails("nvrtcGetNumSupportedArchs") ? NVRTC_ERROR_INTERNAL_ERROR : NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetSupportedArchs(int* all) {
  *all = 90;
  return fake.fails("nvrtcGetSupportedArchs") ? NVRTC_ERROR_INTERNAL_ERROR : NVRTC_SUCCESS;
}
nvrtcResult nvrtcCreateProgram(nvrtcProgram* built, const char* /*source*/, const char* /*name*/,
                               int /*headers*/, const char* const* /*texts*/,
                               const char* const* /*names*/) {
  return make("nvrtcCreateProgram", built, NVRTC_ERROR_OUT_OF_MEMORY);
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) { return destroy<nvrtcResult>(*program); }
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int /*count*/,
                                const char* const* /*options*/) {
  const nvrtcResult status = use("nvrtcCompileProgram", program);
  return source_is_wrong ? NVRTC_ERROR_COMPILATION : status;
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, std::size_t* size) {
  return give_size("nvrtcGetProgramLogSize", program, size);
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  return give_code("nvrtcGetProgramLog", program, log);
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, std::size_t* size) {
  return give_size("nvrtcGetCUBINSize", program, size);
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* code) {
  return give_code("nvrtcGetCUBIN", program, code);
}
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, std::size_t* size) {
  return give_size("nvrtcGetPTXSize", program, size);
}
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* code) {
  return give_code("nvrtcGetPTX", program, code);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* all, int /*number*/) {
  all->major = 9;
  return fake.fails("cudaGetDeviceProperties") ? cudaErrorUnknown : cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr /*which*/, int /*number*/) {
  *value = 1;
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int /*value*/, std::size_t /*bytes*/, cudaStream_t stream) {
  fake.use(to);
  return use_of_cuda("cudaMemsetAsync", stream);
}
cudaError_t cudaLibraryLoadData(cudaLibrary_t* created, const void* /*code*/,
                                cudaJitOption* /*options*/, void** /*values*/, unsigned /*count*/,
                                cudaLibraryOption* /*library_options*/, void** /*library_values*/,
                                unsigned /*library_count*/) {
  return make("cudaLibraryLoadData", created, cudaErrorInvalidPtx);
}
cudaError_t cudaLibraryUnload(cudaLibrary_t library) { return destroy<cudaError_t>(library); }
cudaError_t cudaLibraryGetKernel(cudaKernel_t* result, cudaLibrary_t library,
                                 const char* /*name*/) {
  *result = reinterpret_cast<cudaKernel_t>(library);  // it lives as long
  return use_of_cuda("cudaLibraryGetKernel", library);
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3 /*blocks*/, dim3 /*threads*/,
                             void** /*arguments*/, std::size_t /*shared*/, cudaStream_t stream) {
  fake.use(const_cast<void*>(kernel));
  return use_of_cuda("cudaLaunchKernel", stream);
}

}  // extern "C"
