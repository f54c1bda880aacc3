// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Kernels of the suite's own, for what NVIDIA's libraries have no call: CUDA C++ that is compiled
/// at run time. They need neither shared memory nor threads that wait for each other, so that tests
/// can run them on a processor, one thread after the other. A program of them is three parts: a
/// type, kernel_source, image_kernel_source.
namespace layerbench::cuda {

/// What kernels call `number`, how it becomes an f32, and how an f32 is rounded to it: to nearest,
/// ties to even.
inline constexpr std::string_view f32_source = R"cuda(
using number = float;
float widen(float value) { return value; }
float narrow(float value) { return value; }
)cuda";

inline constexpr std::string_view bf16_source = R"cuda(
struct number {
  unsigned short bits;
};
float widen(number value) {
  return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
}
number narrow(float value) {
  const unsigned whole = __float_as_uint(value);
  const unsigned rounded = (whole + 0x7FFFU + ((whole >> 16) & 1U)) >> 16;
  return {static_cast<unsigned short>(value == value ? rounded : 0x7FFFU)};
}
)cuda";

inline constexpr std::string_view f16_source = R"cuda(
struct number {
  unsigned short bits;
};
float widen(number value) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
  return wide;
}
number narrow(float value) {
  number rounded;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(rounded.bits) : "f"(value));
  return rounded;
}
)cuda";

/// Behind a type: what sees no images. Where all operands begin at multiples of 16 bytes, four
/// elements are worked on at once. Tensors may have more than 2^31 elements.
inline constexpr std::string_view kernel_source = R"cuda(
using i64 = long long;

// N numbers that are loaded and stored at once, by instructions of up to 16 bytes.
template <class T, int N>
struct alignas(N * sizeof(T)) pack {
  T at[N];
};
template <int N, class T>
pack<T, N> load(const T* from) {
  return *reinterpret_cast<const pack<T, N>*>(from);
}
template <class T, int N>
void store(T* to, const pack<T, N>& values) {
  *reinterpret_cast<pack<T, N>*>(to) = values;
}
bool aligned(const void* place) {
  return reinterpret_cast<size_t>(place) % 16 == 0;
}

template <int N>
struct width {
  static constexpr int value = N;
};

i64 first() { return static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; }
i64 stride() { return static_cast<i64>(gridDim.x) * blockDim.x; }

// Calls work(width<N>, i) for elements i to i + N - 1, until all are done.
template <class Work>
void for_elements(i64 size, bool by_four, const Work& work) {
  const i64 grouped = by_four ? size / 4 * 4 : 0;
  for (i64 i = 4 * first(); i < grouped; i += 4 * stride()) work(width<4>(), i);
  for (i64 i = grouped + first(); i < size; i += stride()) work(width<1>(), i);
}

extern "C" __global__ void copy(const unsigned char* from, unsigned char* to, i64 bytes) {
  const i64 grouped = aligned(from) && aligned(to) ? bytes / 16 : 0;
  for (i64 i = first(); i < grouped; i += stride()) {
    store(reinterpret_cast<unsigned*>(to) + 4 * i,
          load<4>(reinterpret_cast<const unsigned*>(from) + 4 * i));
  }
  for (i64 i = 16 * grouped + first(); i < bytes; i += stride()) to[i] = from[i];
}

// Tensors that are updated in one launch, blockIdx.y says which: operands in the op's order. The
// parameters of a launch have room for 4096 bytes.
struct update_tensor {
  i64 size;
  void* at[8];
};
struct update_tensors {
  update_tensor each[56];
};
struct update_rates {
  float rate, first_moment, of_gradient, second_moment, of_square, decay, epsilon;
};

template <int States, class Rule>
void update(const update_tensor& of, const Rule& rule) {
  constexpr bool has_copy = sizeof(number) < sizeof(float);
  bool by_four = true;
  for (int i = 0; i < 3 + 2 * States + has_copy; ++i) by_four = by_four && aligned(of.at[i]);
  for_elements(of.size, by_four, [&](auto wide, i64 i) {
    constexpr int n = decltype(wide)::value;
    auto weights = load<n>(static_cast<const float*>(of.at[0]) + i);
    const auto gradient = load<n>(static_cast<const number*>(of.at[1]) + i);
    pack<float, n> states[2] = {};
    for (int j = 0; j < States; ++j) {
      states[j] = load<n>(static_cast<const float*>(of.at[2 + j]) + i);
    }
    pack<number, n> copy;
    for (int j = 0; j < n; ++j) {
      rule(weights.at[j], widen(gradient.at[j]), states[0].at[j], states[1].at[j]);
      copy.at[j] = narrow(weights.at[j]);
    }
    store(static_cast<float*>(of.at[2 + States]) + i, weights);
    for (int j = 0; j < States; ++j) {
      store(static_cast<float*>(of.at[3 + States + j]) + i, states[j]);
    }
    if constexpr (has_copy) store(static_cast<number*>(of.at[3 + 2 * States]) + i, copy);
  });
}

extern "C" __global__ void update_sgd(const __grid_constant__ update_tensors all,
                                      update_rates by) {
  update<0>(all.each[blockIdx.y], [&](float& weight, float gradient, float&, float&) {
    weight -= by.rate * gradient;
  });
}

