// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

#include <vector_types.h>

/// What kernels find around them, on a processor: a thread after the other.
inline uint3 threadIdx;
inline uint3 blockIdx;
inline dim3 blockDim;
inline dim3 gridDim;
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }

/// Runs one thread of a kernel, with arguments as cudaLaunchKernel takes them.
using host_thread = void (*)(void** arguments);
using host_kernels = std::map<std::string_view, host_thread>;

template <class... Parameters, std::size_t... I>
void host_call(void (*kernel)(Parameters...), void** arguments, std::index_sequence<I...> /*of*/) {
  kernel(*static_cast<Parameters*>(arguments[I])...);
}
template <class... Parameters>
void host_call(void (*kernel)(Parameters...), void** arguments) {
  host_call(kernel, arguments, std::index_sequence_for<Parameters...>{});
}
template <auto Kernel>
void host_launch(void** arguments) {
  host_call(Kernel, arguments);
}
