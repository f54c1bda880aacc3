// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <set>
#include <string>

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <cudnn_backend.h>

/// Stand in for CUDA, cuBLAS and cuDNN in a program that links none of them: they count what is
/// made and destroyed, and fail when they are told to. To be included in one file of a program.

namespace {

struct libraries {
  std::set<void*> live;
  int result = 0;
  bool recording = false;  ///< its place stands among `live` for a stream that records
  int misused = 0;         ///< destroyed or used when it was not there
  int calls = 0;
  int failing_call = 0;  ///< that number fails; 0: none
  std::string failed;    ///< its function
  cudnnStatus_t failure = CUDNN_STATUS_INTERNAL_ERROR;

  /// Counts a call; true when it is to fail.
  bool fails(const char* function) {
    if (++calls != failing_call) return false;
    failed = function;
    return true;
  }
  template <class Raw>
  void make(Raw* raw, std::size_t bytes) {
    *raw = static_cast<Raw>(::operator new(bytes));
    live.insert(*raw);
    ++result;
  }
  void destroy(void* raw) {
    if (live.erase(raw) == 0) {
      ++misused;
    } else {
      ::operator delete(raw);
    }
  }
  void use(void* raw) {
    if (!live.contains(raw)) ++misused;
  }
};

libraries fake;

/// What the functions of a library do that make handles, or use them.
template <class Status, class Raw>
Status make(const char* function, Raw* raw, Status failure, std::size_t bytes = 1) {
  if (fake.fails(function)) return failure;
  fake.make(raw, bytes);
  return Status{};
}
inline cudnnStatus_t use(const char* function, std::initializer_list<void*> handles) {
  for (void* handle : handles) fake.use(handle);
  return fake.fails(function) ? fake.failure : CUDNN_STATUS_SUCCESS;
}
template <class Status>
Status destroy(void* raw) {
  fake.destroy(raw);
  return Status{};
}

}  // namespace

extern "C" {

const char* cudaGetErrorName(cudaError_t /*status*/) { return "cudaErrorOfTheTest"; }
const char* cudaGetErrorString(cudaError_t /*status*/) { return "as the test wants it"; }
cudaError_t cudaGetDevice(int* number) {
  if (fake.fails("cudaGetDevice")) return cudaErrorUnknown;
  *number = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* place, int /*size*/, int /*number*/) {
  *place = 0;
  return fake.fails("cudaDeviceGetPCIBusId") ? cudaErrorUnknown : cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* result, unsigned /*flags*/) {
  return make("cudaStreamCreateWithFlags", result, cudaErrorUnknown);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return destroy<cudaError_t>(stream); }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
/// A stream that records is in use until that is ended, which it is even where it fails.
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode /*mode*/) {
  fake.use(stream);
  if (fake.fails("cudaStreamBeginCapture")) return cudaErrorUnknown;
  fake.live.insert(&fake.recording);
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* result) {
  fake.use(stream);
  if (fake.live.erase(&fake.recording) == 0) ++fake.misused;
  *result = nullptr;
  return make("cudaStreamEndCapture", result, cudaErrorStreamCaptureInvalidated);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  fake.use(stream);
  *status = fake.live.contains(&fake.recording) ? cudaStreamCaptureStatusActive
                                                : cudaStreamCaptureStatusNone;
  return fake.fails("cudaStreamIsCapturing") ? cudaErrorUnknown : cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return destroy<cudaError_t>(graph); }
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* result, cudaGraph_t graph,
                                          unsigned long long /*flags*/) {
  fake.use(graph);
  return make("cudaGraphInstantiateWithFlags", result, cudaErrorUnknown);
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) { return destroy<cudaError_t>(graph); }
cudaError_t cudaGraphUpload(cudaGraphExec_t graph, cudaStream_t stream) {
  fake.use(graph);
  fake.use(stream);
  return fake.fails("cudaGraphUpload") ? cudaErrorUnknown : cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  fake.use(graph);
  fake.use(stream);
  return fake.fails("cudaGraphLaunch") ? cudaErrorUnknown : cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* result, unsigned /*flags*/) {
  return make("cudaEventCreateWithFlags", result, cudaErrorUnknown);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return destroy<cudaError_t>(event); }
