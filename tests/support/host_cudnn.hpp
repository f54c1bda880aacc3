// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <cudnn.h>

#include <layerbench/backend/number_types.hpp>

#include "host_cuda.hpp"

/// Stands in for cuDNN's classic functions in a program that does not link it: computes on this
/// program's processor, in double precision, what the calls describe. To be included in one file of
/// a program.

namespace {

/// Positions along the four axes that all tensors have here.
using host_place = std::array<std::int64_t, 4>;

/// Numbers of one type in memory.
struct host_numbers {
  cudnnDataType_t type;
  void* start;

  [[nodiscard]] double get(std::int64_t i) const {
    if (type == CUDNN_DATA_BFLOAT16) return float(static_cast<const layerbench::bf16*>(start)[i]);
    if (type == CUDNN_DATA_HALF) return double(static_cast<const layerbench::f16*>(start)[i]);
    if (type == CUDNN_DATA_INT32) return static_cast<const std::int32_t*>(start)[i];
    if (type == CUDNN_DATA_FP8_E4M3) {
      return float(static_cast<const layerbench::f8_e4m3*>(start)[i]);
    }
    return static_cast<const float*>(start)[i];
  }
  void set(std::int64_t i, double value) const {
    const auto number = static_cast<float>(value);
    if (type == CUDNN_DATA_BFLOAT16) {
      static_cast<layerbench::bf16*>(start)[i] = layerbench::bf16(number);
    } else if (type == CUDNN_DATA_HALF) {
      static_cast<layerbench::f16*>(start)[i] = static_cast<layerbench::f16>(number);
    } else if (type == CUDNN_DATA_INT32) {
      static_cast<std::int32_t*>(start)[i] = static_cast<std::int32_t>(value);
    } else {
      static_cast<float*>(start)[i] = number;
    }
  }
};

/// Calls `visit` with each place in a tensor of these sizes.
template <class Visit>
void host_for_each(const host_place& sizes, const Visit& visit) {
  host_place at{};
  for (at[0] = 0; at[0] < sizes[0]; ++at[0]) {
    for (at[1] = 0; at[1] < sizes[1]; ++at[1]) {
      for (at[2] = 0; at[2] < sizes[2]; ++at[2]) {
        for (at[3] = 0; at[3] < sizes[3]; ++at[3]) visit(at);
      }
    }
  }
}

}  // namespace

/// What the descriptors of the library are here.
struct cudnnContext {};
struct cudnnTensorStruct {
  cudnnDataType_t type;
  host_place sizes, steps;
};
struct cudnnPoolingStruct {
  cudnnPoolingMode_t mode;
  std::int64_t r, s, top, left, v, h;
};
struct cudnnLRNStruct {
  std::int64_t size;
  double alpha, beta, k;
};

namespace {

/// A tensor in memory.
struct host_tensor {
  cudnnTensorStruct how;
  host_numbers numbers;

  host_tensor(const cudnnTensorStruct& described, const void* at)
      : how(described), numbers{described.type, const_cast<void*>(at)} {}
  [[nodiscard]] std::int64_t position(const host_place& at) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < at.size(); ++i) sum += at[i] * how.steps[i];
    return sum;
  }
  [[nodiscard]] double get(const host_place& at) const { return numbers.get(position(at)); }
  void set(const host_place& at, double value) const { numbers.set(position(at), value); }
};

template <class Raw>
cudnnStatus_t host_new(Raw** result) {
  *result = new Raw{};
  return CUDNN_STATUS_SUCCESS;
}
template <class Raw>
cudnnStatus_t host_delete(Raw* raw) {
  delete raw;
  return CUDNN_STATUS_SUCCESS;
}

/// Results are written, not added to what was there: the only way that this program uses.
bool host_overwrites(const void* alpha, const void* beta) {
  return *static_cast<const float*>(alpha) == 1 && *static_cast<const float*>(beta) == 0;
}
template <class Work>
cudnnStatus_t host_compute(bool supported, Work&& work) {
  if (!supported) return CUDNN_STATUS_NOT_SUPPORTED;
  return host_enqueue(std::forward<Work>(work)) == cudaSuccess ? CUDNN_STATUS_SUCCESS
                                                               : CUDNN_STATUS_EXECUTION_FAILED;
}

}  // namespace

extern "C" {

std::size_t cudnnGetVersion() { return CUDNN_VERSION; }
const char* cudnnGetErrorString(cudnnStatus_t /*status*/) { return ""; }
void cudnnGetLastErrorString(char* message, std::size_t /*size*/) { *message = 0; }
cudnnStatus_t cudnnCreate(cudnnHandle_t* output) { return host_new(output); }
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return host_delete(handle); }
cudnnStatus_t cudnnSetStream(cudnnHandle_t /*handle*/, cudaStream_t /*stream*/) {
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* built) {
  return host_new(built);
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t raw) { return host_delete(raw); }
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t raw, cudnnDataType_t type,
                                         int axes, const int* sizes, const int* steps) {
  if (axes != 4) return CUDNN_STATUS_NOT_SUPPORTED;
  raw->type = type;
  std::copy_n(sizes, axes, raw->sizes.begin());
  std::copy_n(steps, axes, raw->steps.begin());
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
