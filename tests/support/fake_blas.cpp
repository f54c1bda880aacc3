// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0

/// Stands in for an OpenBLAS with threads of its own; under another name, for an OpenMP runtime.

extern "C" {

int openblas_get_parallel() {
  constexpr int own_threads = 1;  // OPENBLAS_THREAD
  return own_threads;
}
}
