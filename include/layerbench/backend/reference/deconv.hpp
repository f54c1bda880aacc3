// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/backend/reference/post_ops.hpp>
#include <layerbench/op/deconv.hpp>

namespace layerbench::reference {

template <>
struct formula<op::deconv> {
  [[nodiscard]] static sum at(const op::deconv& o, op::pass pass, tensors in, std::size_t output,
                              std::int64_t index) {
    if (pass == op::pass::bwd_data) return source_gradient(o, in, index);
    if (pass == op::pass::bwd_weights) {
      return output == 2 ? weights_gradient(o, in, index) : bias_gradient(o, in, index);
    }
    return with_post_ops(forward(o, in, index), o.post, in, o.bias ? 3 : 2, index);
  }

 private:
  static sum forward(const op::deconv& o, tensors in, std::int64_t index) {
    const std::int64_t x = index % o.q();
    const std::int64_t y = index / o.q() % o.p();
    const std::int64_t z = index / (o.q() * o.p()) % o.z();
    const std::int64_t k = index / (o.q() * o.p() * o.z()) % o.k;
    const std::int64_t n = index / (o.q() * o.p() * o.z() * o.k);
    const std::int64_t depth = o.c / o.groups;
    const std::int64_t first_channel = k / (o.k / o.groups) * depth;
    sum total;
    for (std::int64_t tap = 0; tap < o.t * o.r; ++tap) {
      const std::int64_t back = z + o.depth_pad.value - tap / o.r * o.depth_dilation;
      if (back < 0 || back % o.depth_stride != 0 || back / o.depth_stride >= o.d) continue;
      const std::int64_t down = y + o.pad.top - tap % o.r * o.dilation.v;
      if (down < 0 || down % o.stride.v != 0 || down / o.stride.v >= o.h) continue;
      const std::int64_t line = back / o.depth_stride * o.h + down / o.stride.v;
      for (std::int64_t s = 0; s < o.s; ++s) {
        const std::int64_t across = x + o.pad.left - s * o.dilation.h;
        if (across < 0 || across % o.stride.h != 0 || across / o.stride.h >= o.w) continue;
        for (std::int64_t c = 0; c < depth; ++c) {
          const std::int64_t channel = n * o.c + first_channel + c;
          const std::int64_t source = (channel * o.d * o.h + line) * o.w + across / o.stride.h;
          const std::int64_t weight = ((k * depth + c) * o.t * o.r + tap) * o.s + s;
          total.add(product(in[0], source, in[1], weight));
        }
      }
    }
    if (o.bias) total.add(in[2][static_cast<std::size_t>(k)]);
    return total;
  }

  /// Of diff_dst and weights: all outputs that element `index` of the source went into.
  static sum source_gradient(const op::deconv& o, tensors in, std::int64_t index) {
    const std::int64_t w = index % o.w;
    const std::int64_t h = index / o.w % o.h;
    const std::int64_t plane = index / (o.w * o.h) % o.d;
    const std::int64_t channel = index / (o.w * o.h * o.d) % o.c;
    const std::int64_t n = index / (o.w * o.h * o.d * o.c);
    const std::int64_t depth = o.c / o.groups;
    const std::int64_t width = o.k / o.groups;
    const std::int64_t first = channel / depth * width;
    sum total;
    for (std::int64_t tap = 0; tap < o.t * o.r; ++tap) {
      const std::int64_t z =
          plane * o.depth_stride - o.depth_pad.value + tap / o.r * o.depth_dilation;
      const std::int64_t y = h * o.stride.v - o.pad.top + tap % o.r * o.dilation.v;
      if (z < 0 || z >= o.z() || y < 0 || y >= o.p()) continue;
      for (std::int64_t s = 0; s < o.s; ++s) {
        const std::int64_t x = w * o.stride.h - o.pad.left + s * o.dilation.h;
        if (x < 0 || x >= o.q()) continue;
        for (std::int64_t k = first; k < first + width; ++k) {
          const std::int64_t result = (((n * o.k + k) * o.z() + z) * o.p() + y) * o.q() + x;
          const std::int64_t weight = ((k * depth + channel % depth) * o.t * o.r + tap) * o.s + s;
          total.add(product(in[0], result, in[1], weight));
        }
      }
    }
    return total;
  }

  /// Of src and diff_dst: all images and places where a weight was used.
  static sum weights_gradient(const op::deconv& o, tensors in, std::int64_t index) {
    const std::int64_t depth = o.c / o.groups;
    const std::int64_t s = index % o.s;
    const std::int64_t r = index / o.s % o.r;
    const std::int64_t t = index / (o.s * o.r) % o.t;
    const std::int64_t c = index / (o.s * o.r * o.t) % depth;
    const std::int64_t k = index / (o.s * o.r * o.t * depth);
    const std::int64_t channel = k / (o.k / o.groups) * depth + c;
    sum total;
    for (std::int64_t of = 0; of < o.n * o.d; ++of) {
      const std::int64_t n = of / o.d;
      const std::int64_t plane = of % o.d;
      const std::int64_t z = plane * o.depth_stride - o.depth_pad.value + t * o.depth_dilation;
      if (z < 0 || z >= o.z()) continue;
      for (std::int64_t h = 0; h < o.h; ++h) {
        const std::int64_t y = h * o.stride.v - o.pad.top + r * o.dilation.v;
        if (y < 0 || y >= o.p()) continue;
        for (std::int64_t w = 0; w < o.w; ++w) {
          const std::int64_t x = w * o.stride.h - o.pad.left + s * o.dilation.h;
          if (x < 0 || x >= o.q()) continue;
          const std::int64_t source = (((n * o.c + channel) * o.d + plane) * o.h + h) * o.w + w;
          const std::int64_t result = (((n * o.k + k) * o.z() + z) * o.p() + y) * o.q() + x;
          total.add(product(in[0], source, in[1], result));
        }
      }
    }
    return total;
  }

  static sum bias_gradient(const op::deconv& o, tensors in, std::int64_t k) {
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

static_assert(implements<backend, op::deconv>);

}  // namespace layerbench::reference
