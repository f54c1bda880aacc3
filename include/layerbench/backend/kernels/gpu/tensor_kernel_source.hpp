// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace layerbench::gpu {

/// Behind kernel_source: concat, split, multiply, pad, append, rotary, embedding, layernorm, stream
/// and add_bias.
inline constexpr std::string_view tensor_kernel_source = R"cuda(
// Runs of several tensors that follow each other in memory of a whole one, again and again: where
// each ends, in elements from the first.
struct concat_runs {
  i64 ends[64];
  void* at[64];
  void* whole;
  int count, by_lanes;
};

template <bool Split, int N, class Index>
void move_run(Index i, const concat_runs& o) {
  const Index row = static_cast<Index>(o.ends[o.count - 1]);
  const Index column = i % row;
  int low = 0;
  for (int high = o.count - 1; low < high;) {
    const int middle = (low + high) / 2;
    if (static_cast<Index>(o.ends[middle]) <= column) low = middle + 1;
    else high = middle;
  }
  const i64 begin = low == 0 ? 0 : o.ends[low - 1];
  const i64 length = o.ends[low] - begin;
  number* one = static_cast<number*>(o.at[low]) + static_cast<i64>(i / row) * length +
                (static_cast<i64>(column) - begin);
  number* whole = static_cast<number*>(o.whole) + static_cast<i64>(i);
  if (Split) store(one, load<N>(whole));
  else store(whole, load<N>(one));
}

template <bool Split>
void move_runs(i64 size, const concat_runs& o) {
  for_elements(size, o.by_lanes != 0, [&](auto wide, i64 i) {
    constexpr int n = decltype(wide)::value;
    if (size <= 0x7FFFFFFF) move_run<Split, n>(static_cast<unsigned>(i), o);
    else move_run<Split, n>(i, o);
  });
}

extern "C" __global__ void concat(i64 size, const __grid_constant__ concat_runs o) {
  move_runs<false>(size, o);
}
extern "C" __global__ void split(i64 size, const __grid_constant__ concat_runs o) {
  move_runs<true>(size, o);
}

// Axes in the order of memory, slowest first, with the steps along them in a tensor and in one that
// is broadcast over it: there a step is 0.
struct multiply_axes {
  i64 counts[4];
  i64 steps[4];
  i64 steps1[4];
};

template <class Index>
i64 broadcast_place(Index i, const multiply_axes& o) {
  i64 place = 0;
  for (int axis = 3; axis > 0; --axis) {
    const Index count = static_cast<Index>(o.counts[axis]);
    place += static_cast<i64>(i % count) * o.steps1[axis];
    i /= count;
  }
  return place + static_cast<i64>(i) * o.steps1[0];
}

extern "C" __global__ void multiply(const number* src, const number* src1, number* dst, i64 size,
                                    multiply_axes o) {
  for_elements(size, aligned(src) && aligned(dst), [&](auto wide, i64 i) {
    constexpr int n = decltype(wide)::value;
    auto values = load<n>(src + i);
    for (int j = 0; j < n; ++j) {
      const i64 place = size <= 0x7FFFFFFF ? broadcast_place(static_cast<unsigned>(i + j), o)
                                           : broadcast_place(i + j, o);
      values.at[j] = narrow(widen(values.at[j]) * widen(src1[place]));
    }
    store(dst + i, values);
  });
}

// The place of element i of the axes that are broadcast, or of the others.
template <class Index>
i64 place_along(Index i, bool broadcast, const multiply_axes& o) {
  i64 place = 0;
  for (int axis = 3; axis >= 0; --axis) {
    if ((o.steps1[axis] == 0) != broadcast) continue;
    const Index count = static_cast<Index>(o.counts[axis]);
    place += static_cast<i64>(i % count) * o.steps[axis];
    i /= count;
  }
  return place;
}

