// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// The kernels of layerbench, for ops that libraries lack: CUDA C++ that is compiled at run time.
/// They use no shared memory and synchronize only by shuffles within a warp, so that tests can run
/// them on a CPU, one thread after the other. A program consists of an element type (f32_source,
/// bf16_source or f16_source), kernel_source, and the sources that build on it.
namespace layerbench::gpu {

/// Element type `number` and its conversions: widen() to f32, narrow() from f32 (round to nearest,
/// ties to even).
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
  const unsigned bits = __float_as_uint(value);
  const unsigned rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  return {static_cast<unsigned short>(value == value ? rounded : 0x7FFFU)};
}
)cuda";

inline constexpr std::string_view f16_source = R"cuda(
struct number {
  unsigned short bits;
};
float widen(number value) { return f16_widened(value.bits); }
number narrow(float value) { return {f16_narrowed(value)}; }
)cuda";

/// Kernels that do not depend on the extents of images. If all operands are aligned to 16 bytes, a
/// thread loads and stores 16 bytes of numbers at once. Tensors may have more than 2^31 elements.
inline constexpr std::string_view kernel_source = R"cuda(
using i64 = long long;

// N elements, loaded and stored by vector instructions of up to 16 bytes.
template <class T, int N>
struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) pack {
  T at[N];
};
// Numbers in 16 bytes.
constexpr int lanes = 16 / sizeof(number);
template <int N, class T>
pack<T, N> load(const T* from) {
  if constexpr (N * sizeof(T) == 16) {  // compilers split some loads of structures
    union {
      uint4 bits;
      pack<T, N> values;
    } all = {*reinterpret_cast<const uint4*>(from)};
    return all.values;
  } else {
    return *reinterpret_cast<const pack<T, N>*>(from);
  }
}
template <class T, int N>
void store(T* to, const pack<T, N>& values) {
  *reinterpret_cast<pack<T, N>*>(to) = values;
}
bool aligned(const void* address) {
  return reinterpret_cast<size_t>(address) % 16 == 0;
}

template <int N>
struct width {
  static constexpr int value = N;
};

i64 first() { return static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; }
i64 stride() { return static_cast<i64>(gridDim.x) * blockDim.x; }

// Grid-stride loop: calls work(width<N>, i) for elements i to i + N - 1.
template <class Work>
void for_elements(i64 size, bool by_lanes, const Work& work) {
  const i64 grouped = by_lanes ? size / lanes * lanes : 0;
  for (i64 i = lanes * first(); i < grouped; i += lanes * stride()) work(width<lanes>(), i);
  for (i64 i = grouped + first(); i < size; i += stride()) work(width<1>(), i);
}

// i / divisor and i % divisor; no i is as large as `size`. 32-bit division is several times faster.
i64 quotient_of(i64 i, i64 divisor, i64 size) {
  if (size > 0x7FFFFFFF) return i / divisor;
  return static_cast<unsigned>(i) / static_cast<unsigned>(divisor);
}
i64 remainder_of(i64 i, i64 divisor, i64 size) {
  return i - quotient_of(i, divisor, size) * divisor;
}

extern "C" __global__ void copy(const unsigned char* from, unsigned char* to, i64 bytes) {
  const i64 grouped = aligned(from) && aligned(to) ? bytes / 16 : 0;
  for (i64 i = first(); i < grouped; i += stride()) {
    store(reinterpret_cast<unsigned*>(to) + 4 * i,
          load<4>(reinterpret_cast<const unsigned*>(from) + 4 * i));
  }
  for (i64 i = 16 * grouped + first(); i < bytes; i += stride()) to[i] = from[i];
}

// The tensors of one launch, and the first block of each; the last one is the number of blocks. A
// block updates `update_chunk` elements. Operands are in the op's order. 52 tensors fit into the
// 4096 bytes of kernel parameters that all GPUs accept, with some room.
struct update_tensor {
  i64 size;
  void* operands[8];
};
struct update_tensors {
  update_tensor tensors[52];
  unsigned first_blocks[53];
};
struct update_rates {
  float rate, beta1, one_minus_beta1, beta2, one_minus_beta2, decay, epsilon;
};
constexpr i64 update_chunk = 16384;

