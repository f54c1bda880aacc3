// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>

#include <omp.h>

#include <layerbench/backend/kernels/host/tensor_plan.hpp>
#include <layerbench/base/rounding.hpp>
#include <layerbench/op/stream.hpp>

namespace layerbench::host {

/// Memory streams by layerbench loops. Loads and stores go through the caches, as those of
/// libraries do. Each thread processes the same slice in every call.
template <>
class own_plan<op::stream> : public call_plan {
 public:
  own_plan(const op::stream& o, const plan_request& request)
      : call_plan(algorithm_of(o.kind), o.operands(request.pass, request.type), request.layout),
        kind_(o.kind),
        size_(std::max(logical(0).extents[0], logical(1).extents[0])) {}

  void run(const binding& bound) const {
    const float* from = at<float>(bound, 0);
    auto* to = at<float>(bound, 1);
    float sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
      const auto [first, count] = slice_of_thread(size_);
      switch (kind_) {
        case op::stream_kind::read: sum += read(from + first, count); break;
        case op::stream_kind::write: write(*from, to + first, count); break;
        case op::stream_kind::copy: copy(from + first, to + first, count); break;
      }
    }
    if (kind_ == op::stream_kind::read) *to = sum;
  }

 private:
  static std::string algorithm_of(op::stream_kind kind) {
    switch (kind) {
      case op::stream_kind::read: return "layerbench:stream_read";
      case op::stream_kind::write: return "layerbench:stream_write";
      case op::stream_kind::copy: break;
    }
    return "layerbench:copy";
  }

  struct range {
    std::size_t first;
    std::size_t count;
  };
  /// The slice of `elements` of the calling thread: whole cache lines, so that no two threads write
  /// to the same line.
  [[nodiscard]] static range slice_of_thread(std::int64_t elements) {
    constexpr std::size_t line = 64 / sizeof(float);
    const auto size = static_cast<std::size_t>(elements);
    const auto threads = static_cast<std::size_t>(omp_get_num_threads());
    const std::size_t slice = ceil_div(size, threads * line) * line;
    const std::size_t first =
        std::min(size, static_cast<std::size_t>(omp_get_thread_num()) * slice);
    return {first, std::min(size, first + slice) - first};
  }

  /// A vector of 16 bytes, which every x86-64 processor has. Wider vectors do not make reads and
  /// copies faster, and memcpy in small chunks makes copies slower (measured on an AMD EPYC).
  using vector [[gnu::vector_size(16), gnu::may_alias]] = float;
  static constexpr std::size_t block = 8 * sizeof(vector) / sizeof(float);

  /// Eight independent sums hide the latency of the additions.
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
      const auto* in = reinterpret_cast<const vector*>(from);
      auto* out = reinterpret_cast<vector*>(to);
      const vector a = in[0], b = in[1], c = in[2], d = in[3];
      const vector e = in[4], f = in[5], g = in[6], h = in[7];
      out[0] = a;
      out[1] = b;
      out[2] = c;
      out[3] = d;
      out[4] = e;
      out[5] = f;
      out[6] = g;
      out[7] = h;
      // Keeps the compiler from calling memcpy, which bypasses the caches for large sizes.
      asm volatile("" ::: "memory");
    }
    std::copy_n(from, count, to);
  }

  /// Elements that one memset writes. It uses the widest vectors of the processor for this size;
  /// for larger ones it may bypass the caches.
  static constexpr std::size_t chunk = 2048 / sizeof(float);

  /// Bytes of the next chunk. The volatile read hides the size from the compiler, which would
  /// replace a small memset by narrow stores.
  [[nodiscard]] static std::size_t chunk_bytes(std::size_t left) {
    const volatile std::size_t hidden = chunk;
    const std::size_t size = hidden;
    return std::min(size, left) * sizeof(float);
  }

  static void write(float source, float* to, std::size_t count) {
    const unsigned char byte = op::stream::written_byte(source);
    for (std::size_t i = 0; i < count; i += chunk) {
      std::memset(to + i, byte, chunk_bytes(count - i));
    }
  }

  op::stream_kind kind_;
  std::int64_t size_;  ///< numbers that are read or written
};

}  // namespace layerbench::host
