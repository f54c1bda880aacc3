// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0

// Stands in for an NVIDIA driver where there is none, so that cuDNN 9 makes plans whose kernels it
// compiles. It has no device, but takes code for any.

extern "C" {

int cuLibraryLoadData(void** library) {
  static int code;
  *library = &code;
  return 0;
}
int cuLibraryGetKernel(void** kernel, void* library) {
  *kernel = library;
  return 0;
}
int cuLibraryUnload(void* /*library*/) { return 0; }

#define FAIL_WITHOUT_DEVICE(function) \
  int function() { return 100; }
FAIL_WITHOUT_DEVICE(cuCtxGetCurrent)
FAIL_WITHOUT_DEVICE(cuCtxGetDevice)
FAIL_WITHOUT_DEVICE(cuCtxGetLimit)
FAIL_WITHOUT_DEVICE(cuCtxPopCurrent)
FAIL_WITHOUT_DEVICE(cuCtxPushCurrent)
FAIL_WITHOUT_DEVICE(cuDeviceGet)
FAIL_WITHOUT_DEVICE(cuDeviceGetAttribute)
FAIL_WITHOUT_DEVICE(cuDeviceGetCount)
FAIL_WITHOUT_DEVICE(cuDevicePrimaryCtxRelease)
FAIL_WITHOUT_DEVICE(cuDevicePrimaryCtxReset)
FAIL_WITHOUT_DEVICE(cuDevicePrimaryCtxRetain)
FAIL_WITHOUT_DEVICE(cuDriverGetVersion)
FAIL_WITHOUT_DEVICE(cuFuncGetAttribute)
FAIL_WITHOUT_DEVICE(cuFuncSetAttribute)
FAIL_WITHOUT_DEVICE(cuGetErrorName)
FAIL_WITHOUT_DEVICE(cuGetErrorString)
FAIL_WITHOUT_DEVICE(cuInit)
FAIL_WITHOUT_DEVICE(cuKernelGetAttribute)
FAIL_WITHOUT_DEVICE(cuKernelSetAttribute)
FAIL_WITHOUT_DEVICE(cuLaunchCooperativeKernel)
FAIL_WITHOUT_DEVICE(cuLaunchKernel)
FAIL_WITHOUT_DEVICE(cuLaunchKernelEx)
FAIL_WITHOUT_DEVICE(cuLibraryLoadFromFile)
FAIL_WITHOUT_DEVICE(cuLinkAddData)
FAIL_WITHOUT_DEVICE(cuLinkAddData_v2)
FAIL_WITHOUT_DEVICE(cuLinkAddFile_v2)
FAIL_WITHOUT_DEVICE(cuLinkComplete)
FAIL_WITHOUT_DEVICE(cuLinkCreate)
FAIL_WITHOUT_DEVICE(cuLinkCreate_v2)
FAIL_WITHOUT_DEVICE(cuLinkDestroy)
FAIL_WITHOUT_DEVICE(cuMemcpyDtoH_v2)
FAIL_WITHOUT_DEVICE(cuModuleGetFunction)
FAIL_WITHOUT_DEVICE(cuModuleGetGlobal_v2)
FAIL_WITHOUT_DEVICE(cuModuleLoadData)
FAIL_WITHOUT_DEVICE(cuModuleLoadDataEx)
FAIL_WITHOUT_DEVICE(cuModuleLoadFatBinary)
FAIL_WITHOUT_DEVICE(cuModuleUnload)
FAIL_WITHOUT_DEVICE(cuOccupancyMaxActiveBlocksPerMultiprocessor)
FAIL_WITHOUT_DEVICE(cuOccupancyMaxPotentialClusterSize)
FAIL_WITHOUT_DEVICE(cuStreamGetCtx)
FAIL_WITHOUT_DEVICE(cuStreamSynchronize)
FAIL_WITHOUT_DEVICE(cuTensorMapEncodeTiled)

}  // extern "C"
