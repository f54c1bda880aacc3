// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// Adds up the arrays of all ranks (processes, devices) element by element and gives each rank the
/// sum, as data-parallel training does with gradients.
struct allreduce {
  static constexpr std::string_view name = "allreduce";
  static constexpr op::storage storage = op::storage::in_place;

  std::int64_t bytes = 4;
  std::int64_t ranks = 1;
  bool in_place = false;

  static constexpr auto fields = std::tuple{
      required("bytes", &allreduce::bytes, "of each rank's array"),
      required("ranks", &allreduce::ranks, "that take part"),
      optional("in_place", &allreduce::in_place, "whether sums go where a rank's own array was"),
  };

  void validate() const {}

  /// Elements per rank: `bytes` over the element size, rounded up.
  [[nodiscard]] std::int64_t count(dtype type) const {
    const auto size = static_cast<std::int64_t>(traits(type).bytes);
    return bytes / size + (bytes % size != 0 ? 1 : 0);
  }

  /// src and dst, [ranks, count]: the array and the result of each rank. In place dst holds the
  /// values of src before the call. Test data are whole numbers small enough for exact sums in any
  /// order.
  [[nodiscard]] std::vector<operand> operands(pass /*p*/, dtype type) const {
    const dims extents{ranks, count(type)};
    operand src{"src", extents, role::source, type};
    operand dst{"dst", extents, role::destination, type};
    if (is_integer(type)) {
      dst.scale *= static_cast<double>(ranks);
    } else {
      const double exact = std::ldexp(1.0, traits(type).significand_bits);
      src.high = std::clamp(std::floor(exact / static_cast<double>(ranks)), 1.0, 1000.0);
      src.low = -src.high;
      src.integral = dst.integral = true;
    }
    return {src, dst};
  }

  /// Zero work: an all-reduce is bound by communication, not by its additions.
  [[nodiscard]] op::work work(pass /*p*/) const { return {0, 0, 0}; }

  /// Bandwidths as NVIDIA's NCCL tests define them (PERFORMANCE.md there). The algorithm bandwidth
  /// counts the bytes of one rank. The bus bandwidth counts 2 (n - 1) / n of them, which each of n
  /// ranks must send, so it compares with the bandwidth of a link. One rank sends nothing.
  [[nodiscard]] std::vector<rate> rates() const {
    const auto n = static_cast<double>(ranks);
    const double all = ranks == 1 ? 0.0 : static_cast<double>(bytes);
    return {{"algorithm_bandwidth", all}, {"bus_bandwidth", all * 2 * (n - 1) / n}};
  }
};

}  // namespace layerbench::op
