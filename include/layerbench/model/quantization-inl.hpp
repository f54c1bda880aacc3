// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/model/quantization.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/op/activation.hpp>
#include <layerbench/op/gemm.hpp>
#include <layerbench/op/post_ops.hpp>
#include <layerbench/op/quantization.hpp>
#include <layerbench/op/quantize.hpp>

namespace layerbench::model {

namespace detail {

/// Gives the tensors of a model their types.
class quantizer {
 public:
  quantizer(const graph& g, const quantization& rules, const op::catalog& catalog)
      : rules_(rules), catalog_(catalog), result_(g), layers_(inference_layers(g)) {
    result_.layers.clear();
    result_.inference_only = "it computes with integers";
    find_readers_of_integers();
  }

  [[nodiscard]] graph result() && {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      types_.push_back(computes(layers_[i]) ? add_integer_layer(i) : add_other_layer(i));
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool computes(const layer& of) const {
    const auto* product = of.op.get<op::gemm>();
    const bool learned = product == nullptr || product->batch == 1;
    return learned && std::ranges::find(rules_.ops, of.op.name()) != rules_.ops.end();
  }
  [[nodiscard]] bool keeps(const layer& of) const {
    return std::ranges::find(rules_.keeps, of.op.name()) != rules_.keeps.end();
  }

  /// Whether a layer that computes with integers reads each layer, maybe through others that keep
  /// the type.
  void find_readers_of_integers() {
    read_as_integers_.resize(layers_.size());
    for (std::size_t i = layers_.size(); i-- > 0;) {
      const layer& of = layers_[i];
      const std::vector<op::operand> sources = of_role(of.op, op::role::source);
      for (std::size_t j = 0; j < of.inputs.size(); ++j) {
        const bool reads = computes(of) ? j == 0 || adds_integer(i, sources[j])
                                        : keeps(of) && read_as_integers_[i];
        if (reads && of.inputs[j] != model_input) read_as_integers_[of.inputs[j]] = true;
      }
    }
  }

  /// Whether a layer that computes with integers adds this source as integers: it does where it
  /// overwrites the source with integers. Libraries read other addends as real numbers.
  [[nodiscard]] bool adds_integer(std::size_t i, const op::operand& source) const {
    return source.overwritten && read_as_integers_[i];
  }

  /// The type in which an input of the model or the result of a layer was written.
  [[nodiscard]] dtype type_of(std::size_t from) const {
    return from == model_input ? dtype::f32 : types_[from];
  }

  /// Whether all results of the layer's formula are at least 0.
  [[nodiscard]] static bool is_never_negative(const op::any& op) {
    using enum op::activation_kind;
    const record_fields fields = op.fields();
    const record_field* post = find_field(fields, "post");
    const auto* list = post == nullptr ? nullptr : std::get_if<named_values>(&post->value);
    if (list == nullptr || list->indices.empty()) return false;
    const auto last = static_cast<op::post_op>(list->indices.back());
    if (op::is_addition(last)) return false;
    const op::activation_kind kind = op::activation_of(last);
    return kind == relu || kind == relu6 || kind == sigmoid || kind == hardsigmoid;
  }

  /// Adds a layer that computes with integers, and returns the type of its result: an integer where
  /// such a layer reads it.
  dtype add_integer_layer(std::size_t i) {
    const layer& of = layers_[i];
    const dtype written = !read_as_integers_[i]      ? dtype::f32
                          : is_never_negative(of.op) ? dtype::u8
                                                     : dtype::s8;
    layer added{of.name, of.op, {}};
    const dtype source = integer_of(type_of(of.inputs.front()));
    added.inputs.push_back(in_type(of.inputs.front(), source));
    const std::vector<op::operand> sources = of_role(of.op, op::role::source);
    dtype addend = written;
    for (std::size_t j = 1; j < sources.size(); ++j) {
      addend = adds_integer(i, sources[j]) ? integer_of(type_of(of.inputs[j])) : dtype::f32;
      added.inputs.push_back(in_type(of.inputs[j], addend));
    }
    record_fields fields = of.op.fields();
    set_type(fields, "dst_type", written, source);
    set_type(fields, "addend_type", addend, written);
    for (record_field& field : fields) {
      if (field.name == "channel_scales") field.value = rules_.channel_scales;
    }
    const auto known = std::ranges::find(catalog_, of.op.name(), &op::entry::name);
    added.op = typed(known->create(fields), source);
    place(i, std::move(added));
    return written;
  }

  /// Adds another layer: with integers if it keeps the type of its sources, all of which have one,
  /// and integers are wanted; else in f32.
  dtype add_other_layer(std::size_t i) {
    const layer& of = layers_[i];
    const dtype first = type_of(of.inputs.front());
    const bool same =
        std::ranges::all_of(of.inputs, [&](std::size_t input) { return type_of(input) == first; });
    const dtype type = same && keeps(of) && is_integer(first) ? first : dtype::f32;
    layer added{of.name, typed(of.op, type), {}};
    for (const std::size_t input : of.inputs) added.inputs.push_back(in_type(input, type));
    place(i, std::move(added));
    return type;
  }

  [[nodiscard]] static dtype integer_of(dtype written) {
    return is_integer(written) ? written : dtype::s8;
  }

  /// The op in that type, in a step of s8.
  [[nodiscard]] static op::any typed(const op::any& op, dtype type) {
    return type == dtype::s8 ? op : op.in(type);
  }

  /// Sets a field of a type, unless it is the same as `same`.
  static void set_type(record_fields& fields, std::string_view name, dtype type, dtype same) {
    op::tensor_type value = op::tensor_type::same;
    if (type != same) value = from_name<op::tensor_type>(layerbench::name(type)).value();
    for (record_field& field : fields) {
      if (field.name == name) field.value = layerbench::detail::value_of(value);
    }
  }

  void place(std::size_t i, layer added) {
    positions_.resize(layers_.size());
    positions_[i] = result_.layers.size();
    result_.layers.push_back(std::move(added));
  }

  /// Where the result has what `from` wrote in that type; adds a conversion where there is none.
  [[nodiscard]] std::size_t in_type(std::size_t from, dtype type) {
    const std::size_t source = from == model_input ? model_input : positions_[from];
    const dtype written = type_of(from);
    if (written == type) return source;
    const auto [known, is_new] = conversions_.try_emplace({from, type}, result_.layers.size());
    if (!is_new) return known->second;
    op::quantize change{.dims = from == model_input
                                    ? of_role(first_reader().op, op::role::source).front().extents
                                    : result_of(layers_[from])};
    change.dst_type = from_name<op::tensor_type>(layerbench::name(type)).value();
    const std::string name = from == model_input ? "input" : layers_[from].name;
    result_.layers.push_back({fmt::format("{}_to_{}", name, layerbench::name(type)),
                              typed(op::any(change), written),
                              {source}});
    return known->second;
  }

  /// The first layer that reads the model's input.
  [[nodiscard]] const layer& first_reader() const {
    return *std::ranges::find_if(layers_, [](const layer& of) {
      return std::ranges::find(of.inputs, model_input) != of.inputs.end();
    });
  }

  const quantization& rules_;
  const op::catalog& catalog_;
  graph result_;
  std::vector<layer> layers_;                                         ///< those that inference runs
  std::vector<bool> read_as_integers_;                                ///< each of them
  std::vector<dtype> types_;                                          ///< of their results
  std::vector<std::size_t> positions_;                                ///< in the result
  std::map<std::pair<std::size_t, dtype>, std::size_t> conversions_;  ///< by what they read
};

}  // namespace detail

LAYERBENCH_INLINE graph quantized(const graph& g, const quantization& rules,
                                  const op::catalog& catalog) {
  return detail::quantizer(g, rules, catalog).result();
}

}  // namespace layerbench::model
