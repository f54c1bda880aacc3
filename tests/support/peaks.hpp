// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include <layerbench/result/measurement.hpp>

/// An example of a result file of bench_peak.
namespace layerbench::testing {

/// Peaks on the machine of file_with(): 100 GFLOP/s, 1 us per call, a cache of 1 MB, and memory
/// with 10 GB/s for reads, 5 GB/s for writes and 8 GB/s for copies.
inline result::results peak_file() {
  result::results file;
  file.file = "peak.json";
  file.context = {{"device", "x"}, {"threads", "3"}};
  using row = std::tuple<std::string, std::string, double, double, double>;  // FLOPs, bytes, s
  for (const auto& [layer, op, flops, bytes, seconds] :
       {row{"square_1024", "gemm", 1e9, 1e6, 0.02}, row{"square_2048", "gemm", 8e9, 1e6, 0.08},
        row{"call", "stream", 0, 64, 1e-6}, row{"read_l2", "stream", 0, 5e5, 1.1e-5},
        row{"write_l2", "stream", 0, 5e5, 2.1e-5}, row{"copy_l2", "stream", 0, 5e5, 1.1e-5},
        row{"read_memory", "stream", 0, 1e8, 0.010001},
        row{"write_memory", "stream", 0, 1e8, 0.020001},
        row{"copy_memory", "stream", 0, 1e8, 0.012501}}) {
    for (std::int64_t round = 0; round < 3; ++round) {
      result::measurement measured;
      measured.name = {{"reference", "f32", "peak", 1, {}}, op, "fwd", layer, "hot"};
      measured.round = round;
      measured.seconds = seconds;
      measured.counters = {{"flops_exact", flops}, {"flops", flops}, {"bytes", bytes}};
      file.rows.push_back(measured);
    }
  }
  return file;
}

}  // namespace layerbench::testing