// Sums of products over the axes that are broadcast: each of `count` threads has a part of a sum.
// The threads of a sum are neighbours where its terms are.
extern "C" __global__ void multiply_gradient_parts(const number* src, const number* gradient,
                                                   float* parts, i64 sums, i64 terms, int count,
                                                   int neighbours, multiply_axes o) {
  for (i64 i = first(); i < sums * count; i += stride()) {
    const i64 part = neighbours != 0 ? i % count : i / sums;
    const i64 which = neighbours != 0 ? i / count : i % sums;
    const i64 base = place_along(which, false, o);
    float sum = 0;
    for (i64 j = part; j < terms; j += count) {
      const i64 place = base + (terms <= 0x7FFFFFFF ? place_along(static_cast<unsigned>(j), true, o)
                                                    : place_along(j, true, o));
      sum += widen(src[place]) * widen(gradient[place]);
    }
    parts[part * sums + which] = sum;
  }
}

// Axes in the order of the destination's memory, slowest first. Positions in the source are off by
// the offsets; past its limits there are zeros.
struct pad_axes {
  i64 counts[4];
  i64 offsets[4];
  i64 limits[4];
  i64 steps[4];
  int by_lanes;
};

// The place in the source of element i of the destination; -1 where there are zeros.
template <class Index>
i64 padded_place(Index i, const pad_axes& o) {
  i64 place = 0;
  bool inside = true;
  for (int axis = 3; axis >= 0; --axis) {
    const Index count = static_cast<Index>(o.counts[axis]);
    const i64 at = static_cast<i64>(i % count) + o.offsets[axis];
    inside = inside && at >= 0 && at < o.limits[axis];
    place += at * o.steps[axis];
    i /= count;
  }
  return inside ? place : -1;
}

extern "C" __global__ void pad(const number* src, number* dst, i64 size, pad_axes o) {
  for_elements(size, o.by_lanes != 0 && aligned(src) && aligned(dst), [&](auto wide, i64 i) {
    constexpr int n = decltype(wide)::value;
    const i64 place = size <= 0x7FFFFFFF ? padded_place(static_cast<unsigned>(i), o)
                                         : padded_place(i, o);
    pack<number, n> values = {};
    if (place >= 0) values = load<n>(src + place);
    store(dst + i, values);
  });
}

// Copies runs of `run` elements that follow each other to places `step` apart.
extern "C" __global__ void append(const number* src, number* dst, i64 size, i64 run, i64 step) {
  const bool by_lanes = run % lanes == 0 && step % lanes == 0 && aligned(src) && aligned(dst);
  for_elements(size, by_lanes, [&](auto wide, i64 i) {
    constexpr int n = decltype(wide)::value;
    const i64 which = quotient_of(i, run, size);
    store(dst + which * step + (i - which * run), load<n>(src + i));
  });
}

// Turns pairs of values, which are `half` apart in a row of 2 * half. The rows of a token are its
// heads; the tables have a row for each token of a sequence. `back` turns the other way.
extern "C" __global__ void rotary(const number* src, const number* cosines, const number* sines,
                                  number* dst, i64 pairs, i64 half, i64 heads, i64 tokens,
                                  int back) {
  const bool by_lanes = half % lanes == 0 && aligned(src) && aligned(cosines) && aligned(sines) &&
                        aligned(dst);
  for_elements(pairs, by_lanes, [&](auto wide, i64 i) {
    constexpr int n = decltype(wide)::value;
    const i64 row = quotient_of(i, half, pairs);
    const i64 column = i - row * half;
    const i64 token = remainder_of(quotient_of(row, heads, pairs), tokens, pairs);
    const i64 at = row * 2 * half + column;
    const i64 in_table = token * 2 * half + column;
    auto first_values = load<n>(src + at);
    auto second_values = load<n>(src + at + half);
    const auto cos1 = load<n>(cosines + in_table);
    const auto cos2 = load<n>(cosines + in_table + half);
    const auto sin1 = load<n>(sines + in_table);
    const auto sin2 = load<n>(sines + in_table + half);
    for (int j = 0; j < n; ++j) {
      const float a = widen(first_values.at[j]);
      const float b = widen(second_values.at[j]);
      const float from_b = back != 0 ? widen(sin2.at[j]) : -widen(sin1.at[j]);
      const float from_a = back != 0 ? -widen(sin1.at[j]) : widen(sin2.at[j]);
      first_values.at[j] = narrow(widen(cos1.at[j]) * a + from_b * b);
      second_values.at[j] = narrow(widen(cos2.at[j]) * b + from_a * a);
    }
    store(dst + at, first_values);
    store(dst + at + half, second_values);
  });
}

