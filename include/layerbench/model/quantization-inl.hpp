// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/model/quantization.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/op/activation.hpp>
#include <layerbench/op/gemm.hpp>
#include <layerbench/op/post_ops.hpp>
#include <layerbench/op/quantization_fields.hpp>
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
    positions_.resize(layers_.size());
    for (const layer& of : layers_) {
      if (!of.op.own_type() && of.op.get<op::quantize>() == nullptr) continue;
      throw error(fmt::format("'{}' of model '{}' has a type already, but integers are for models "
                              "without types; use another fusion plan",
                              of.name, g.name),
                  exit_code::bad_input);
    }
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

  /// Marks layers whose results a layer reads as integers, directly or through `keeps`.
  void find_readers_of_integers() {
    read_as_integers_.resize(layers_.size());
    for (std::size_t i = layers_.size(); i-- > 0;) {
      const layer& of = layers_[i];
      const std::vector<op::operand> sources = of_role(of.op, op::role::source);
      // All addends have one type, so of several the overwritten one is f32, too.
      const std::size_t overwritten = op::overwritten_source(sources);
      if (computes(of) && overwritten < sources.size() && sources.size() > 2) {
        read_as_integers_[i] = false;
      }
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

  /// Type of a layer's result or of the model's input.
  [[nodiscard]] dtype type_of(std::size_t from) const {
    return from == model_input ? dtype::f32 : types_[from];
  }

  /// Whether all results of the layer's formula are at least 0.
  [[nodiscard]] static bool is_never_negative(const op::any& op) {
    using enum op::activation_kind;
    const auto never = [](op::activation_kind kind) {
      return kind == relu || kind == relu6 || kind == sigmoid || kind == hardsigmoid;
    };
    if (const auto* function = op.get<op::activation>()) return never(function->kind);
    const record_fields fields = op.fields();
    const record_field* post = find_field(fields, "post");
    const auto* list = post == nullptr ? nullptr : std::get_if<named_values>(&post->value);
    if (list == nullptr || list->indices.empty()) return false;
    const auto last = static_cast<op::post_op>(list->indices.back());
    return !op::is_addition(last) && never(op::activation_of(last));
  }

  /// Adds a layer that computes with integers, and returns the type of its result: an integer where
  /// such a layer reads it.
  dtype add_integer_layer(std::size_t i) {
    const layer& of = layers_[i];
    const dtype written = read_as_integers_[i] ? integer_for(of.op) : dtype::f32;
    layer added{of.name, of.op, {}, of.weights_of};
    const dtype source = integer_of(of.inputs.front());
    added.inputs.push_back(in_type(of.inputs.front(), source));
    const std::vector<op::operand> sources = of_role(of.op, op::role::source);
    dtype addend = written;
    for (std::size_t j = 1; j < sources.size(); ++j) {
      addend = adds_integer(i, sources[j]) ? integer_of(of.inputs[j]) : dtype::f32;
      added.inputs.push_back(in_type(of.inputs[j], addend));
    }
    record_fields fields = of.op.fields();
    set_type(fields, "dst_type", written, source);
    set_type(fields, "addend_type", addend, written);
    for (record_field& field : fields) {
      if (field.name == "channel_scales") field.value = rules_.channel_scales;
    }
    added.op = typed(op::with_fields(of.op, fields, catalog_), source);
    place(i, std::move(added));
    return written;
  }

  /// Adds another layer: with integers if it keeps the type of its sources, which is one integer
  /// type, and a later layer reads integers; else in f32.
  dtype add_other_layer(std::size_t i) {
    const layer& of = layers_[i];
    const dtype first = type_of(of.inputs.front());
    const bool same =
        std::ranges::all_of(of.inputs, [&](std::size_t input) { return type_of(input) == first; });
    const bool integers = same && is_integer(first) && keeps(of) && read_as_integers_[i];
    const dtype type = integers ? first : dtype::f32;
    layer added{of.name, typed(of.op, type), {}, of.weights_of};
    for (const std::size_t input : of.inputs) added.inputs.push_back(in_type(input, type));
    place(i, std::move(added));
    return type;
  }

  [[nodiscard]] static dtype integer_for(const op::any& result_of) {
    return is_never_negative(result_of) ? dtype::u8 : dtype::s8;
  }
  /// The integer type in which layers read what `from` wrote.
  [[nodiscard]] dtype integer_of(std::size_t from) const {
    if (from == model_input) return dtype::s8;
    return is_integer(types_[from]) ? types_[from] : integer_for(layers_[from].op);
  }

  /// The op in that type, in a step of s8.
  [[nodiscard]] static op::any typed(const op::any& op, dtype type) {
    return type == dtype::s8 ? op : op.in(type);
  }

  /// Sets a field of a type, unless it is the same as `same`.
  static void set_type(record_fields& fields, std::string_view name, dtype type, dtype same) {
    const op::tensor_type value = type == same ? op::tensor_type::same : op::tensor_type_of(type);
    for (record_field& field : fields) {
      if (field.name == name) field.value = layerbench::detail::value_of(value);
    }
  }

  void place(std::size_t i, layer added) {
    positions_[i] = result_.layers.size();
    result_.layers.push_back(std::move(added));
  }

  /// Position of what `from` wrote, in that type; adds a conversion if needed.
  [[nodiscard]] std::size_t in_type(std::size_t from, dtype type) {
    const std::size_t source = from == model_input ? model_input : positions_[from];
    const dtype written = type_of(from);
    if (written == type) return source;
    const auto [known, is_new] = conversions_.try_emplace({from, type}, result_.layers.size());
    if (!is_new) return known->second;
    const op::quantize change{
        .dims = from == model_input ? input_extents() : result_of(layers_[from]),
        .dst_type = op::tensor_type_of(type)};
    const std::string writer = from == model_input ? "input" : layers_[from].name;
    const std::string wanted = fmt::format("{}_to_{}", writer, layerbench::name(type));
    std::string name = wanted;  // with a number where a layer has that name
    for (int i = 2; is_name_of_layer(name); ++i) name = fmt::format("{}_{}", wanted, i);
    result_.layers.push_back({name, typed(op::any(change), written), {source}});
    return known->second;
  }
  [[nodiscard]] bool is_name_of_layer(const std::string& name) const {
    const auto has = [&](const std::vector<layer>& all) {
      return std::ranges::find(all, name, &layer::name) != all.end();
    };
    return has(layers_) || has(result_.layers);
  }

  /// Extents of the model's input, which the first layer reads.
  [[nodiscard]] dims input_extents() const {
    return of_role(layers_.front().op, op::role::source).front().extents;
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

LAYERBENCH_INLINE graph with_narrow_weights(graph g, const narrow_weights& rules) {
  for (layer& one : g.layers) {
    const auto* product = one.op.get<op::gemm>();
    if (product == nullptr || product->batch != 1) continue;
    const bool has_whole_bytes =
        rules.type == op::narrow_type::s8 || (product->n % 2 == 0 && product->k % 2 == 0);
    const bool has_whole_groups = rules.group_size == 0 || product->k % rules.group_size == 0;
    if (!has_whole_bytes || !has_whole_groups) continue;
    op::gemm narrow = *product;
    narrow.weights_type = rules.type;
    narrow.group_size.value = rules.group_size;
    narrow.zero_points = rules.zero_points;
    narrow.validate();
    const auto type = one.op.own_type();
    one.op = type ? op::any(narrow).in(*type) : op::any(narrow);
    g.inference_only = fmt::format("'{}' {}", one.name, detail::why_inference_only(one.op));
  }
  return g;
}

LAYERBENCH_INLINE graph quantized(const graph& g, const quantization& rules,
                                  const op::catalog& catalog) {
  return detail::quantizer(g, rules, catalog).result();
}

}  // namespace layerbench::model