// Of the clock and of activate(), which these tests do not call.
cudaError_t cudaSetDevice(int /*number*/) { return cudaErrorUnknown; }
cudaError_t cudaLaunchHostFunc(cudaStream_t /*stream*/, cudaHostFn_t /*work*/, void* /*with*/) {
  return cudaErrorUnknown;
}
cudaError_t cudaEventRecord(cudaEvent_t /*event*/, cudaStream_t /*stream*/) {
  return cudaErrorUnknown;
}
cudaError_t cudaEventSynchronize(cudaEvent_t /*event*/) { return cudaErrorUnknown; }
cudaError_t cudaEventElapsedTime(float* /*milliseconds*/, cudaEvent_t /*begin*/,
                                 cudaEvent_t /*end*/) {
  return cudaErrorUnknown;
}
cudaError_t cudaMalloc(void** result, std::size_t bytes) {
  return make("cudaMalloc", result, cudaErrorMemoryAllocation, bytes);
}
cudaError_t cudaFree(void* memory) { return destroy<cudaError_t>(memory); }

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/,
                            cudaStream_t stream) {
  fake.use(stream);
  std::memcpy(to, from, bytes);
  return fake.fails("cudaMemcpyAsync") ? cudaErrorUnknown : cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  fake.use(stream);
  return fake.fails("cudaStreamSynchronize") ? cudaErrorUnknown : cudaSuccess;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* result) {
  return make("cublasLtCreate", result, CUBLAS_STATUS_NOT_INITIALIZED);
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return destroy<cublasStatus_t>(handle); }
const char* cublasLtGetStatusName(cublasStatus_t /*status*/) { return "CUBLAS_STATUS_OF_TEST"; }
const char* cublasLtGetStatusString(cublasStatus_t /*status*/) { return "as the test wants it"; }

