// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace layerbench::cuda {

/// Behind kernel_source: what sees images, of up to 2^31 elements each, and as many lines and
/// planes.
inline constexpr std::string_view image_kernel_source = R"cuda(
struct pool_sizes {
  int n, c, h, w, p, q, r, s, stride_v, stride_h, top, left, channels_last;
};

// A point of images of rows*columns.
struct point {
  unsigned image, channel, row, column;
};

template <class Work>
void for_points_channels_last(unsigned images, unsigned channels, unsigned rows,
                              unsigned columns, const Work& work) {
  for (unsigned line = blockIdx.y; line < images * rows; line += gridDim.y) {
    for (i64 i = first(); i < static_cast<i64>(columns) * channels; i += stride()) {
      const unsigned at = static_cast<unsigned>(i);
      work(point{line / rows, at % channels, line % rows, at / channels});
    }
  }
}
template <class Work>
void for_points_channels_first(unsigned images, unsigned channels, unsigned rows,
                               unsigned columns, const Work& work) {
  for (unsigned plane = blockIdx.y; plane < images * channels; plane += gridDim.y) {
    for (i64 i = first(); i < static_cast<i64>(rows) * columns; i += stride()) {
      const unsigned at = static_cast<unsigned>(i);
      work(point{plane / channels, plane % channels, at / columns, at % columns});
    }
  }
}

// Calls work(width<N>, point) for N channels from the point's on, neighbours in memory by
// neighbouring threads.
template <class Work>
void for_points(const pool_sizes& o, int rows, int columns, bool by_four,
                const Work& work) {
  const unsigned channels = static_cast<unsigned>(o.c);
  if (!o.channels_last) {
    for_points_channels_first(o.n, channels, rows, columns,
                              [&](point at) { work(width<1>(), at); });
  } else if (by_four && channels % 4 == 0) {
    for_points_channels_last(o.n, channels / 4, rows, columns, [&](point at) {
      at.channel *= 4;
      work(width<4>(), at);
    });
  } else {
    for_points_channels_last(o.n, channels, rows, columns,
                             [&](point at) { work(width<1>(), at); });
  }
}

i64 place_of(const pool_sizes& o, point at, int rows, int columns) {
  if (!o.channels_last) {
    const i64 plane = static_cast<i64>(at.image) * o.c + at.channel;
    return (plane * rows + at.row) * columns + at.column;
  }
  const i64 line = static_cast<i64>(at.image) * rows + at.row;
  return (line * columns + at.column) * o.c + at.channel;
}

extern "C" __global__ void pool_max(const number* src, number* dst, signed char* taps,
                                    pool_sizes o) {
  const bool by_four = aligned(src) && aligned(dst) && aligned(taps);
  for_points(o, o.p, o.q, by_four, [&](auto wide, point to) {
    constexpr int n = decltype(wide)::value;
    float largest[n];
    pack<signed char, n> tap = {};
    for (int i = 0; i < n; ++i) largest[i] = __uint_as_float(0xFF800000U);
    const int top = static_cast<int>(to.row) * o.stride_v - o.top;
    const int left = static_cast<int>(to.column) * o.stride_h - o.left;
    for (int y = top < 0 ? 0 : top; y < top + o.r && y < o.h; ++y) {
      for (int x = left < 0 ? 0 : left; x < left + o.s && x < o.w; ++x) {
        const point from{to.image, to.channel, static_cast<unsigned>(y), static_cast<unsigned>(x)};
        const auto values = load<n>(src + place_of(o, from, o.h, o.w));
        for (int i = 0; i < n; ++i) {
          const float value = widen(values.at[i]);
          if (value <= largest[i] || largest[i] != largest[i]) continue;  // NaN wins
          largest[i] = value;
          tap.at[i] = static_cast<signed char>((y - top) * o.s + x - left);
        }
      }
    }
    pack<number, n> maxima;
    for (int i = 0; i < n; ++i) maxima.at[i] = narrow(largest[i]);
    const i64 place = place_of(o, to, o.p, o.q);
    store(dst + place, maxima);
    store(taps + place, tap);
  });
}

// Each gradient of a source is the sum over the windows that have it as their maximum.
extern "C" __global__ void pool_max_gradient(const number* gradient, const signed char* taps,
                                             number* result, pool_sizes o) {
  const bool by_four = aligned(gradient) && aligned(taps) && aligned(result);
  for_points(o, o.h, o.w, by_four, [&](auto wide, point to) {
    constexpr int n = decltype(wide)::value;
    float sum[n] = {};
    const int down = static_cast<int>(to.row) + o.top;
    const int across = static_cast<int>(to.column) + o.left;
    const int first_q = across < o.s ? 0 : (across - o.s) / o.stride_h + 1;
    for (int p = down < o.r ? 0 : (down - o.r) / o.stride_v + 1;
         p < o.p && p * o.stride_v <= down; ++p) {
      for (int q = first_q; q < o.q && q * o.stride_h <= across; ++q) {
        const point from{to.image, to.channel, static_cast<unsigned>(p), static_cast<unsigned>(q)};
        const i64 place = place_of(o, from, o.p, o.q);
        const auto values = load<n>(gradient + place);
        const auto tap = load<n>(taps + place);
        const int here = (down - p * o.stride_v) * o.s + across - q * o.stride_h;
        for (int i = 0; i < n; ++i) sum[i] += tap.at[i] == here ? widen(values.at[i]) : 0.0F;
      }
    }
    pack<number, n> sums;
    for (int i = 0; i < n; ++i) sums.at[i] = narrow(sum[i]);
    store(result + place_of(o, to, o.h, o.w), sums);
  });
}

// Extents in the order of the destination, slowest first, and the source's steps along them.
struct reorder_axes {
  i64 extents[4];
  i64 steps[4];
};

template <class Index>
void reorder_by(const number* from, number* to, Index size,
                const reorder_axes& o) {
  for (i64 i = first(); i < static_cast<i64>(size); i += stride()) {
    Index rest = static_cast<Index>(i);
    i64 place = 0;
    for (int axis = 3; axis > 0; --axis) {
      const Index extent = static_cast<Index>(o.extents[axis]);
      place += static_cast<i64>(rest % extent) * o.steps[axis];
      rest /= extent;
    }
    to[i] = from[place + static_cast<i64>(rest) * o.steps[0]];
  }
}

extern "C" __global__ void reorder(const number* from, number* to, i64 size, reorder_axes o) {
  if (size <= 0x7FFFFFFF) {  // divisions of 32 bits are several times as fast
    reorder_by(from, to, static_cast<unsigned>(size), o);
  } else {
    reorder_by(from, to, size, o);
  }
}

// Sums over all images and pixels of each channel: blockIdx.y says which part of them, then of all
// parts.
extern "C" __global__ void bias_gradient_parts(const number* gradient, float* parts, i64 images,
                                               i64 channels, i64 pixels, int channels_last) {
  for (i64 c = first(); c < channels; c += stride()) {
    float sum = 0;
    for (i64 i = blockIdx.y; i < images * pixels; i += gridDim.y) {
      const i64 plane = i / pixels * channels + c;
      sum += widen(gradient[channels_last != 0 ? i * channels + c : plane * pixels + i % pixels]);
    }
    parts[blockIdx.y * channels + c] = sum;
  }
}

extern "C" __global__ void bias_gradient(const float* parts, number* result, i64 channels,
                                         int count) {
  for (i64 c = first(); c < channels; c += stride()) {
    float sum = 0;
    for (int i = 0; i < count; ++i) sum += parts[i * channels + c];
    result[c] = narrow(sum);
  }
}
)cuda";

}  // namespace layerbench::cuda