// Calls work(tensor, width<N>, i) for the elements of this block. All operands of the tensor are
// aligned to 16 bytes, or N is 1.
template <class Work>
void update_elements(const update_tensors& all, int operands, const Work& work) {
  int low = 0;
  for (int high = 51; low < high;) {  // the last tensor that does not begin behind this block
    const int middle = (low + high + 1) / 2;
    if (all.first_blocks[middle] <= blockIdx.x) low = middle;
    else high = middle - 1;
  }
  const update_tensor& tensor = all.tensors[low];
  const i64 begin = (blockIdx.x - all.first_blocks[low]) * update_chunk;
  const i64 end = begin + update_chunk < tensor.size ? begin + update_chunk : tensor.size;
  bool by_lanes = true;
  for (int i = 0; i < operands; ++i) by_lanes = by_lanes && aligned(tensor.operands[i]);
  const i64 grouped = by_lanes ? begin + (end - begin) / lanes * lanes : begin;
  const i64 step = blockDim.x;
  for (i64 i = begin + lanes * threadIdx.x; i < grouped; i += lanes * step) {
    work(tensor, width<lanes>(), i);
  }
  for (i64 i = grouped + threadIdx.x; i < end; i += step) work(tensor, width<1>(), i);
}

template <int States, class Rule>
void update(const update_tensors& all, const Rule& rule) {
  constexpr bool has_copy = sizeof(number) < sizeof(float);
  update_elements(all, 3 + 2 * States + has_copy,
                  [&](const update_tensor& tensor, auto wide, i64 i) {
    constexpr int n = decltype(wide)::value;
    auto weights = load<n>(static_cast<const float*>(tensor.operands[0]) + i);
    const auto gradient = load<n>(static_cast<const number*>(tensor.operands[1]) + i);
    pack<float, n> states[2] = {};
    for (int j = 0; j < States; ++j) {
      states[j] = load<n>(static_cast<const float*>(tensor.operands[2 + j]) + i);
    }
    pack<number, n> copy;
    for (int j = 0; j < n; ++j) {
      rule(weights.at[j], widen(gradient.at[j]), states[0].at[j], states[1].at[j]);
      copy.at[j] = narrow(weights.at[j]);
    }
    store(static_cast<float*>(tensor.operands[2 + States]) + i, weights);
    for (int j = 0; j < States; ++j) {
      store(static_cast<float*>(tensor.operands[3 + States + j]) + i, states[j]);
    }
    if constexpr (has_copy) store(static_cast<number*>(tensor.operands[3 + 2 * States]) + i, copy);
  });
}

extern "C" __global__ void update_sgd(const __grid_constant__ update_tensors all,
                                      update_rates rates) {
  update<0>(all, [&](float& weight, float gradient, float&, float&) {
    weight -= rates.rate * gradient;
  });
}

extern "C" __global__ void update_momentum(const __grid_constant__ update_tensors all,
                                           update_rates rates) {
  update<1>(all, [&](float& weight, float gradient, float& moment, float&) {
    moment = rates.beta1 * moment + gradient + rates.decay * weight;
    weight -= rates.rate * moment;
  });
}

extern "C" __global__ void update_adam(const __grid_constant__ update_tensors all,
                                       update_rates rates) {
  update<2>(all, [&](float& weight, float gradient, float& moment, float& second) {
    moment = rates.beta1 * moment + rates.one_minus_beta1 * gradient;
    second = rates.beta2 * second + rates.one_minus_beta2 * gradient * gradient;
    weight -= rates.rate * moment / (sqrtf(second) + rates.epsilon);
  });
}

extern "C" __global__ void update_accumulate(const __grid_constant__ update_tensors all,
                                             update_rates) {
  update_elements(all, 3, [&](const update_tensor& tensor, auto wide, i64 i) {
    constexpr int n = decltype(wide)::value;
    auto sum = load<n>(static_cast<const number*>(tensor.operands[0]) + i);
    const auto gradient = load<n>(static_cast<const number*>(tensor.operands[1]) + i);
    for (int j = 0; j < n; ++j) sum.at[j] = narrow(widen(sum.at[j]) + widen(gradient.at[j]));
    store(static_cast<number*>(tensor.operands[2]) + i, sum);
  });
}

// src + src1, which has `period` elements and is added again and again.
extern "C" __global__ void add(const number* src, const number* src1, number* dst, i64 size,
                               i64 period) {
  const bool by_lanes = (period == size || period % lanes == 0) && aligned(src) &&
                        aligned(src1) && aligned(dst);
  for_elements(size, by_lanes, [&](auto wide, i64 i) {
    constexpr int n = decltype(wide)::value;
    auto sum = load<n>(src + i);
    const auto other = load<n>(src1 + (period == size ? i : remainder_of(i, period, size)));
    for (int j = 0; j < n; ++j) sum.at[j] = narrow(widen(sum.at[j]) + widen(other.at[j]));
    store(dst + i, sum);
  });
}

