// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace layerbench::gpu {

/// Kernels for verification, appended to kernel_source: they write test data and check results,
/// without a copy on the host. The stored type is an argument, so they do not use `number`.
inline constexpr std::string_view verification_kernel_source = R"cuda(
enum stored_type { stored_f32, stored_bf16, stored_f16, stored_f8_e4m3, stored_s8 };

// Axes in the order of memory, slowest first: extents, and the strides along them in row-major
// order. Memory has runs of elements that follow each other, one every `step` from `begin` on: all
// elements are one run, or the operand is a part of a tensor.
struct memory_axes {
  i64 extents[8];
  i64 strides[8];
  i64 begin, run, step;
  int count;
};

// Offset of the element that comes after `i` others in memory.
i64 offset_in_runs(i64 i, const memory_axes& o) {
  return o.step == 0 ? i : o.begin + i / o.run * o.step + i % o.run;
}

// Row-major index of the element that comes after `offset` others in memory.
i64 row_major_index(i64 offset, const memory_axes& o) {
  if (o.count < 2) return offset;
  i64 index = 0;
  for (int axis = o.count - 1; axis > 0; --axis) {
    index += offset % o.extents[axis] * o.strides[axis];
    offset /= o.extents[axis];
  }
  return index + offset * o.strides[0];
}

// A floating-point type; no bits of the significand for s8.
struct float_format {
  double largest;
  int significand_bits, min_exponent;
};

// Fields and arithmetic are those of run::test_data.
struct drawn_data {
  double low, width, scale;
  unsigned long long seed;
  float_format format;
  int integral, octaves;
};

int exponent_of(double value, int least) {
  const auto bits = static_cast<unsigned long long>(__double_as_longlong(value));
  const int exponent = static_cast<int>(bits >> 52 & 0x7FF) - 1023;
  return exponent < least ? least : exponent;
}
double power_of_two(int exponent) {
  return __longlong_as_double(static_cast<i64>(exponent + 1023) << 52);
}

// As round_to().
double rounded_to(const float_format& to, double value, double scale) {
  if (to.significand_bits == 0) {
    const double stored = rint(value / scale);
    return (stored < -128 ? -128 : stored > 127 ? 127 : stored) * scale;
  }
  if (value == 0) return value;
  const int exponent = exponent_of(value, to.min_exponent);
  const double unit = power_of_two(exponent - (to.significand_bits - 1));
  const double result = rint(value / unit) * unit;
  return result < -to.largest ? -to.largest : result > to.largest ? to.largest : result;
}

// As index_quantile() of op/test_data.hpp.
double index_quantile(double unit, int octaves) {
  const double octave = __dmul_rn(unit, octaves);
  const int whole = static_cast<int>(octave);
  const double power = power_of_two(whole);
  const double all = power_of_two(octaves) - 1;
  return __dadd_rn(__dmul_rn(power, 1 + (octave - whole)), -1) / all;
}

float drawn_element(const drawn_data& o, i64 index) {
  unsigned long long z =
      o.seed + (static_cast<unsigned long long>(index) + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  z ^= z >> 31;
  double unit = static_cast<double>(z >> 11) * (1.0 / 9007199254740992.0);  // 2^-53
  if (o.octaves > 0) unit = index_quantile(unit, o.octaves);
  // These intrinsics are never joined to a fused multiply-add, which rounds differently.
  const double number = __dadd_rn(o.low, __dmul_rn(o.width, unit));
  return static_cast<float>(o.integral != 0 ? rint(number)
                                            : rounded_to(o.format, number, o.scale));
}

// Bits of a nonnegative number that the format has: those behind the hidden bit, below them the
// exponent. The hidden bit counts the exponent up, which subnormal numbers go without.
unsigned encoded(double magnitude, const float_format& as) {
  const int exponent = exponent_of(magnitude, as.min_exponent);
  const int bits = as.significand_bits - 1;
  const double significand = magnitude / power_of_two(exponent - bits);
  return (static_cast<unsigned>(exponent - as.min_exponent) << bits) +
         static_cast<unsigned>(significand);
}

void store_element(void* to, i64 offset, int type, double scale, float value) {
  const unsigned bits = __float_as_uint(value);
  const unsigned sign = bits >> 31;
  if (type == stored_f32) {
    static_cast<float*>(to)[offset] = value;
  } else if (type == stored_bf16) {
    static_cast<unsigned short*>(to)[offset] =
        static_cast<unsigned short>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
  } else if (type == stored_f16) {
    const float_format f16{1.0e300, 11, -14};  // what is too large becomes infinite
    const double magnitude = fabs(rounded_to(f16, value, 1));
    const unsigned stored = magnitude > 65504 ? 0x7C00U : encoded(magnitude, f16);
    static_cast<unsigned short*>(to)[offset] = static_cast<unsigned short>(sign << 15 | stored);
  } else if (type == stored_f8_e4m3) {
    const float_format f8{448, 4, -6};
    static_cast<unsigned char*>(to)[offset] = static_cast<unsigned char>(
        sign << 7 | encoded(fabs(rounded_to(f8, value / scale, 1)), f8));
  } else {
    static_cast<signed char*>(to)[offset] =
        static_cast<signed char>(static_cast<int>(rint(value / scale)));
  }
}

// Neighbouring threads write neighbouring elements, whatever the order.
extern "C" __global__ void draw(void* to, int type, double scale, i64 size,
                                const __grid_constant__ memory_axes axes, drawn_data data) {
  for (i64 i = first(); i < size; i += stride()) {
    const float value = drawn_element(data, row_major_index(i, axes));
    store_element(to, offset_in_runs(i, axes), type, scale, value);
  }
}

bool is_finite(const void* from, i64 offset, int type) {
  if (type == stored_f32) {
    return (static_cast<const unsigned*>(from)[offset] & 0x7F800000U) != 0x7F800000U;
  }
  if (type == stored_f8_e4m3) {
    return (static_cast<const unsigned char*>(from)[offset] & 0x7F) != 0x7F;
  }
  if (type == stored_s8) return true;
  const unsigned exponent = type == stored_bf16 ? 0x7F80U : 0x7C00U;
  return (static_cast<const unsigned short*>(from)[offset] & exponent) != exponent;
}

// The search kernels lower `found` to the least row-major index of what they look for.

extern "C" __global__ void find_non_finite(const void* from, int type, i64 size,
                                           const __grid_constant__ memory_axes axes,
                                           unsigned long long* found) {
  for (i64 i = first(); i < size; i += stride()) {
    if (is_finite(from, offset_in_runs(i, axes), type)) continue;
    const auto index = static_cast<unsigned long long>(row_major_index(i, axes));
    if (index < *found) atomicMin(found, index);
  }
}

extern "C" __global__ void find_difference(const unsigned char* a, const unsigned char* b,
                                           int bytes, i64 size,
                                           const __grid_constant__ memory_axes axes,
                                           unsigned long long* found) {
  for (i64 i = first(); i < size; i += stride()) {
    const i64 begin = offset_in_runs(i, axes) * bytes;
    bool equal = true;
    for (int j = 0; j < bytes; ++j) equal = equal && a[begin + j] == b[begin + j];
    if (equal) continue;
    const auto index = static_cast<unsigned long long>(row_major_index(i, axes));
    if (index < *found) atomicMin(found, index);
  }
}
)cuda";

}  // namespace layerbench::gpu
