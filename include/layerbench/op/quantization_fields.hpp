// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <layerbench/op/post_ops.hpp>

namespace layerbench::op {

/// The data type of a tensor of an op that computes in another one; `same`: that of the op, or bf16
/// for factors in f8_e4m3.
enum class tensor_type { same, f32, s8, u8 };

[[nodiscard]] constexpr std::array<std::string_view, 4> list_names(tensor_type /*tag*/) {
  return {"same", "f32", "s8", "u8"};
}

[[nodiscard]] constexpr dtype dtype_of(tensor_type type, dtype same) {
  switch (type) {
    case tensor_type::same: return same;
    case tensor_type::f32: return dtype::f32;
    case tensor_type::s8: return dtype::s8;
    case tensor_type::u8: return dtype::u8;
  }
  return same;
}

/// The inverse. Only of types that the enum has.
[[nodiscard]] inline tensor_type tensor_type_of(dtype type) {
  return from_name<tensor_type>(layerbench::name(type)).value();
}

// Help texts of the fields of an op with integers.
inline constexpr std::string_view dst_type_help =
    "type of the result; same: that of the row, or bf16 where factors are f8_e4m3";
inline constexpr std::string_view addend_type_help =
    "type of the tensors that post-ops add; same: that of the result";
inline constexpr std::string_view channel_scales_help =
    "whether integer weights have a scale per output channel, instead of one";
inline constexpr std::string_view src_zero_help = "zero point of an integer source";
inline constexpr std::string_view dst_zero_help = "zero point of an integer result";

/// The fields of ops that say how tensors are stored.
inline constexpr std::array<std::string_view, 5> quantization_fields{
    "dst_type", "addend_type", "channel_scales", "src_zero", "dst_zero"};

/// Whether one of them is not the default.
[[nodiscard]] inline bool is_quantized(const record_fields& fields) {
  return std::ranges::any_of(fields, [](const record_field& field) {
    return !field.is_default &&
           std::ranges::find(quantization_fields, field.name) != quantization_fields.end();
  });
}
/// Whether a plan of an op with integers must know of them.
template <class Op>
  requires requires(const Op& o) { o.channel_scales; }
[[nodiscard]] bool is_quantized(const Op& o) {
  return is_quantized(fields_of(o));
}

/// Throws invalid_field.
template <class Op>
void validate_zero_points(const Op& o) {
  constexpr std::int64_t largest = 255;  // of u8
  if (o.src_zero.value > largest) throw invalid_field("src_zero", "is above 255");
  if (o.dst_zero.value > largest) throw invalid_field("dst_zero", "is above 255");
}

/// Throws invalid_field.
template <class Op>
void validate_quantization(const Op& o) {
  validate_zero_points(o);
  if (o.addend_type == tensor_type::same) return;
  for (const post_op p : o.post) {
    if (p == post_op::sum &&
        (o.addend_type == tensor_type::f32) != (o.dst_type == tensor_type::f32)) {
      throw invalid_field(
          "addend_type",
          "must have as many bytes as dst_type, since sum overwrites the added tensor");
    }
  }
}

/// The scale of src and weights in f8_e4m3. Test data from -1 to 1 is stored as at most 256; the
/// type's largest number is 448. Division by a power of 2 does not round it.
inline constexpr double f8_scale = 1.0 / 256;

/// Gives the operands of an op with 8-bit numbers their types, scales and zero points: `all` are
/// src, weights, maybe a bias, and dst, in the type of the op. Inserts the added tensors. Integer
/// weights are s8, as all libraries want them, with a scale per element of `channel_axis` where the
/// op says so; a bias beside integers is f32, since it is added before the sum is rounded. Bias and
/// result of factors in f8_e4m3 are bf16, as engines have them.
template <class Op>
void quantize_operands(const Op& o, std::size_t channel_axis, std::vector<operand>& all) {
  operand& dst = all.back();
  const dtype type = dst.type;
  const bool is_f8 = type == dtype::f8_e4m3;
  if (is_f8) all[0].scale = all[1].scale = f8_scale;
  dst.type = dtype_of(o.dst_type, is_f8 ? dtype::bf16 : type);
  dst.zero_point = o.dst_zero.value;
  all[0].zero_point = o.src_zero.value;
  if (is_integer(type)) {
    all[1].type = dtype::s8;
    if (o.channel_scales) all[1].channel_axis = channel_axis;
  }
  const auto bias = std::ranges::find(all, "bias", &operand::name);
  if (bias != all.end() && (is_integer(type) || is_f8)) {
    bias->type = is_f8 ? dtype::bf16 : dtype::f32;
  }
  insert_addends(o.post, all, dtype_of(o.addend_type, dst.type));
}

}  // namespace layerbench::op
