// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace layerbench::gpu {

/// Kernels for images, appended to kernel_source. An image has at most 2^31 elements, a tensor at
/// most 2^31 lines (n*h) and planes (n*c).
inline constexpr std::string_view image_kernel_source = R"cuda(
struct pool_sizes {
  int n, c, h, w, p, q, r, s, stride_v, stride_h, top, left, channels_last;
};

struct point {
  unsigned image, channel, row, column;
};

// Grid-stride loop over an array images * outer * middle * inner: calls work(image, i, j, k).
// blockIdx.y strides over images and i, the threads over j and k.
template <class Work>
void for_indices(unsigned images, unsigned outer, unsigned middle, unsigned inner,
                 const Work& work) {
  for (unsigned y = blockIdx.y; y < images * outer; y += gridDim.y) {
    for (i64 i = first(); i < static_cast<i64>(middle) * inner; i += stride()) {
      const unsigned x = static_cast<unsigned>(i);
      work(y / outer, y % outer, x / inner, x % inner);
    }
  }
}

// Calls work(width<N>, point) for N channels from the point's on. Neighbouring threads get
// neighbouring addresses.
template <class Work>
void for_points(const pool_sizes& o, int rows, int columns, bool by_lanes,
                const Work& work) {
  const unsigned channels = static_cast<unsigned>(o.c);
  if (!o.channels_last) {
    for_indices(o.n, channels, rows, columns,
                [&](unsigned image, unsigned channel, unsigned row, unsigned column) {
      work(width<1>(), point{image, channel, row, column});
    });
  } else if (by_lanes && channels % lanes == 0) {
    for_indices(o.n, rows, columns, channels / lanes,
                [&](unsigned image, unsigned row, unsigned column, unsigned group) {
      work(width<lanes>(), point{image, lanes * group, row, column});
    });
  } else {
    for_indices(o.n, rows, columns, channels,
                [&](unsigned image, unsigned row, unsigned column, unsigned channel) {
      work(width<1>(), point{image, channel, row, column});
    });
  }
}

// Offset of a point in elements.
i64 offset_of(const pool_sizes& o, point p, int rows, int columns) {
  if (!o.channels_last) {
    const i64 plane = static_cast<i64>(p.image) * o.c + p.channel;
    return (plane * rows + p.row) * columns + p.column;
  }
  const i64 line = static_cast<i64>(p.image) * rows + p.row;
  return (line * columns + p.column) * o.c + p.channel;
}

// In inference nobody asks for the taps, and there is no place for them.
extern "C" __global__ void pool_max(const number* src, number* dst, signed char* taps,
                                    pool_sizes o) {
  const bool by_lanes = aligned(src) && aligned(dst) && aligned(taps);
  for_points(o, o.p, o.q, by_lanes, [&](auto wide, point to) {
    constexpr int n = decltype(wide)::value;
    float largest[n];
    pack<signed char, n> tap = {};
    for (int i = 0; i < n; ++i) largest[i] = __uint_as_float(0xFF800000U);
    const int top = static_cast<int>(to.row) * o.stride_v - o.top;
    const int left = static_cast<int>(to.column) * o.stride_h - o.left;
    for (int y = top < 0 ? 0 : top; y < top + o.r && y < o.h; ++y) {
      for (int x = left < 0 ? 0 : left; x < left + o.s && x < o.w; ++x) {
        const point from{to.image, to.channel, static_cast<unsigned>(y), static_cast<unsigned>(x)};
        const auto values = load<n>(src + offset_of(o, from, o.h, o.w));
        for (int i = 0; i < n; ++i) {
          const float value = widen(values.at[i]);
          if (value <= largest[i] || largest[i] != largest[i]) continue;  // keep NaN
          largest[i] = value;
          tap.at[i] = static_cast<signed char>((y - top) * o.s + x - left);
        }
      }
    }
    pack<number, n> maxima;
    for (int i = 0; i < n; ++i) maxima.at[i] = narrow(largest[i]);
    const i64 offset = offset_of(o, to, o.p, o.q);
    store(dst + offset, maxima);
    if (taps != nullptr) store(taps + offset, tap);
  });
}

// Each source element sums the gradients of the windows of which it is the maximum.
extern "C" __global__ void pool_max_gradient(const number* gradient, const signed char* taps,
                                             number* result, pool_sizes o) {
  const bool by_lanes = aligned(gradient) && aligned(taps) && aligned(result);
  for_points(o, o.h, o.w, by_lanes, [&](auto wide, point to) {
    constexpr int n = decltype(wide)::value;
    float sum[n] = {};
    const int row = static_cast<int>(to.row) + o.top;
    const int column = static_cast<int>(to.column) + o.left;
    const int first_q = column < o.s ? 0 : (column - o.s) / o.stride_h + 1;
    for (int p = row < o.r ? 0 : (row - o.r) / o.stride_v + 1;
         p < o.p && p * o.stride_v <= row; ++p) {
      for (int q = first_q; q < o.q && q * o.stride_h <= column; ++q) {
        const point from{to.image, to.channel, static_cast<unsigned>(p), static_cast<unsigned>(q)};
        const i64 offset = offset_of(o, from, o.p, o.q);
        const auto values = load<n>(gradient + offset);
        const auto tap = load<n>(taps + offset);
        const int window_tap = (row - p * o.stride_v) * o.s + column - q * o.stride_h;
        for (int i = 0; i < n; ++i) sum[i] += tap.at[i] == window_tap ? widen(values.at[i]) : 0.0F;
      }
    }
    pack<number, n> sums;
    for (int i = 0; i < n; ++i) sums.at[i] = narrow(sum[i]);
    store(result + offset_of(o, to, o.h, o.w), sums);
  });
}

