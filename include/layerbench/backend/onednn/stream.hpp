// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>

#include <omp.h>

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/stream.hpp>

namespace layerbench {

/// Streams are loops of the suite's own, with loads and stores through the caches as the library's
/// primitives have them. Each thread goes over its part, the same in every call.
template <>
class plan<onednn::backend, op::stream> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& device, const op::stream& o, const plan_request& request)
      : primitive_plan(device, o.operands(request.pass, request.type)), kind_(o.kind) {
    adopt_loop();
  }

  void run(const binding& bound) const {
    const float* from = at<float>(bound, 0);
    auto* to = at<float>(bound, 1);
    float sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
      const auto [first, count] = part(std::max(extents(0)[0], extents(1)[0]));
      switch (kind_) {
        case op::stream_kind::read: sum += read(from + first, count); break;
        case op::stream_kind::write: write(*from, to + first, count); break;
        case op::stream_kind::copy: copy(from + first, to + first, count); break;
      }
    }
    if (kind_ == op::stream_kind::read) *to = sum;
  }

 private:
  struct range {
    std::size_t first;
    std::size_t count;
  };
  /// Whole lines, so that no two threads write to the same one.
  [[nodiscard]] static range part(std::int64_t numbers) {
    constexpr std::size_t line = 64 / sizeof(float);
    const auto all = static_cast<std::size_t>(numbers);
    const auto threads = static_cast<std::size_t>(omp_get_num_threads());
    const std::size_t most = (all + threads * line - 1) / (threads * line) * line;
    const std::size_t first = std::min(all, static_cast<std::size_t>(omp_get_thread_num()) * most);
    return {first, std::min(all, first + most) - first};
  }

  /// A vector that all processors have. Reading and copying are as fast with wider ones, and
  /// copying memory is not where the C library moves small pieces (measured on an EPYC).
  using vector [[gnu::vector_size(16), gnu::may_alias]] = float;
  static constexpr std::size_t block = 8 * sizeof(vector) / sizeof(float);

  /// So many sums that no addition waits for another.
  [[nodiscard]] static float read(const float* from, std::size_t count) {
    vector a{}, b{}, c{}, d{}, e{}, f{}, g{}, h{};
    for (; count >= block; count -= block, from += block) {
      const auto* next = reinterpret_cast<const vector*>(from);
      a += next[0];
      b += next[1];
      c += next[2];
      d += next[3];
      e += next[4];
      f += next[5];
      g += next[6];
      h += next[7];
    }
    a += b + c + d + e + f + g + h;
    return std::accumulate(from, from + count, a[0] + a[1] + a[2] + a[3]);
  }

  static void copy(const float* from, float* to, std::size_t count) {
    for (; count >= block; count -= block, from += block, to += block) {
      const auto* next = reinterpret_cast<const vector*>(from);
      auto* there = reinterpret_cast<vector*>(to);
      const vector a = next[0], b = next[1], c = next[2], d = next[3];
      const vector e = next[4], f = next[5], g = next[6], h = next[7];
      there[0] = a;
      there[1] = b;
      there[2] = c;
      there[3] = d;
      there[4] = e;
      there[5] = f;
      there[6] = g;
      there[7] = h;
      asm volatile(
          "" ::
              : "memory");  // else the compiler may call memcpy, which goes past the caches
    }
    std::copy_n(from, count, to);
  }

  /// The C library fills pieces of this size with the widest vectors that the processor has; larger
  /// ones it may write past the caches.
  static constexpr std::size_t piece = 2048 / sizeof(float);

  /// Bytes of the next piece; volatile, so that the compiler does not know that they are few, and
  /// write a loop of narrow stores for them.
  [[nodiscard]] static std::size_t piece_bytes(std::size_t left) {
    const volatile std::size_t unknown = piece;
    const std::size_t most = unknown;
    return std::min(most, left) * sizeof(float);
  }

  static void write(float source, float* to, std::size_t count) {
    const unsigned char byte = op::stream::written_byte(source);
    for (std::size_t i = 0; i < count; i += piece) {
      std::memset(to + i, byte, piece_bytes(count - i));
    }
  }

  op::stream_kind kind_;
};

static_assert(implements<onednn::backend, op::stream>);

}  // namespace layerbench