extern "C" __global__ void update_momentum(const __grid_constant__ update_tensors all,
                                           update_rates by) {
  update<1>(all.each[blockIdx.y], [&](float& weight, float gradient, float& moment, float&) {
    moment = by.first_moment * moment + gradient + by.decay * weight;
    weight -= by.rate * moment;
  });
}

extern "C" __global__ void update_adam(const __grid_constant__ update_tensors all,
                                       update_rates by) {
  update<2>(all.each[blockIdx.y], [&](float& weight, float gradient, float& moment,
                                      float& second) {
    moment = by.first_moment * moment + by.of_gradient * gradient;
    second = by.second_moment * second + by.of_square * gradient * gradient;
    weight -= by.rate * moment / (sqrtf(second) + by.epsilon);
  });
}

extern "C" __global__ void update_accumulate(const __grid_constant__ update_tensors all,
                                             update_rates) {
  const update_tensor& of = all.each[blockIdx.y];
  const bool by_four = aligned(of.at[0]) && aligned(of.at[1]) && aligned(of.at[2]);
  for_elements(of.size, by_four, [&](auto wide, i64 i) {
    constexpr int n = decltype(wide)::value;
    auto sum = load<n>(static_cast<const number*>(of.at[0]) + i);
    const auto gradient = load<n>(static_cast<const number*>(of.at[1]) + i);
    for (int j = 0; j < n; ++j) sum.at[j] = narrow(widen(sum.at[j]) + widen(gradient.at[j]));
    store(static_cast<number*>(of.at[2]) + i, sum);
  });
}

i64 right_class(float target, i64 classes) {
  const i64 whole = static_cast<i64>(target);
  return whole < 0 ? 0 : whole < classes ? whole : classes - 1;
}

// One block of 64 threads: the losses of the images that each looks at; then one thread, since the
// others would only wait.
extern "C" __global__ void cross_entropy_parts(const number* probabilities, const float* target,
                                               float* parts, i64 images, i64 classes,
                                               float least) {
  float sum = 0;
  for (i64 i = first(); i < images; i += stride()) {
    const float right = widen(probabilities[i * classes + right_class(target[i], classes)]);
    sum -= logf(right < least ? least : right);
  }
  parts[first()] = sum;
}

extern "C" __global__ void cross_entropy_mean(const float* parts, number* loss, i64 images) {
  float sum = 0;
  for (int i = 0; i < 64; ++i) sum += parts[i];
  *loss = narrow(sum / static_cast<float>(images));
}

extern "C" __global__ void cross_entropy_gradient(const number* probabilities,
                                                  const float* target, number* gradient,
                                                  i64 images, i64 classes) {
  const float share = 1 / static_cast<float>(images);
  for (i64 image = blockIdx.y; image < images; image += gridDim.y) {
    const i64 right = right_class(target[image], classes);
    for (i64 i = first(); i < classes; i += stride()) {
      const i64 at = image * classes + i;
      gradient[at] = narrow((widen(probabilities[at]) - (i == right ? 1.0F : 0.0F)) * share);
    }
  }
}

// The position in row-major order of what lies at `place` of images with the channels last; of
// anything else there is one channel.
i64 row_major(i64 place, i64 channels, i64 pixels) {
  if (channels == 1) return place;
  const i64 pixel = place / channels;
  const i64 image = pixel / pixels;
  return (image * channels + place % channels) * pixels + pixel % pixels;
}

extern "C" __global__ void dropout(const number* src, const float* seed, number* dst,
                                   signed char* mask, i64 size, i64 channels, i64 pixels,
                                   unsigned least, float factor) {
  const unsigned seed_bits = __float_as_uint(*seed);
  const bool by_four = aligned(src) && aligned(dst) && aligned(mask);
  for_elements(size, by_four, [&](auto wide, i64 i) {
    constexpr int n = decltype(wide)::value;
    auto values = load<n>(src + i);
    pack<signed char, n> kept;
    for (int j = 0; j < n; ++j) {
      const i64 index = row_major(i + j, channels, pixels);
      unsigned bits = (static_cast<unsigned>(index) * 0x9E3779B9U) ^ seed_bits;
      bits = (bits ^ (bits >> 16)) * 0x85EBCA6BU;
      bits = (bits ^ (bits >> 13)) * 0xC2B2AE35U;
      kept.at[j] = (bits ^ (bits >> 16)) >= least ? 1 : 0;
      values.at[j] = narrow(widen(values.at[j]) * (kept.at[j] != 0 ? factor : 0.0F));
    }
    store(dst + i, values);
    store(mask + i, kept);
  });
}

extern "C" __global__ void dropout_gradient(const number* gradient, const signed char* mask,
                                            number* result, i64 size, float factor) {
  const bool by_four = aligned(gradient) && aligned(mask) && aligned(result);
  for_elements(size, by_four, [&](auto wide, i64 i) {
    constexpr int n = decltype(wide)::value;
    auto values = load<n>(gradient + i);
    const auto kept = load<n>(mask + i);
    for (int j = 0; j < n; ++j) {
      values.at[j] = narrow(widen(values.at[j]) * (kept.at[j] != 0 ? factor : 0.0F));
    }
    store(result + i, values);
  });
}

// By one thread, behind all that read the old one, which may lie in the same place.
extern "C" __global__ void dropout_seed(const float* seed, float* new_seed) {
  *new_seed = *seed + 1;
}
)cuda";

}  // namespace layerbench::cuda
