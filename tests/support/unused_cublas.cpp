// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0

// cuBLAS where nothing calls it: NVIDIA's takes a program longer to load than all it does in most
// tests.
#include "host_cublas.hpp"