float clamped(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

// Values and derivatives of op::activation_kind by number; NaN stays NaN. A derivative is that at x,
// or at the x that has the value y, by op::activation::gradient_from_destination().
template <int Kind>
float activated(float x) {
  if constexpr (Kind == 0) return x < 0 ? 0.0F : x;
  if constexpr (Kind == 1) return clamped(x, 0.0F, 6.0F);
  if constexpr (Kind == 2) return x < 0 ? 0.01F * x : x;
  if constexpr (Kind == 3) return x < 0 ? expm1f(x) : x;
  if constexpr (Kind == 4) return 1 / (1 + expf(-x));
  if constexpr (Kind == 5) return tanhf(x);
  if constexpr (Kind == 6) return x / 2 * (1 + erff(x * 0.70710678F));
  if constexpr (Kind == 7) return x / (1 + expf(-x));
  if constexpr (Kind == 8) return x * clamped(x + 3, 0.0F, 6.0F) / 6;
  if constexpr (Kind == 9) return clamped(x + 3, 0.0F, 6.0F) / 6;
  if constexpr (Kind == 10) return x / 2 + 1;
}
template <int Kind>
float derivative(float kept) {
  const float x = kept;
  const float y = kept;
  if constexpr (Kind == 0) return y > 0 ? 1.0F : 0.0F;
  if constexpr (Kind == 1) return x > 0 && x <= 6 ? 1.0F : 0.0F;
  if constexpr (Kind == 2) return y > 0 ? 1.0F : 0.01F;
  if constexpr (Kind == 3) return y > 0 ? 1.0F : y + 1;
  if constexpr (Kind == 4) return y * (1 - y);
  if constexpr (Kind == 5) return 1 - y * y;
  if constexpr (Kind == 6) {
    const float density = expf(-x * x / 2) * 0.39894228F;  // 1/sqrt(2 pi)
    return (1 + erff(x * 0.70710678F)) / 2 + x * density;
  }
  if constexpr (Kind == 7) {
    const float logistic = 1 / (1 + expf(-x));
    return logistic * (1 + x * (1 - logistic));
  }
  if constexpr (Kind == 8) return x <= -3 ? 0.0F : x >= 3 ? 1.0F : (2 * x + 3) / 6;
  if constexpr (Kind == 9) return x > -3 && x < 3 ? 1.0F / 6 : 0.0F;
  if constexpr (Kind == 10) return 0.5F;
}

// Calls work(width<kind>) with the kind as a constant.
template <class Work>
void with_kind(int kind, const Work& work) {
  switch (kind) {
    case 0: return work(width<0>());
    case 1: return work(width<1>());
    case 2: return work(width<2>());
    case 3: return work(width<3>());
    case 4: return work(width<4>());
    case 5: return work(width<5>());
    case 6: return work(width<6>());
    case 7: return work(width<7>());
    case 8: return work(width<8>());
    case 9: return work(width<9>());
    default: return work(width<10>());
  }
}

extern "C" __global__ void activation(const number* src, number* dst, i64 size, int kind) {
  with_kind(kind, [&](auto of) {
    for_elements(size, aligned(src) && aligned(dst), [&](auto wide, i64 i) {
      constexpr int n = decltype(wide)::value;
      auto values = load<n>(src + i);
      for (int j = 0; j < n; ++j) {
        values.at[j] = narrow(activated<decltype(of)::value>(widen(values.at[j])));
      }
      store(dst + i, values);
    });
  });
}

// Functions by number, applied in this order; -1 adds the next of the addends.
struct post_list {
  const void* addends[5];
  int kinds[15];
  int count;
};

extern "C" __global__ void post_ops(const number* src, number* dst, i64 size,
                                    const __grid_constant__ post_list o) {
  bool by_lanes = aligned(src) && aligned(dst);
  for (int k = 0; k < 5; ++k) by_lanes = by_lanes && aligned(o.addends[k]);
  for_elements(size, by_lanes, [&](auto wide, i64 i) {
    constexpr int n = decltype(wide)::value;
    auto values = load<n>(src + i);
    float at[n];
    for (int j = 0; j < n; ++j) at[j] = widen(values.at[j]);
    for (int k = 0, addends = 0; k < o.count; ++k) {
      if (o.kinds[k] < 0) {
        const auto other = load<n>(static_cast<const number*>(o.addends[addends++]) + i);
        for (int j = 0; j < n; ++j) at[j] += widen(other.at[j]);
      } else {
        with_kind(o.kinds[k], [&](auto of) {
          for (int j = 0; j < n; ++j) at[j] = activated<decltype(of)::value>(at[j]);
        });
      }
    }
    for (int j = 0; j < n; ++j) values.at[j] = narrow(at[j]);
    store(dst + i, values);
  });
}

// `kept` is src or dst of the forward pass.
extern "C" __global__ void activation_gradient(const number* kept, const number* gradient,
                                               number* result, i64 size, int kind) {
  with_kind(kind, [&](auto of) {
    const bool by_lanes = aligned(kept) && aligned(gradient) && aligned(result);
    for_elements(size, by_lanes, [&](auto wide, i64 i) {
      constexpr int n = decltype(wide)::value;
      const auto values = load<n>(kept + i);
      auto slopes = load<n>(gradient + i);
      for (int j = 0; j < n; ++j) {
        slopes.at[j] = narrow(widen(slopes.at[j]) *
                              derivative<decltype(of)::value>(widen(values.at[j])));
      }
      store(result + i, slopes);
    });
  });
}

i64 label_of(float target, i64 classes) {
  const i64 label = static_cast<i64>(target);
  return label < 0 ? 0 : label < classes ? label : classes - 1;
}

// Partial sums of the loss, one for each of the 64 threads of a single block. A second kernel adds
// them up by one thread, because these kernels do not synchronize threads.
extern "C" __global__ void cross_entropy_parts(const number* probabilities, const float* target,
                                               float* parts, i64 images, i64 classes,
                                               float min_probability) {
  float sum = 0;
  for (i64 i = first(); i < images; i += stride()) {
    const float probability =
        widen(probabilities[i * classes + label_of(target[i], classes)]);
    sum -= logf(probability < min_probability ? min_probability : probability);
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
  const float scale = 1 / static_cast<float>(images);
  const i64 size = images * classes;
  for_elements(size, aligned(probabilities) && aligned(gradient), [&](auto wide, i64 i) {
    constexpr int n = decltype(wide)::value;
    i64 image = quotient_of(i, classes, size);
    i64 begin = image * classes;
    i64 correct = begin + label_of(target[image], classes);
    auto values = load<n>(probabilities + i);
    for (int j = 0; j < n; ++j) {
      if (i + j == begin + classes) {  // 16 bytes may have numbers of several images
        begin += classes;
        correct = begin + label_of(target[++image], classes);
      }
      values.at[j] = narrow((widen(values.at[j]) - (i + j == correct ? 1.0F : 0.0F)) * scale);
    }
    store(gradient + i, values);
  });
}

// Row-major index of the element at `offset` of channels-last images. For row-major tensors pass
// channels = 1.
template <class Index>
Index row_major(Index offset, Index channels, Index pixels) {
  if (channels == 1) return offset;
  const Index pixel = offset / channels;
  const Index image = pixel / pixels;
  return (image * channels + offset % channels) * pixels + pixel % pixels;
}

// Random bits and threshold are those of op::dropout::keeps().

extern "C" __global__ void dropout(const number* src, const float* seed, number* dst,
                                   signed char* mask, i64 size, i64 channels, i64 pixels,
                                   unsigned least_kept, float factor) {
  const unsigned seed_bits = __float_as_uint(*seed);
  const bool by_lanes = aligned(src) && aligned(dst) && aligned(mask);
  for_elements(size, by_lanes, [&](auto wide, i64 i) {
    constexpr int n = decltype(wide)::value;
    auto values = load<n>(src + i);
    pack<signed char, n> kept;
    for (int j = 0; j < n; ++j) {
      // 32-bit division is several times faster.
      const i64 index = size <= 0x7FFFFFFF
                            ? row_major(static_cast<unsigned>(i + j),
                                        static_cast<unsigned>(channels),
                                        static_cast<unsigned>(pixels))
                            : row_major(i + j, channels, pixels);
      unsigned bits = (static_cast<unsigned>(index) * 0x9E3779B9U) ^ seed_bits;
      bits = (bits ^ (bits >> 16)) * 0x85EBCA6BU;
      bits = (bits ^ (bits >> 13)) * 0xC2B2AE35U;
      kept.at[j] = (bits ^ (bits >> 16)) >= least_kept ? 1 : 0;
      values.at[j] = narrow(widen(values.at[j]) * (kept.at[j] != 0 ? factor : 0.0F));
    }
    store(dst + i, values);
    store(mask + i, kept);
  });
}

extern "C" __global__ void dropout_gradient(const number* gradient, const signed char* mask,
                                            number* result, i64 size, float factor) {
  const bool by_lanes = aligned(gradient) && aligned(mask) && aligned(result);
  for_elements(size, by_lanes, [&](auto wide, i64 i) {
    constexpr int n = decltype(wide)::value;
    auto values = load<n>(gradient + i);
    const auto kept = load<n>(mask + i);
    for (int j = 0; j < n; ++j) {
      values.at[j] = narrow(widen(values.at[j]) * (kept.at[j] != 0 ? factor : 0.0F));
    }
    store(result + i, values);
  });
}

// One thread, after the dropout kernel has read the old seed: both seeds may be the same memory.
extern "C" __global__ void dropout_seed(const float* seed, float* new_seed) {
  *new_seed = *seed + 1;
}
)cuda";

}  // namespace layerbench::gpu
