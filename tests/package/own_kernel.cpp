// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <vector>

#include <benchmark/benchmark.h>

#include <layerbench/google/register_benchmark.hpp>
#ifdef WITH_ONEDNN
#include <layerbench/backend/onednn/all_plans.hpp>
#endif

// A program of Google Benchmark: a kernel of its own beside the libraries' ones.

namespace {

constexpr std::size_t side = 48;

void own_gemm(benchmark::State& state) {
  const std::vector<float> a(side * side, 0.5F);
  const std::vector<float> b(side * side, 0.25F);
  std::vector<float> c(side * side);
  for (auto _ : state) {
    for (std::size_t i = 0; i < side; ++i) {
      for (std::size_t j = 0; j < side; ++j) {
        float sum = 0;
        for (std::size_t l = 0; l < side; ++l) sum += a[i * side + l] * b[l * side + j];
        c[i * side + j] = sum;
      }
    }
    benchmark::DoNotOptimize(c.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(own_gemm);

using layerbench::google::register_benchmark;
using layerbench::run::cache_state;
const layerbench::op::gemm gemm{.m = side, .n = side, .k = side};

const auto* const reference =
    register_benchmark<layerbench::reference::backend>("gemm/reference", gemm);
const auto* const unplaced = register_benchmark<layerbench::reference::backend>(
    "gemm/no_model", gemm, {.cache = cache_state::model});
#ifdef WITH_ONEDNN
const auto* const hot =
    register_benchmark<layerbench::onednn::backend>("gemm/onednn", gemm, {.threads = 1});
const auto* const cold = register_benchmark<layerbench::onednn::backend>(
    "gemm/onednn_cold", gemm, {.cache = cache_state::cold, .threads = 1});
#endif

}  // namespace

BENCHMARK_MAIN();
