// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

enum class stream_kind { read, write, copy };

}  // namespace layerbench::op

template <>
inline constexpr std::array<std::string_view, 3>
    layerbench::enum_names<layerbench::op::stream_kind>{"read", "write", "copy"};

namespace layerbench::op {

/// Goes once over memory, number after number: read adds them up, write makes all of them the same,
/// copy takes one half of the bytes from the other. Tells how fast memory is. What
/// counts are bytes that are read and bytes that are written (McCalpin, STREAM, 1995), not what
/// caches fetch of their own accord to write to it.
struct stream {
  static constexpr std::string_view name = "stream";
  static constexpr op::storage storage = op::storage::own;

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

  /// The byte of which all that `write` writes is made: the most significant one of its source. One
  /// byte, since that is what C libraries are fast at.
  [[nodiscard]] static unsigned char written_byte(float source) {
    return static_cast<unsigned char>(std::bit_cast<std::uint32_t>(source) >> 24U);
  }

  /// What it adds is no work: it keeps the reading from being left out.
  [[nodiscard]] op::work work(pass /*p*/) const { return {0, 0, 0}; }
};

}  // namespace layerbench::op