extern "C" __global__ void embedding(const float* indices, const number* weights, number* dst,
                                     i64 size, i64 rows, i64 columns) {
  const bool by_lanes = columns % lanes == 0 && aligned(weights) && aligned(dst);
  for_elements(size, by_lanes, [&](auto wide, i64 i) {
    constexpr int n = decltype(wide)::value;
    const i64 which = quotient_of(i, columns, size);
    const number* row = weights + label_of(indices[which], rows) * columns;
    store(dst + i, load<n>(row + (i - which * columns)));
  });
}

// Lists of the indices of each row, `parts` for each: the first of each list, behind them the next
// of each index. The lists of a part follow each other.
extern "C" __global__ void embedding_lists(const float* indices, int* firsts, i64 n, i64 rows,
                                           i64 parts) {
  int* next = firsts + rows * parts;
  for (i64 i = first(); i < n; i += stride()) {
    const i64 list = i % parts * rows + label_of(indices[i], rows);
    next[i] = atomicExch(firsts + list, static_cast<int>(i));
  }
}

// The sums of the gradients of each list.
template <class Sum, class Narrow>
void sum_lists(const number* gradient, const int* firsts, Sum* sums, i64 lists, i64 columns,
               const Narrow& narrowed) {
  const int* next = firsts + lists;
  const i64 size = lists * columns;
  const bool by_lanes = columns % lanes == 0 && aligned(gradient) && aligned(sums);
  for_elements(size, by_lanes, [&](auto wide, i64 i) {
    constexpr int n = decltype(wide)::value;
    const i64 list = quotient_of(i, columns, size);
    float sum[n] = {};
    for (int at = firsts[list]; at >= 0; at = next[at]) {
      const auto values = load<n>(gradient + at * columns + (i - list * columns));
      for (int j = 0; j < n; ++j) sum[j] += widen(values.at[j]);
    }
    pack<Sum, n> results;
    for (int j = 0; j < n; ++j) results.at[j] = narrowed(sum[j]);
    store(sums + i, results);
  });
}
extern "C" __global__ void embedding_gradient(const number* gradient, const int* firsts,
                                              number* result, i64 rows, i64 columns) {
  sum_lists(gradient, firsts, result, rows, columns, [](float sum) { return narrow(sum); });
}
extern "C" __global__ void embedding_gradient_parts(const number* gradient, const int* firsts,
                                                    float* parts, i64 lists, i64 columns) {
  sum_lists(gradient, firsts, parts, lists, columns, [](float sum) { return sum; });
}

// Sum over the threads of a warp, all 32 of which must call it.
float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xFFFFFFFFU, value, step);
  return value;
}

// What normalizes rows: without a mean if they are not centred. A null scale is 1, a null bias 0;
// null statistics are not stored.
struct row_values {
  const float *scale, *bias;
  float *mean, *inverse_deviation;
  float epsilon;
  int centred;
};

