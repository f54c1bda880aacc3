// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

enum class stream_kind { read, write, copy };

[[nodiscard]] constexpr std::array<std::string_view, 3> list_names(stream_kind /*tag*/) {
  return {"read", "write", "copy"};
}

/// One sequential pass over memory, to measure its bandwidth: read adds up all numbers, write sets
/// all to the same number, copy copies one half of the bytes to the other. Counted are the bytes
/// that the program reads and writes (McCalpin, STREAM, 1995), without the cache lines that a cache
/// fetches before it writes them.
struct stream {
  static constexpr std::string_view name = "stream";

  stream_kind kind = stream_kind::read;
  std::int64_t bytes = 8;

  static constexpr auto fields = std::tuple{
      required("kind", &stream::kind, "read, write or copy"),
      required("bytes", &stream::bytes, "of the memory that it goes over; a multiple of 8"),
  };

  void validate() const {
    if (bytes < 8 || bytes % 8 != 0) throw invalid_field("bytes", "must be a multiple of 8");
  }

  /// src and dst, f32 whatever the data type. A copy has half the bytes in each; else all are in
  /// one of them, and the other is a single number.
  [[nodiscard]] std::vector<operand> operands(pass /*p*/, dtype /*type*/) const {
    const std::int64_t all = bytes / 4;
    const std::int64_t moved = kind == stream_kind::copy ? all / 2 : all;
    return {{"src", {kind == stream_kind::write ? 1 : moved}, role::source, dtype::f32},
            {"dst", {kind == stream_kind::read ? 1 : moved}, role::destination, dtype::f32}};
  }

  /// The byte that `write` fills its destination with: the most significant byte of its source. It
  /// is one byte because memset, the fastest fill of C libraries, takes one.
  [[nodiscard]] static unsigned char written_byte(float source) {
    return static_cast<unsigned char>(std::bit_cast<std::uint32_t>(source) >> 24U);
  }

  /// Zero work: the additions only keep the compiler from removing the reads.
  [[nodiscard]] op::work work(pass /*p*/) const { return {0, 0, 0}; }
};

}  // namespace layerbench::op
