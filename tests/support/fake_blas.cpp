// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0

/// Stands in for an OpenBLAS and a BLIS with threads of their own; under another name, for an
/// OpenMP runtime.

#include <cstdint>

extern "C" {

int openblas_get_parallel() {
  constexpr int own_threads = 1;  // OPENBLAS_THREAD
  return own_threads;
}

std::int64_t bli_info_get_enable_openmp() { return 0; }
}
