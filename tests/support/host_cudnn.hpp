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
    return static_cast<const float*>(start)[i];
  }
  void set(std::int64_t i, double value) const {
    const auto number = static_cast<float>(value);
    if (type == CUDNN_DATA_BFLOAT16) {
      static_cast<layerbench::bf16*>(start)[i] = layerbench::bf16(number);
    } else if (type == CUDNN_DATA_HALF) {
      static_cast<layerbench::f16*>(start)[i] = static_cast<layerbench::f16>(number);
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
struct cudnnActivationStruct {
  cudnnActivationMode_t mode;
  double parameter;
};
struct cudnnPoolingStruct {
  cudnnPoolingMode_t mode;
  std::int64_t r, s, top, left, v, h;
};
struct cudnnLRNStruct {
  std::int64_t size;
  double alpha, beta, k;
};
struct cudnnOpTensorStruct {
  cudnnOpTensorOp_t mode;
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

double host_activation(const cudnnActivationStruct& how, double x) {
  switch (how.mode) {
    case CUDNN_ACTIVATION_RELU: return std::max(x, 0.0);
    case CUDNN_ACTIVATION_CLIPPED_RELU: return std::clamp(x, 0.0, how.parameter);
    case CUDNN_ACTIVATION_ELU: return x > 0 ? x : how.parameter * std::expm1(x);
    case CUDNN_ACTIVATION_SIGMOID: return 1 / (1 + std::exp(-x));
    case CUDNN_ACTIVATION_TANH: return std::tanh(x);
    default: return x / (1 + std::exp(-x));
  }
}
/// Of a function with result y.
double host_activation_gradient(const cudnnActivationStruct& how, double y) {
  switch (how.mode) {
    case CUDNN_ACTIVATION_SIGMOID: return y * (1 - y);
    case CUDNN_ACTIVATION_TANH: return 1 - y * y;
    default: return y > 0 ? 1 : 0;
  }
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

cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* created) {
  return host_new(created);
}
cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t raw) {
  return host_delete(raw);
}
cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t raw,
                                           cudnnActivationMode_t mode,
                                           cudnnNanPropagation_t /*nan*/, double parameter) {
  *raw = {mode, parameter};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t /*raw*/,
                                                    double beta) {
  return beta == 1 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}
cudnnStatus_t cudnnActivationForward(cudnnHandle_t /*handle*/, cudnnActivationDescriptor_t how,
                                     const void* alpha, const cudnnTensorDescriptor_t x_of,
                                     const void* x_at, const void* beta,
                                     const cudnnTensorDescriptor_t y_of, void* y_at) {
  const host_tensor x(*x_of, x_at);
  const host_tensor y(*y_of, y_at);
  return host_compute(host_overwrites(alpha, beta), [function = *how, x, y] {
    host_for_each(x.how.sizes,
                  [&](const auto& at) { y.set(at, host_activation(function, x.get(at))); });
  });
}
cudnnStatus_t cudnnActivationBackward(cudnnHandle_t /*handle*/, cudnnActivationDescriptor_t how,
                                      const void* alpha, const cudnnTensorDescriptor_t y_of,
                                      const void* y_at, const cudnnTensorDescriptor_t dy_of,
                                      const void* dy_at, const cudnnTensorDescriptor_t /*x_of*/,
                                      const void* /*x*/, const void* beta,
                                      const cudnnTensorDescriptor_t dx_of, void* dx_at) {
  const host_tensor y(*y_of, y_at);
  const host_tensor dy(*dy_of, dy_at);
  const host_tensor dx(*dx_of, dx_at);
  return host_compute(host_overwrites(alpha, beta), [function = *how, y, dy, dx] {
    host_for_each(y.how.sizes, [&](const auto& at) {
      dx.set(at, dy.get(at) * host_activation_gradient(function, y.get(at)));
    });
  });
}

cudnnStatus_t cudnnCreateOpTensorDescriptor(cudnnOpTensorDescriptor_t* result) {
  return host_new(result);
}
cudnnStatus_t cudnnDestroyOpTensorDescriptor(cudnnOpTensorDescriptor_t raw) {
  return host_delete(raw);
}
cudnnStatus_t cudnnSetOpTensorDescriptor(cudnnOpTensorDescriptor_t raw, cudnnOpTensorOp_t mode,
                                         cudnnDataType_t type, cudnnNanPropagation_t /*nan*/) {
  raw->mode = mode;
  const bool known = mode == CUDNN_OP_TENSOR_ADD && type == CUDNN_DATA_FLOAT;
  return known ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}
cudnnStatus_t cudnnOpTensor(cudnnHandle_t /*handle*/, const cudnnOpTensorDescriptor_t /*how*/,
                            const void* alpha1, const cudnnTensorDescriptor_t a_of,
                            const void* a_at, const void* alpha2,
                            const cudnnTensorDescriptor_t b_of, const void* b_at, const void* beta,
                            const cudnnTensorDescriptor_t c_of, void* c_at) {
  const host_tensor a(*a_of, a_at);
  const host_tensor b(*b_of, b_at);
  const host_tensor c(*c_of, c_at);
  return host_compute(host_overwrites(alpha1, beta) && host_overwrites(alpha2, beta), [a, b, c] {
    host_for_each(a.how.sizes, [&](const auto& at) { c.set(at, a.get(at) + b.get(at)); });
  });
}

}  // extern "C"
