// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include <layerbench/result/measurement.hpp>

/// What bench_peak could have measured.
namespace layerbench::testing {

/// Peaks on the machine of file_with(): 100 GFLOP/s, no call below 1 us, a cache of 1 MB, and
/// memory that is read at 10, written at 5 and copied at 8 GB/s.
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
      result::measurement result;
      result.name = {{"reference", "f32", "peak", 1, {}}, op, "fwd", layer, "hot"};
      result.round = round;
      result.seconds = seconds;
      result.counters = {{"flops_exact", flops}, {"flops", flops}, {"bytes", bytes}};
      file.rows.push_back(result);
    }
  }
  return file;
}

}  // namespace layerbench::testing
