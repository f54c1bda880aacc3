// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// Adds up arrays of so many ranks (processes, devices), element by element; each of them gets the
/// sum. It is what data-parallel training does with gradients.
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

  /// Of each rank: as many as have so many bytes, rounded up.
  [[nodiscard]] std::int64_t count(dtype type) const {
    const auto size = static_cast<std::int64_t>(traits(type).bytes);
    return bytes / size + (bytes % size != 0 ? 1 : 0);
  }

  /// src and dst, [ranks, count]: what each rank has, and what each gets. In place dst is where it
  /// happens, and has the values of src before. Test data are whole numbers, so small that their
  /// sums are exact in any order.
  [[nodiscard]] std::vector<operand> operands(pass /*p*/, dtype type) const {
    const dims extents{ranks, count(type)};
    operand src{"src", extents, role::source, type};
    operand dst{"dst", extents, role::destination, type};
    if (type == dtype::s8) {
      dst.scale *= static_cast<double>(ranks);
    } else {
      const double exact = std::ldexp(1.0, traits(type).significand_bits);
      src.high = std::clamp(std::floor(exact / static_cast<double>(ranks)), 1.0, 1000.0);
      src.low = -src.high;
      src.integral = dst.integral = true;
    }
    return {src, dst};
  }

  /// What it adds is no work: that is to move the arrays.
  [[nodiscard]] op::work work(pass /*p*/) const { return {0, 0, 0}; }

  /// Bandwidths by the conventions of NVIDIA's NCCL tests (PERFORMANCE.md there): of the algorithm,
  /// each rank's bytes; of the bus, what each rank must send if all do the same, 2 (n - 1) / n of
  /// them, which compares with a link's bandwidth whatever the number of ranks n. One rank sends
  /// nothing.
  [[nodiscard]] std::vector<rate> rates() const {
    const auto n = static_cast<double>(ranks);
    const double all = ranks == 1 ? 0.0 : static_cast<double>(bytes);
    return {{"algorithm_bandwidth", all}, {"bus_bandwidth", all * 2 * (n - 1) / n}};
  }
};

}  // namespace layerbench::op