const char* cudnnGetErrorString(cudnnStatus_t /*status*/) { return "CUDNN_STATUS_OF_TEST"; }
void cudnnGetLastErrorString(char* message, std::size_t size) {
  std::strncpy(message, "more of it", size);
}
std::size_t cudnnGetVersion() { return CUDNN_VERSION; }
cudnnStatus_t cudnnCreate(cudnnHandle_t* result) {
  return make("cudnnCreate", result, CUDNN_STATUS_NOT_INITIALIZED);
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return destroy<cudnnStatus_t>(handle); }
cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t /*type*/,
                                           cudnnBackendDescriptor_t* result) {
  return make("cudnnBackendCreateDescriptor", result, fake.failure);
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  return destroy<cudnnStatus_t>(descriptor);
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  fake.use(descriptor);
  return fake.fails("cudnnBackendFinalize") ? fake.failure : CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t /*name*/,
                                       cudnnBackendAttributeType_t type, std::int64_t count,
                                       const void* elements) {
  fake.use(descriptor);
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    for (std::int64_t i = 0; i < count; ++i) {
      fake.use(static_cast<const cudnnBackendDescriptor_t*>(elements)[i]);
    }
  }
  return fake.fails("cudnnBackendSetAttribute") ? fake.failure : CUDNN_STATUS_SUCCESS;
}
/// Heuristics count three proposals and have two; an engine is number 7, has no notes and one knob,
/// of type and value 7, and needs 7 bytes.
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t most,
                                       std::int64_t* found, void* elements) {
  fake.use(descriptor);
  if (fake.fails("cudnnBackendGetAttribute")) return fake.failure;
  const bool proposals = name == CUDNN_ATTR_ENGINEHEUR_RESULTS;
  *found = proposals ? (most == 0 ? 3 : 2) : 1;
  if (type == CUDNN_TYPE_NUMERICAL_NOTE) *found = 0;
  if (type == CUDNN_TYPE_KNOB_TYPE)
    *static_cast<cudnnBackendKnobType_t*>(elements) = CUDNN_KNOB_TYPE_LDGB;
  if (type == CUDNN_TYPE_INT64) *static_cast<std::int64_t*>(elements) = 7;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    for (std::int64_t i = 0; i < most; ++i) {
      fake.use(static_cast<cudnnBackendDescriptor_t*>(elements)[i]);
    }
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* output) {
  return make("cudnnCreateTensorDescriptor", output, fake.failure);
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t raw) {
  return destroy<cudnnStatus_t>(raw);
}
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensorDesc,
                                         cudnnDataType_t /*dataType*/, int /*nbDims*/,
                                         const int* /*dimA*/, const int* /*strideA*/) {
  return use("cudnnSetTensorNdDescriptor", {tensorDesc});
}
cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* result) {
  return make("cudnnCreatePoolingDescriptor", result, fake.failure);
}
cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t raw) {
  return destroy<cudnnStatus_t>(raw);
}
cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t poolingDesc,
                                          cudnnPoolingMode_t /*mode*/,
                                          cudnnNanPropagation_t /*maxpoolingNanOpt*/,
                                          int /*windowHeight*/, int /*windowWidth*/,
                                          int /*verticalPadding*/, int /*horizontalPadding*/,
                                          int /*verticalStride*/, int /*horizontalStride*/) {
  return use("cudnnSetPooling2dDescriptor", {poolingDesc});
}
cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t poolingDesc,
                                  const void* /*alpha*/, const cudnnTensorDescriptor_t xDesc,
                                  const void* /*x*/, const void* /*beta*/,
                                  const cudnnTensorDescriptor_t yDesc, void* /*y*/) {
  return use("cudnnPoolingForward", {handle, poolingDesc, xDesc, yDesc});
}
cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t poolingDesc,
                                   const void* /*alpha*/, const cudnnTensorDescriptor_t yDesc,
                                   const void* /*y*/, const cudnnTensorDescriptor_t dyDesc,
                                   const void* /*dy*/, const cudnnTensorDescriptor_t xDesc,
                                   const void* /*x*/, const void* /*beta*/,
                                   const cudnnTensorDescriptor_t dxDesc, void* /*dx*/) {
  return use("cudnnPoolingBackward", {handle, poolingDesc, yDesc, dyDesc, xDesc, dxDesc});
}
cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t /*algo*/,
                                  cudnnSoftmaxMode_t /*mode*/, const void* /*alpha*/,
                                  const cudnnTensorDescriptor_t xDesc, const void* /*x*/,
                                  const void* /*beta*/, const cudnnTensorDescriptor_t yDesc,
                                  void* /*y*/) {
  return use("cudnnSoftmaxForward", {handle, xDesc, yDesc});
}
cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t /*algo*/,
                                   cudnnSoftmaxMode_t /*mode*/, const void* /*alpha*/,
                                   const cudnnTensorDescriptor_t yDesc, const void* /*y*/,
                                   const cudnnTensorDescriptor_t dyDesc, const void* /*dy*/,
                                   const void* /*beta*/, const cudnnTensorDescriptor_t dxDesc,
                                   void* /*dx*/) {
  return use("cudnnSoftmaxBackward", {handle, yDesc, dyDesc, dxDesc});
}
cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t /*mode*/, cudnnBatchNormOps_t /*bnOps*/,
    const cudnnTensorDescriptor_t xDesc, const cudnnTensorDescriptor_t /*zDesc*/,
    const cudnnTensorDescriptor_t yDesc, const cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc,
    const cudnnActivationDescriptor_t /*activationDesc*/, std::size_t* sizeInBytes) {
  *sizeInBytes = 64;
  return use("cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize",
             {handle, xDesc, yDesc, bnScaleBiasMeanVarDesc});
}
cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t /*mode*/, cudnnBatchNormOps_t /*bnOps*/,
    const cudnnTensorDescriptor_t xDesc, const cudnnTensorDescriptor_t /*yDesc*/,
    const cudnnTensorDescriptor_t dyDesc, const cudnnTensorDescriptor_t /*dzDesc*/,
    const cudnnTensorDescriptor_t dxDesc, const cudnnTensorDescriptor_t dBnScaleBiasDesc,
    const cudnnActivationDescriptor_t /*activationDesc*/, std::size_t* sizeInBytes) {
  *sizeInBytes = 64;
  return use("cudnnGetBatchNormalizationBackwardExWorkspaceSize",
             {handle, xDesc, dyDesc, dxDesc, dBnScaleBiasDesc});
}
cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t /*mode*/, cudnnBatchNormOps_t /*bnOps*/,
    const cudnnActivationDescriptor_t /*activationDesc*/, const cudnnTensorDescriptor_t xDesc,
    std::size_t* sizeInBytes) {
  *sizeInBytes = 0;
  return use("cudnnGetBatchNormalizationTrainingExReserveSpaceSize", {handle, xDesc});
}
cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t /*mode*/, cudnnBatchNormOps_t /*bnOps*/,
    const void* /*alpha*/, const void* /*beta*/, const cudnnTensorDescriptor_t xDesc,
    const void* /*xData*/, const cudnnTensorDescriptor_t /*zDesc*/, const void* /*zData*/,
    const cudnnTensorDescriptor_t yDesc, void* /*yData*/,
    const cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc, const void* /*bnScale*/,
    const void* /*bnBias*/, double /*exponentialAverageFactor*/, void* /*resultRunningMean*/,
    void* /*resultRunningVariance*/, double /*epsilon*/, void* /*resultSaveMean*/,
    void* /*resultSaveInvVariance*/, cudnnActivationDescriptor_t /*activationDesc*/,
    void* /*workspace*/, std::size_t /*workSpaceSizeInBytes*/, void* /*reserveSpace*/,
    std::size_t /*reserveSpaceSizeInBytes*/) {
  return use("cudnnBatchNormalizationForwardTrainingEx",
             {handle, xDesc, yDesc, bnScaleBiasMeanVarDesc});
}
cudnnStatus_t cudnnBatchNormalizationBackwardEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t /*mode*/, cudnnBatchNormOps_t /*bnOps*/,
    const void* /*alphaDataDiff*/, const void* /*betaDataDiff*/, const void* /*alphaParamDiff*/,
    const void* /*betaParamDiff*/, const cudnnTensorDescriptor_t xDesc, const void* /*xData*/,
    const cudnnTensorDescriptor_t /*yDesc*/, const void* /*yData*/,
    const cudnnTensorDescriptor_t dyDesc, const void* /*dyData*/,
    const cudnnTensorDescriptor_t /*dzDesc*/, void* /*dzData*/,
    const cudnnTensorDescriptor_t dxDesc, void* /*dxData*/,
    const cudnnTensorDescriptor_t dBnScaleBiasDesc, const void* /*bnScaleData*/,
    const void* /*bnBiasData*/, void* /*dBnScaleData*/, void* /*dBnBiasData*/, double /*epsilon*/,
    const void* /*savedMean*/, const void* /*savedInvVariance*/,
    cudnnActivationDescriptor_t /*activationDesc*/, void* /*workSpace*/,
    std::size_t /*workSpaceSizeInBytes*/, void* /*reserveSpace*/,
    std::size_t /*reserveSpaceSizeInBytes*/) {
  return use("cudnnBatchNormalizationBackwardEx",
             {handle, xDesc, dyDesc, dxDesc, dBnScaleBiasDesc});
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan,
                                  cudnnBackendDescriptor_t variantPack) {
  return use("cudnnBackendExecute", {handle, executionPlan, variantPack});
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t /*streamId*/) {
  return use("cudnnSetStream", {handle});
}

}  // extern "C"
