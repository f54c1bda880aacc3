// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <vector_types.h>

/// What kernels find around them, on a processor: a thread after the other.
inline uint3 threadIdx;
inline uint3 blockIdx;
inline dim3 blockDim;
inline dim3 gridDim;
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
/// What a run time has in front of the kernels.
inline float f16_widened(unsigned short bits) {
  return static_cast<float>(std::bit_cast<_Float16>(bits));
}
inline unsigned short f16_narrowed(float value) {
  return std::bit_cast<unsigned short>(static_cast<_Float16>(value));
}
inline float rsqrtf(float value) { return 1 / std::sqrt(value); }
inline long long __double_as_longlong(double value) { return std::bit_cast<long long>(value); }
inline double __longlong_as_double(long long bits) { return std::bit_cast<double>(bits); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline float atomicAdd(float* at, float value) { return std::exchange(*at, *at + value); }
inline int atomicExch(int* at, int value) { return std::exchange(*at, value); }
inline unsigned long long atomicMin(unsigned long long* at, unsigned long long value) {
  return std::exchange(*at, std::min(*at, value));
}

/// A warp, whose threads run one after the other up to the next shuffle of which some thread has
/// not given its value yet. They then start again: what they wrote before, they write again.
struct host_warp {
  static constexpr unsigned size = 32;
  std::vector<std::array<float, size>> shuffled;  ///< by all threads
  std::array<float, size> given;                  ///< to the next shuffle
  std::size_t shuffles = 0;                       ///< of the thread that runs
  std::jmp_buf out;
};
inline host_warp* host_running = nullptr;

inline float __shfl_xor_sync(unsigned /*threads*/, float value, int flipped) {
  host_warp& warp = *host_running;
  const unsigned thread = threadIdx.x % host_warp::size;
  if (warp.shuffles < warp.shuffled.size()) {
    return warp.shuffled[warp.shuffles++][thread ^ static_cast<unsigned>(flipped)];
  }
  warp.given[thread] = value;
  std::longjmp(warp.out, 1);
}

/// Whether the thread came to its end.
inline bool host_ends(host_warp& warp, const std::function<void()>& run) {
  warp.shuffles = 0;
  if (setjmp(warp.out) != 0) return false;
  run();
  return true;
}

/// Runs the threads `begin` to `end` of a block.
inline void host_run_warp(unsigned begin, unsigned end, const std::function<void()>& run) {
  host_warp warp;
  host_running = &warp;
  for (unsigned ended = 0; ended == 0;) {
    for (threadIdx.x = begin; threadIdx.x < end; ++threadIdx.x) {
      if (host_ends(warp, run)) ++ended;
    }
    warp.shuffled.push_back(warp.given);
    // Real threads would wait for each other for ever.
    if (ended != 0 && ended != end - begin) {
      std::fputs("threads of a warp ended before a shuffle of others\n", stderr);
      std::abort();
    }
  }
}

/// Runs the blocks of a launch one after the other.
inline void host_run_grid(const dim3& blocks, const dim3& threads,
                          const std::function<void()>& run) {
  gridDim = blocks;
  blockDim = threads;
  for (blockIdx = {}; blockIdx.y < blocks.y; ++blockIdx.y) {
    for (blockIdx.x = 0; blockIdx.x < blocks.x; ++blockIdx.x) {
      for (unsigned i = 0; i < threads.x; i += host_warp::size) {
        host_run_warp(i, std::min(i + host_warp::size, threads.x), run);
      }
    }
  }
}

/// What a thread of a kernel does, with arguments as cudaLaunchKernel takes them, which need not
/// live as long.
using host_kernel = std::function<void()> (*)(void** arguments);
using host_kernels = std::map<std::string_view, host_kernel>;

// The kernels of each element type, by write_kernels.
namespace host_f32 {
const host_kernels& all();
}
namespace host_bf16 {
const host_kernels& all();
}
namespace host_f16 {
const host_kernels& all();
}

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
