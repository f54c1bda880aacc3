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
    const std::int64_t k = index / (o.q() * o.p()) % o.k;
    const std::int64_t n = index / (o.q() * o.p() * o.k);
    const std::int64_t depth = o.c / o.groups;
    const std::int64_t first_channel = k / (o.k / o.groups) * depth;
    sum total;
    for (std::int64_t r = 0; r < o.r; ++r) {
      const std::int64_t down = y + o.pad.top - r * o.dilation.v;
      if (down < 0 || down % o.stride.v != 0 || down / o.stride.v >= o.h) continue;
      for (std::int64_t s = 0; s < o.s; ++s) {
        const std::int64_t across = x + o.pad.left - s * o.dilation.h;
        if (across < 0 || across % o.stride.h != 0 || across / o.stride.h >= o.w) continue;
        for (std::int64_t c = 0; c < depth; ++c) {
          const std::int64_t plane = n * o.c + first_channel + c;
          const std::int64_t source = (plane * o.h + down / o.stride.v) * o.w + across / o.stride.h;
          total.add(product(in[0], source, in[1], ((k * depth + c) * o.r + r) * o.s + s));
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
    const std::int64_t channel = index / (o.w * o.h) % o.c;
    const std::int64_t n = index / (o.w * o.h * o.c);
    const std::int64_t depth = o.c / o.groups;
    const std::int64_t width = o.k / o.groups;
    const std::int64_t first = channel / depth * width;
    sum total;
    for (std::int64_t r = 0; r < o.r; ++r) {
      const std::int64_t y = h * o.stride.v - o.pad.top + r * o.dilation.v;
      if (y < 0 || y >= o.p()) continue;
      for (std::int64_t s = 0; s < o.s; ++s) {
        const std::int64_t x = w * o.stride.h - o.pad.left + s * o.dilation.h;
        if (x < 0 || x >= o.q()) continue;
        for (std::int64_t k = first; k < first + width; ++k) {
          const std::int64_t weight = ((k * depth + channel % depth) * o.r + r) * o.s + s;
          total.add(product(in[0], ((n * o.k + k) * o.p() + y) * o.q() + x, in[1], weight));
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
    const std::int64_t c = index / (o.s * o.r) % depth;
    const std::int64_t k = index / (o.s * o.r * depth);
    const std::int64_t channel = k / (o.k / o.groups) * depth + c;
    sum total;
    for (std::int64_t n = 0; n < o.n; ++n) {
      for (std::int64_t h = 0; h < o.h; ++h) {
        const std::int64_t y = h * o.stride.v - o.pad.top + r * o.dilation.v;
        if (y < 0 || y >= o.p()) continue;
        for (std::int64_t w = 0; w < o.w; ++w) {
          const std::int64_t x = w * o.stride.h - o.pad.left + s * o.dilation.h;
          if (x < 0 || x >= o.q()) continue;
          total.add(product(in[0], ((n * o.c + channel) * o.h + h) * o.w + w, in[1],
                            ((n * o.k + k) * o.p() + y) * o.q() + x));
        }
      }
    }
    return total;
  }

  static sum bias_gradient(const op::deconv& o, tensors in, std::int64_t k) {
    sum total;
    const std::int64_t plane = o.p() * o.q();
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