// By a warp, whose threads have every 32nd group of N columns.
template <int N>
void normalize_row(const number* src, number* dst, i64 row, i64 columns, const row_values& o) {
  const int thread = threadIdx.x % 32;
  const i64 begin = row * columns;
  const float count = static_cast<float>(columns);
  const auto for_groups = [&](const auto& work) {
    for (i64 c = N * thread; c < columns; c += 32 * N) work(c, load<N>(src + begin + c));
  };
  float mean = 0;
  if (o.centred != 0) {
    for_groups([&](i64, const auto& values) {
      for (int j = 0; j < N; ++j) mean += widen(values.at[j]);
    });
    mean = warp_sum(mean) / count;
  }
  float squares = 0;
  for_groups([&](i64, const auto& values) {
    for (int j = 0; j < N; ++j) {
      const float difference = widen(values.at[j]) - mean;
      squares += difference * difference;
    }
  });
  const float factor = rsqrtf(warp_sum(squares) / count + o.epsilon);
  if (thread == 0 && o.mean != nullptr) o.mean[row] = mean;
  if (thread == 0 && o.inverse_deviation != nullptr) o.inverse_deviation[row] = factor;
  for_groups([&](i64 c, auto values) {
    pack<float, N> results;
    for (int j = 0; j < N; ++j) results.at[j] = (widen(values.at[j]) - mean) * factor;
    if (o.scale != nullptr) {
      const auto scale = load<N>(o.scale + c);
      for (int j = 0; j < N; ++j) results.at[j] *= scale.at[j];
    }
    if (o.bias != nullptr) {
      const auto bias = load<N>(o.bias + c);
      for (int j = 0; j < N; ++j) results.at[j] += bias.at[j];
    }
    for (int j = 0; j < N; ++j) values.at[j] = narrow(results.at[j]);
    store(dst + begin + c, values);
  });
}

extern "C" __global__ void layernorm(const number* src, number* dst, i64 rows, i64 columns,
                                     row_values o) {
  const bool by_lanes = columns % lanes == 0 && aligned(src) && aligned(dst) &&
                        aligned(o.scale) && aligned(o.bias);
  for (i64 row = first() / 32; row < rows; row += stride() / 32) {
    if (by_lanes) normalize_row<lanes>(src, dst, row, columns, o);
    else normalize_row<1>(src, dst, row, columns, o);
  }
}

// The sum of all numbers, added to dst, which is 0 before; a single warp sets it. Four independent
// sums of each thread hide the latency of the loads.
extern "C" __global__ void stream_read(const float* src, float* dst, i64 size) {
  constexpr int loads = 4;
  float sums[loads] = {};
  const i64 groups = aligned(src) ? size / 4 : 0;
  const auto add_group = [&](float& sum, const pack<float, 4>& values) {
    sum += (values.at[0] + values.at[1]) + (values.at[2] + values.at[3]);
  };
  i64 i = first();
  for (; i + (loads - 1) * stride() < groups; i += loads * stride()) {
    pack<float, 4> values[loads];
    for (int j = 0; j < loads; ++j) values[j] = load<4>(src + 4 * (i + j * stride()));
    for (int j = 0; j < loads; ++j) add_group(sums[j], values[j]);
  }
  for (; i < groups; i += stride()) add_group(sums[0], load<4>(src + 4 * i));
  for (i = 4 * groups + first(); i < size; i += stride()) sums[0] += src[i];
  const float sum = warp_sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
  if (threadIdx.x % 32 != 0) return;
  if (stride() == 32) *dst = sum;
  else atomicAdd(dst, sum);
}

// All bytes are the most significant one of src, as op::stream::written_byte() has it.
extern "C" __global__ void stream_write(const float* src, float* dst, i64 size) {
  const float value = __uint_as_float((__float_as_uint(*src) >> 24) * 0x01010101U);
  for_elements(size, aligned(dst), [&](auto wide, i64 i) {
    constexpr int n = decltype(wide)::value;
    pack<float, n> values;
    for (int j = 0; j < n; ++j) values.at[j] = value;
    store(dst + i, values);
  });
}

// `pixels` elements of a channel follow each other: 1 if channels are last.
extern "C" __global__ void add_bias(number* dst, const number* bias, i64 size, i64 channels,
                                    i64 pixels) {
  for_elements(size, aligned(dst), [&](auto wide, i64 i) {
    constexpr int n = decltype(wide)::value;
    const i64 row = quotient_of(i, pixels, size);
    i64 pixel = i - row * pixels;
    i64 channel = remainder_of(row, channels, size);
    auto values = load<n>(dst + i);
    for (int j = 0; j < n; ++j) {
      values.at[j] = narrow(widen(values.at[j]) + widen(bias[channel]));
      if (++pixel < pixels) continue;
      pixel = 0;
      if (++channel == channels) channel = 0;
    }
    store(dst + i, values);
  });
}
)cuda";

}  // namespace layerbench::gpu