// A loop of a copy: its extent, and the steps along it in both tensors, in elements.
struct copy_loop {
  i64 extent, from_step, to_step;
};
// Elements of the destination follow each other along the last loop; those of the source along the
// same one, or along the one before it.
struct copy_loops {
  copy_loop at[6];
};

struct copy_offsets {
  i64 from, to;
};
// Where index i of the first N loops lies in both tensors.
template <int N>
copy_offsets offsets_of(const copy_loops& o, i64 i, i64 size) {
  copy_offsets all = {0, 0};
  for (int loop = N - 1; loop >= 0; --loop) {
    const i64 rest = quotient_of(i, o.at[loop].extent, size);
    const i64 index = i - rest * o.at[loop].extent;
    all.from += index * o.at[loop].from_step;
    all.to += index * o.at[loop].to_step;
    i = rest;
  }
  return all;
}

// Copies N elements at a time, which follow each other in both tensors.
template <int N>
void copy_runs(const number* from, number* to, i64 size, const copy_loops& o) {
  const copy_loop last = o.at[5];
  const i64 runs = last.extent / N;
  for (i64 t = first(); t < size / N; t += stride()) {
    const i64 rest = quotient_of(t, runs, size);
    const i64 i = N * (t - rest * runs);
    const copy_offsets begin = offsets_of<5>(o, rest, size);
    store(to + begin.to + i * last.to_step, load<N>(from + begin.from + i * last.from_step));
  }
}

// Transposes tiles of N by N elements: N neighbours in the source become N lines of the
// destination. Up to 4 neighbouring threads write one line, and the next 4 read on in the source, so
// that most accesses fill sectors of 32 bytes.
template <int N>
void copy_tiles(const number* from, number* to, i64 size, const copy_loops& o) {
  const copy_loop read = o.at[4];
  const copy_loop written = o.at[5];
  const i64 lines = read.extent / N;
  const i64 tiles = written.extent / N;
  const i64 near = tiles % 4 == 0 ? 4 : tiles % 2 == 0 ? 2 : 1;
  for (i64 t = first(); t < size / (N * N); t += stride()) {
    const i64 group = quotient_of(t, near, size);
    const i64 column_group = quotient_of(group, lines, size);
    const i64 rest = quotient_of(column_group, tiles / near, size);
    const i64 i = N * (group - column_group * lines);
    const i64 j = N * ((column_group - rest * (tiles / near)) * near + t - group * near);
    const copy_offsets begin = offsets_of<4>(o, rest, size);
    const number* source = from + begin.from + i + j * written.from_step;
    number* target = to + begin.to + i * read.to_step + j;
    pack<number, N> columns[N];
    for (int k = 0; k < N; ++k) columns[k] = load<N>(source + k * written.from_step);
    for (int k = 0; k < N; ++k) {
      pack<number, N> line;
      for (int l = 0; l < N; ++l) line.at[l] = columns[l].at[k];
      store(target + k * read.to_step, line);
    }
  }
}

// `width` elements can be loaded and stored at once, if both tensors are aligned.
extern "C" __global__ void transpose(const number* from, number* to, i64 size, copy_loops o,
                                     int width) {
  const bool in_tiles = o.at[5].from_step != 1;
  if (!aligned(from) || !aligned(to)) width = 1;
  if (width == lanes) {
    in_tiles ? copy_tiles<lanes>(from, to, size, o) : copy_runs<lanes>(from, to, size, o);
  } else if (width == lanes / 2) {
    in_tiles ? copy_tiles<lanes / 2>(from, to, size, o) : copy_runs<lanes / 2>(from, to, size, o);
  } else {
    copy_runs<1>(from, to, size, o);
  }
}

// Threads for groups of `lanes` channels of channels-last images: calls work(group, p, step), where
// the thread has the group's pixels p, p + step and so on.
template <class Work>
void for_channel_groups(i64 groups, const Work& work) {
  const i64 step = stride() / groups;
  if (step == 0) {
    for (i64 group = first(); group < groups; group += stride()) work(group, 0, 1);
  } else if (first() < step * groups) {
    work(first() % groups, first() / groups, step);
  }
}

