// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
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

/// The data type of weights that a product reads in fewer bits than it computes in; `same`: that of
/// the op.
enum class narrow_type { same, s8, s4, u4 };

[[nodiscard]] constexpr std::array<std::string_view, 4> list_names(narrow_type /*tag*/) {
  return {"same", "s8", "s4", "u4"};
}

[[nodiscard]] constexpr dtype dtype_of(narrow_type type, dtype same) {
  switch (type) {
    case narrow_type::same: return same;
    case narrow_type::s8: return dtype::s8;
    case narrow_type::s4: return dtype::s4;
    case narrow_type::u4: return dtype::u4;
  }
  return same;
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
inline constexpr std::string_view weights_type_help =
    "type of weights that are stored in fewer bits than f32, f16 or bf16; same: that of the row";
inline constexpr std::string_view group_size_help =
    "with weights_type: neighbours along k that share a scale; 0: all";
inline constexpr std::string_view zero_points_help =
    "with weights_type: whether each group has a zero point";

/// The fields of ops that say how tensors are stored.
inline constexpr std::array<std::string_view, 8> quantization_fields{
    "dst_type", "addend_type",  "channel_scales", "src_zero",
    "dst_zero", "weights_type", "group_size",     "zero_points"};

[[nodiscard]] inline bool is_quantization_field(std::string_view name) {
  return std::ranges::find(quantization_fields, name) != quantization_fields.end();
}

/// Whether one of them is not the default.
[[nodiscard]] inline bool is_quantized(const record_fields& fields) {
  return std::ranges::any_of(fields, [](const record_field& field) {
    return !field.is_default && is_quantization_field(field.name);
  });
}
/// Whether a plan of an op with integers must know of them.
template <class Op>
  requires requires(const Op& o) { o.channel_scales; }
[[nodiscard]] bool is_quantized(const Op& o) {
  const Op defaults{};
  bool found = false;
  for_each_field<Op>([&](const auto& field) {
    found = found ||
            (!(o.*field.member == defaults.*field.member) && is_quantization_field(field.name));
  });
  return found;
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

/// Of an op with weights_type. Throws invalid_field.
template <class Op>
void validate_narrow_weights(const Op& o) {
  if (o.weights_type == narrow_type::same) {
    if (o.group_size.value != 0) throw invalid_field("group_size", "needs weights_type");
    if (o.zero_points) throw invalid_field("zero_points", "needs weights_type");
    return;
  }
  if (o.batch != 1) {
    throw invalid_field("weights_type", "is for learned weights, which a batch does not have");
  }
  if (o.group_size.value != 0 && o.k % o.group_size.value != 0) {
    throw invalid_field("group_size", "must divide k");
  }
  const bool quantized = o.dst_type != tensor_type::same || o.addend_type != tensor_type::same ||
                         o.channel_scales || o.src_zero.value != 0 || o.dst_zero.value != 0;
  if (quantized) {
    throw invalid_field("weights_type",
                        "is for products in floating point, without the fields of integer ones");
  }
}

/// Gives the weights of `all`, which are src, weights and others, the type of an op with
/// weights_type, and inserts their scales behind them, in the type of the op, and maybe their zero
/// points, in that of the weights: one per group and column. An element of the weights is
/// (stored - zero point) * scale. The scales keep results near the size of the sources. Throws
/// unsupported if the op does not compute in f32, f16 or bf16.
template <class Op>
void narrow_weights(const Op& o, std::vector<operand>& all) {
  const dtype type = all[1].type;
  if (type != dtype::f32 && type != dtype::f16 && type != dtype::bf16) {
    throw unsupported(std::string("weights_type is for f32, f16 and bf16, and not for ")
                          .append(layerbench::name(type)));
  }
  all[1].type = dtype_of(o.weights_type, type);
  const double least = least_integer(all[1].type);
  const double largest = traits(all[1].type).largest;
  const double middle = (least + largest + 1) / 2;
  const double limit = std::sqrt(6.0 / static_cast<double>(o.k)) / (largest + 1 - middle);
  const dims groups{o.k / o.group(), o.n};
  all[1].scale = 1;
  all[1].low = least - 0.5;
  all[1].high = largest + 0.5;
  std::vector<operand> more{{"weights_scales", groups, role::statistics, type, 0.5 * limit, limit}};
  if (o.zero_points) {
    more.push_back(
        {"weights_zero_points", groups, role::statistics, all[1].type, middle - 2, middle + 2, 1});
  }
  all.insert(all.begin() + 2, more.begin(), more.end());
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
