// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0

/// Stands in for the CUDA driver where there is none, with the functions that cuDNN looks for
/// before it finalizes a plan whose kernel it compiles. All succeed and do nothing. It must have no
/// cuInit: the CUDA run time would take it for a driver.

namespace {

int kernel = 0;

}  // namespace

extern "C" {

int cuLibraryLoadData(void** library) {
  *library = &kernel;
  return 0;
}
int cuLibraryGetKernel(void** found) {
  *found = &kernel;
  return 0;
}
int cuKernelGetAttribute(int* value) {
  *value = 0;
  return 0;
}

int cuCtxGetCurrent() { return 0; }
int cuCtxGetLimit() { return 0; }
int cuCtxPopCurrent() { return 0; }
int cuCtxPushCurrent() { return 0; }
int cuDeviceGet() { return 0; }
int cuDeviceGetCount() { return 0; }
int cuDriverGetVersion() { return 0; }
int cuGetErrorName() { return 0; }
int cuGetErrorString() { return 0; }
int cuKernelSetAttribute() { return 0; }
int cuLaunchCooperativeKernel() { return 0; }
int cuLaunchKernel() { return 0; }
int cuLaunchKernelEx() { return 0; }
int cuLibraryLoadFromFile() { return 0; }
int cuLibraryUnload() { return 0; }
int cuLinkAddData() { return 0; }
int cuLinkComplete() { return 0; }
int cuLinkCreate() { return 0; }
int cuLinkDestroy() { return 0; }
int cuOccupancyMaxPotentialClusterSize() { return 0; }
int cuStreamGetCtx() { return 0; }

}  // extern "C"
