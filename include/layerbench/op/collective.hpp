// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

enum class collective_kind { all_reduce, all_gather, reduce_scatter, broadcast, all_to_all };

[[nodiscard]] constexpr std::array<std::string_view, 5> list_names(collective_kind /*tag*/) {
  return {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all"};
}

/// A collective of MPI and NCCL: all ranks (processes, devices) take part. What each of n ranks
/// reads and writes, in arrays of n blocks, one per rank:
/// - all_reduce: an array; each rank gets the sum of all arrays. Not divided into blocks.
/// - all_gather: a block; each rank gets the array of all blocks.
/// - reduce_scatter: an array; rank i gets block i of the sum of all arrays.
/// - broadcast: each rank gets the array of rank 0. Not divided into blocks.
/// - all_to_all: an array; rank i gets block i of the array of rank j as block j.
struct collective {
  static constexpr std::string_view name = "collective";

  collective_kind kind = collective_kind::all_gather;
  std::int64_t bytes = 4;
  std::int64_t ranks = 1;
  bool in_place = false;

  static constexpr auto fields = std::tuple{
      required("kind", &collective::kind,
               "all_reduce, all_gather, reduce_scatter, broadcast or all_to_all"),
      required("bytes", &collective::bytes, "of an array: of all blocks together"),
      required("ranks", &collective::ranks, "that take part"),
      optional("in_place", &collective::in_place,
               "whether a rank's source is in the memory of its result"),
  };

  /// NCCL has no all-to-all in place. A broadcast always is, since MPI has no other.
  void validate() const {
    if (in_place && !has_in_place(kind)) {
      throw invalid_field("in_place",
                          "is for all_reduce, all_gather and reduce_scatter only; leave it out");
    }
  }

  /// Whether the field `in_place` may be true.
  [[nodiscard]] static bool has_in_place(collective_kind kind) {
    return kind != collective_kind::broadcast && kind != collective_kind::all_to_all;
  }
  /// Whether sources are in the memory of results.
  [[nodiscard]] bool is_in_place() const { return in_place || kind == collective_kind::broadcast; }
  /// Whether arrays are added up.
  [[nodiscard]] bool adds() const {
    return kind == collective_kind::all_reduce || kind == collective_kind::reduce_scatter;
  }
  /// Blocks of an array.
  [[nodiscard]] std::int64_t blocks() const {
    return kind == collective_kind::all_reduce || kind == collective_kind::broadcast ? 1 : ranks;
  }
  /// Elements of a block: `bytes` over the number of blocks and the element size, rounded up.
  [[nodiscard]] std::int64_t block(dtype type) const {
    const std::int64_t size =
        checked_multiply(blocks(), static_cast<std::int64_t>(traits(type).bytes));
    return bytes / size + (bytes % size != 0 ? 1 : 0);
  }
  /// Ranks that have a source, from rank 0 on.
  [[nodiscard]] std::int64_t sources() const {
    return kind == collective_kind::broadcast ? 1 : ranks;
  }

  /// src and dst: a row for each rank that has a source or a result. Test data of numbers with a
  /// fraction are whole numbers small enough for exact sums in any order.
  [[nodiscard]] std::vector<operand> operands(pass /*p*/, dtype type) const {
    const std::int64_t array = checked_multiply(blocks(), block(type));
    const bool gathers = kind == collective_kind::all_gather;
    const bool scatters = kind == collective_kind::reduce_scatter;
    operand src{"src", {sources(), gathers ? block(type) : array}, role::source, type};
    operand dst{"dst", {ranks, scatters ? block(type) : array}, role::destination, type};
    const auto terms = static_cast<double>(adds() ? ranks : 1);
    if (is_integer(type)) {
      dst.scale *= terms;
    } else {
      const double exact = std::ldexp(1.0, traits(type).significand_bits);
      src.high = std::clamp(std::floor(exact / terms), 1.0, 1000.0);
      src.low = -src.high;
      src.integral = dst.integral = true;
    }
    return {src, dst};
  }

  /// Zero work: a collective is bound by communication, not by its additions.
  [[nodiscard]] op::work work(pass /*p*/) const { return {0, 0, 0}; }

  /// Bandwidths as NVIDIA's NCCL tests define them (PERFORMANCE.md there), by the bytes of an
  /// array. The algorithm bandwidth counts all of them. The bus bandwidth counts what the busiest
  /// rank must send, so it compares with the bandwidth of a link: (n - 1) / n of the bytes, twice
  /// that of an all-reduce, and all bytes of a broadcast. One rank sends nothing.
  [[nodiscard]] std::vector<rate> rates() const {
    const auto n = static_cast<double>(ranks);
    const double array = ranks == 1 ? 0.0 : static_cast<double>(bytes);
    const double sent = kind == collective_kind::all_reduce  ? 2 * (n - 1)
                        : kind == collective_kind::broadcast ? n
                                                             : n - 1;
    return {{"algorithm_bandwidth", array}, {"bus_bandwidth", array * sent / n}};
  }
};

}  // namespace layerbench::op
