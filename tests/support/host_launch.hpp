// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include <vector_types.h>

/// What kernels find around them, on a processor: a thread after the other.
inline uint3 threadIdx;
inline uint3 blockIdx;
inline dim3 blockDim;
inline dim3 gridDim;
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline float rsqrtf(float value) { return 1 / std::sqrt(value); }
inline long long __double_as_longlong(double value) { return std::bit_cast<long long>(value); }
inline double __longlong_as_double(long long bits) { return std::bit_cast<double>(bits); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline int atomicExch(int* at, int value) { return std::exchange(*at, value); }
inline unsigned long long atomicMin(unsigned long long* at, unsigned long long value) {
  return std::exchange(*at, std::min(*at, value));
}

/// What a thread of a kernel does, with arguments as cudaLaunchKernel takes them, which need not
/// live as long.
using host_kernel = std::function<void()> (*)(void** arguments);
using host_kernels = std::map<std::string_view, host_kernel>;

template <class... Parameters, std::size_t... I>
std::function<void()> host_bind(void (*kernel)(Parameters...), void** arguments,
                                std::index_sequence<I...> /*of*/) {
  return [kernel, all = std::tuple<Parameters...>(*static_cast<Parameters*>(arguments[I])...)] {
    std::apply(kernel, all);
  };
}
template <class... Parameters>
std::function<void()> host_bind(void (*kernel)(Parameters...), void** arguments) {
  return host_bind(kernel, arguments, std::index_sequence_for<Parameters...>{});
}
template <auto Kernel>
std::function<void()> host_launch(void** arguments) {
  return host_bind(Kernel, arguments);
}
