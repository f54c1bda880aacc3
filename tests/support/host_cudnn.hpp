// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>

#include <cublasLt.h>
#include <cudnn_ops.h>
#include <gtest/gtest.h>

#include <layerbench/backend/numbers.hpp>

/// Stands in for cuDNN and cuBLAS where plans are kernels of the suite's own: a softmax over the
/// columns of a matrix, computed on this program's processor, and no pooling. To be included in one
/// file of a program.

/// What a descriptor of the library is here: a matrix.
struct cudnnTensorStruct {
  cudnnDataType_t type;
  int rows, columns;
};

namespace {

template <class T>
void softmax(const cudnnTensorStruct& of, const void* from, void* to) {
  for (int i = 0; i < of.rows; ++i) {
    const T* row = static_cast<const T*>(from) + i * of.columns;
    T* result = static_cast<T*>(to) + i * of.columns;
    double sum = 0;
    for (int j = 0; j < of.columns; ++j) sum += std::exp(static_cast<float>(row[j]));
    for (int j = 0; j < of.columns; ++j) {
      result[j] = static_cast<T>(
          static_cast<float>(std::exp(static_cast<double>(static_cast<float>(row[j]))) / sum));
    }
  }
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* /*made*/) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t /*handle*/) { return CUBLAS_STATUS_SUCCESS; }
std::size_t cublasLtGetVersion() { return 0; }
const char* cublasLtGetStatusName(cublasStatus_t /*status*/) { return ""; }
const char* cublasLtGetStatusString(cublasStatus_t /*status*/) { return ""; }

std::size_t cudnnGetVersion() { return 0; }
const char* cudnnGetErrorString(cudnnStatus_t /*status*/) { return ""; }
void cudnnGetLastErrorString(char* message, std::size_t /*size*/) { *message = 0; }
cudnnStatus_t cudnnCreate(cudnnHandle_t* /*made*/) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnDestroy(cudnnHandle_t /*handle*/) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnSetStream(cudnnHandle_t /*handle*/, cudaStream_t /*stream*/) {
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* made) {
  *made = new cudnnTensorStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t raw) {
  delete raw;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t raw, cudnnDataType_t type,
                                         int /*axes*/, const int* sizes, const int* steps) {
  EXPECT_EQ(steps[0], sizes[1]);
  EXPECT_EQ(steps[1], 1);
  EXPECT_EQ(sizes[2] * sizes[3], 1);
  *raw = {type, sizes[0], sizes[1]};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t /*handle*/, cudnnSoftmaxAlgorithm_t /*algo*/,
                                  cudnnSoftmaxMode_t mode, const void* /*alpha*/,
                                  cudnnTensorDescriptor_t of, const void* from,
                                  const void* /*beta*/, cudnnTensorDescriptor_t /*result*/,
                                  void* to) {
  EXPECT_EQ(mode, CUDNN_SOFTMAX_MODE_CHANNEL);
  if (of->type == CUDNN_DATA_FLOAT) softmax<float>(*of, from, to);
  if (of->type == CUDNN_DATA_HALF) softmax<layerbench::f16>(*of, from, to);
  if (of->type == CUDNN_DATA_BFLOAT16) softmax<layerbench::bf16>(*of, from, to);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* /*made*/) {
  return CUDNN_STATUS_NOT_SUPPORTED;
}
cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t /*raw*/) {
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t /*raw*/,
                                          cudnnPoolingMode_t /*mode*/,
                                          cudnnNanPropagation_t /*nan*/, int /*r*/, int /*s*/,
                                          int /*top*/, int /*left*/, int /*v*/, int /*h*/) {
  return CUDNN_STATUS_NOT_SUPPORTED;
}
cudnnStatus_t cudnnPoolingForward(cudnnHandle_t /*handle*/, cudnnPoolingDescriptor_t /*how*/,
                                  const void* /*alpha*/, cudnnTensorDescriptor_t /*of*/,
                                  const void* /*x*/, const void* /*beta*/,
                                  cudnnTensorDescriptor_t /*result*/, void* /*y*/) {
  return CUDNN_STATUS_NOT_SUPPORTED;
}
cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t /*handle*/, cudnnPoolingDescriptor_t /*how*/,
                                   const void* /*alpha*/, cudnnTensorDescriptor_t /*y_of*/,
                                   const void* /*y*/, cudnnTensorDescriptor_t /*dy_of*/,
                                   const void* /*dy*/, cudnnTensorDescriptor_t /*x_of*/,
                                   const void* /*x*/, const void* /*beta*/,
                                   cudnnTensorDescriptor_t /*dx_of*/, void* /*dx*/) {
  return CUDNN_STATUS_NOT_SUPPORTED;
}

}  // extern "C"
