// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/backend/reference/post_ops.hpp>
#include <layerbench/op/conv.hpp>

namespace layerbench::reference {

template <>
struct formula<op::conv> {
  [[nodiscard]] static sum at(const op::conv& o, op::pass pass, tensors in, std::size_t output,
                              std::int64_t index) {
    if (pass == op::pass::bwd_data) return source_gradient(o, in, index);
    if (pass == op::pass::bwd_weights) {
      return output == 2 ? weights_gradient(o, in, index) : bias_gradient(o, in, index);
    }
    return with_post_ops(forward(o, in, index), o.post, in, o.bias ? 3 : 2, index);
  }

 private:
  static sum forward(const op::conv& o, tensors in, std::int64_t index) {
    const std::int64_t q = index % o.q();
    const std::int64_t p = index / o.q() % o.p();
    const std::int64_t z = index / (o.q() * o.p()) % o.z();
    const std::int64_t k = index / (o.q() * o.p() * o.z()) % o.k;
    const std::int64_t n = index / (o.q() * o.p() * o.z() * o.k);
    const std::int64_t depth = o.c / o.groups;
    const std::int64_t first_channel = k / (o.k / o.groups) * depth;
    sum total;
    for (std::int64_t tap = 0; tap < depth * o.t; ++tap) {
      const std::int64_t plane =
          z * o.depth_stride - o.depth_pad.value + tap % o.t * o.depth_dilation;
      if (plane < 0 || plane >= o.d) continue;
      const std::int64_t channel = n * o.c + first_channel + tap / o.t;
      for (std::int64_t r = 0; r < o.r; ++r) {
        const std::int64_t y = p * o.stride.v - o.pad.top + r * o.dilation.v;
        if (y < 0 || y >= o.h) continue;
        for (std::int64_t s = 0; s < o.s; ++s) {
          const std::int64_t x = q * o.stride.h - o.pad.left + s * o.dilation.h;
          if (x < 0 || x >= o.w) continue;
          const std::int64_t source = ((channel * o.d + plane) * o.h + y) * o.w + x;
          const std::int64_t weight = ((k * depth * o.t + tap) * o.r + r) * o.s + s;
          total.add(product(in[0], source, in[1], weight));
        }
      }
    }
    if (o.bias) total.add(in[2][static_cast<std::size_t>(k)]);
    return total;
  }

  /// diff_src[index]: diff_dst * weights, summed over the outputs that read src[index].
  static sum source_gradient(const op::conv& o, tensors in, std::int64_t index) {
    const std::int64_t x = index % o.w;
    const std::int64_t y = index / o.w % o.h;
    const std::int64_t plane = index / (o.w * o.h) % o.d;
    const std::int64_t channel = index / (o.w * o.h * o.d) % o.c;
    const std::int64_t n = index / (o.w * o.h * o.d * o.c);
    const std::int64_t depth = o.c / o.groups;
    const std::int64_t width = o.k / o.groups;
    const std::int64_t first = channel / depth * width;
    sum total;
    for (std::int64_t tap = 0; tap < o.t * o.r; ++tap) {
      const std::int64_t back = plane + o.depth_pad.value - tap / o.r * o.depth_dilation;
      if (back < 0 || back % o.depth_stride != 0 || back / o.depth_stride >= o.z()) continue;
      const std::int64_t row = y + o.pad.top - tap % o.r * o.dilation.v;
      if (row < 0 || row % o.stride.v != 0 || row / o.stride.v >= o.p()) continue;
      const std::int64_t line = back / o.depth_stride * o.p() + row / o.stride.v;
      for (std::int64_t s = 0; s < o.s; ++s) {
        const std::int64_t column = x + o.pad.left - s * o.dilation.h;
        if (column < 0 || column % o.stride.h != 0 || column / o.stride.h >= o.q()) continue;
        for (std::int64_t k = first; k < first + width; ++k) {
          const std::int64_t result =
              ((n * o.k + k) * o.z() * o.p() + line) * o.q() + column / o.stride.h;
          const std::int64_t weight = ((k * depth + channel % depth) * o.t * o.r + tap) * o.s + s;
          total.add(product(in[0], result, in[1], weight));
        }
      }
    }
    return total;
  }

  /// diff_weights[index]: src * diff_dst, summed over the images and outputs that read the weight.
  static sum weights_gradient(const op::conv& o, tensors in, std::int64_t index) {
    const std::int64_t depth = o.c / o.groups;
    const std::int64_t s = index % o.s;
    const std::int64_t r = index / o.s % o.r;
    const std::int64_t t = index / (o.s * o.r) % o.t;
    const std::int64_t c = index / (o.s * o.r * o.t) % depth;
    const std::int64_t k = index / (o.s * o.r * o.t * depth);
    const std::int64_t channel = k / (o.k / o.groups) * depth + c;
    sum total;
    for (std::int64_t of = 0; of < o.n * o.z(); ++of) {
      const std::int64_t n = of / o.z();
      const std::int64_t z = of % o.z();
      const std::int64_t plane = z * o.depth_stride - o.depth_pad.value + t * o.depth_dilation;
      if (plane < 0 || plane >= o.d) continue;
      for (std::int64_t p = 0; p < o.p(); ++p) {
        const std::int64_t y = p * o.stride.v - o.pad.top + r * o.dilation.v;
        if (y < 0 || y >= o.h) continue;
        for (std::int64_t q = 0; q < o.q(); ++q) {
          const std::int64_t x = q * o.stride.h - o.pad.left + s * o.dilation.h;
          if (x < 0 || x >= o.w) continue;
          const std::int64_t source = (((n * o.c + channel) * o.d + plane) * o.h + y) * o.w + x;
          const std::int64_t result = (((n * o.k + k) * o.z() + z) * o.p() + p) * o.q() + q;
          total.add(product(in[0], source, in[1], result));
        }
      }
    }
    return total;
  }

  static sum bias_gradient(const op::conv& o, tensors in, std::int64_t k) {
    sum total;
    const std::int64_t plane = o.z() * o.p() * o.q();
    for (std::int64_t n = 0; n < o.n; ++n) {
      for (std::int64_t i = 0; i < plane; ++i) {
        total.add(in[1][static_cast<std::size_t>((n * o.k + k) * plane + i)]);
      }
    }
    return total;
  }
};

static_assert(implements<backend, op::conv>);

}  // namespace layerbench::reference