// Sums over the images and pixels of each channel, in steps: partial sums, then sums of these by
// sum_parts until one is left. `count` is how many parts each channel has.
extern "C" __global__ void bias_gradient_parts(const number* gradient, float* parts, i64 images,
                                               i64 channels, i64 pixels, int channels_last,
                                               i64 count) {
  if (channels_last != 0 && channels % lanes == 0 && aligned(gradient)) {
    const i64 groups = channels / lanes;
    for (i64 t = first(); t < groups * count; t += stride()) {
      const i64 group = t % groups;
      const i64 part = t / groups;
      float sums[lanes] = {};
      for (i64 p = part; p < images * pixels; p += count) {
        const auto values = load<lanes>(gradient + (p * groups + group) * lanes);
        for (int i = 0; i < lanes; ++i) sums[i] += widen(values.at[i]);
      }
      for (int i = 0; i < lanes; ++i) parts[part * channels + group * lanes + i] = sums[i];
    }
    return;
  }
  for (i64 t = first(); t < channels * count; t += stride()) {
    const i64 c = channels_last != 0 ? t % channels : t / count;
    const i64 part = channels_last != 0 ? t / channels : t % count;
    float sum = 0;
    for (i64 i = part; i < images * pixels; i += count) {
      const i64 plane = i / pixels * channels + c;
      sum += widen(gradient[channels_last != 0 ? i * channels + c : plane * pixels + i % pixels]);
    }
    parts[part * channels + c] = sum;
  }
}

// The sum of every `step`th of `count` parts of a channel, from part `begin` on.
float sum_of_parts(const float* parts, i64 channels, i64 c, i64 begin, i64 count, i64 step) {
  float sum = 0;
  for (i64 i = begin; i < count; i += step) sum += parts[i * channels + c];
  return sum;
}

// Sums `count` parts of each channel into `sums` parts.
extern "C" __global__ void sum_parts(const float* parts, float* result, i64 channels, i64 count,
                                     i64 sums) {
  for (i64 t = first(); t < channels * sums; t += stride()) {
    result[t] = sum_of_parts(parts, channels, t % channels, t / channels, count, sums);
  }
}
extern "C" __global__ void bias_gradient(const float* parts, number* result, i64 channels,
                                         i64 count) {
  for (i64 c = first(); c < channels; c += stride()) {
    result[c] = narrow(sum_of_parts(parts, channels, c, 0, count, 1));
  }
}

// What normalizes a channel; a null scale is 1, a null shift 0.
struct channel_values {
  const float *scale, *shift, *mean, *variance;
  float epsilon;
};

// Of N channels: (src - mean) * factor + offset.
template <int N>
struct lines {
  pack<float, N> mean, factor, offset;
};
template <int N>
lines<N> lines_of(const channel_values& o, i64 c) {
  lines<N> all = {load<N>(o.mean + c), load<N>(o.variance + c), {}};
  for (int i = 0; i < N; ++i) all.factor.at[i] = rsqrtf(all.factor.at[i] + o.epsilon);
  if (o.scale != nullptr) {
    const auto scale = load<N>(o.scale + c);
    for (int i = 0; i < N; ++i) all.factor.at[i] *= scale.at[i];
  }
  if (o.shift != nullptr) all.offset = load<N>(o.shift + c);
  return all;
}

// Normalizes by given statistics. `plane` elements of a channel follow each other: 1 if channels are
// last.
extern "C" __global__ void batchnorm(const number* src, number* dst, i64 size, i64 channels,
                                     i64 plane, channel_values o) {
  const bool by_lanes = aligned(src) && aligned(dst) && aligned(o.scale) && aligned(o.shift) &&
                        aligned(o.mean) && aligned(o.variance);
  if (plane == 1 && channels % lanes == 0 && by_lanes) {
    const i64 groups = channels / lanes;
    for_channel_groups(groups, [&](i64 group, i64 first_pixel, i64 step) {
      const auto by = lines_of<lanes>(o, group * lanes);
      for (i64 p = first_pixel; p < size / channels; p += step) {
        auto values = load<lanes>(src + (p * groups + group) * lanes);
        for (int i = 0; i < lanes; ++i) {
          values.at[i] = narrow((widen(values.at[i]) - by.mean.at[i]) * by.factor.at[i] +
                                by.offset.at[i]);
        }
        store(dst + (p * groups + group) * lanes, values);
      }
    });
    return;
  }
  for_elements(size, plane % lanes == 0 && by_lanes, [&](auto wide, i64 i) {
    constexpr int n = decltype(wide)::value;
    auto values = load<n>(src + i);
    const i64 c = size <= 0x7FFFFFFF ? static_cast<unsigned>(i) / static_cast<unsigned>(plane) %
                                           static_cast<unsigned>(channels)
                                     : i / plane % channels;
    const auto by = lines_of<1>(o, c);
    for (int j = 0; j < n; ++j) {
      values.at[j] =
          narrow((widen(values.at[j]) - by.mean.at[0]) * by.factor.at[0] + by.offset.at[0]);
    }
    store(dst + i, values);
  });
}
)cuda";

}  // namespace layerbench::gpu
