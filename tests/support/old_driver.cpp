// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0

// Stands in for an NVIDIA driver that is older than any CUDA this suite is built with.
extern "C" int cuInit(unsigned /*flags*/) { return 0; }
extern "C" int cuDriverGetVersion(int* version) {
  *version = 11040;
  return 0;
}
