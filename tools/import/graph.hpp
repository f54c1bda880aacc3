// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/is_name.hpp>
#include <layerbench/shape/dims.hpp>

/// Import of models: of ONNX files, and of calls that PyTorch has traced. The names of messages,
/// ops and fields are those of onnx.proto; read_torch.cpp has a table of PyTorch's.
namespace layerbench::tool::importer {

/// Element types, by their numbers in TensorProto.DataType.
namespace element {
inline constexpr int f32 = 1, u8 = 2, i8 = 3, i32 = 6, i64 = 7, boolean = 9, f16 = 10, f64 = 11,
                     u32 = 12, u64 = 13, bf16 = 16;
}  // namespace element

/// Whether elements are numbers of another kind than activations: indices, sizes or truth values.
[[nodiscard]] inline bool is_integral(int type) {
  return (type >= element::u8 && type <= element::i64) || type == element::boolean ||
         type == element::u32 || type == element::u64;
}

/// The elements of a small tensor, in row-major order. `extents` may have 1 where the tensor
/// repeats its elements along an axis.
struct elements_of {
  dims extents;
  std::vector<double> values;
};

/// A tensor of the file: an initializer, or the value of an attribute. Large ones have no elements.
struct tensor {
  std::string name;
  dims extents;
  int type = 0;
  std::optional<elements_of> elements;
  /// Whether it is learned; nothing where the file does not say so, but type and size tell.
  std::optional<bool> is_learned = {};
};

struct graph;

struct attribute {
  std::string name;
  std::int64_t i = 0;
  double f = 0;
  std::string s = {};
  std::vector<std::int64_t> ints = {};
  std::vector<double> floats = {};
  std::vector<std::string> strings = {};
  std::optional<tensor> t = {};
  /// A branch or a body. Its values are its own; those that it only reads are named after outer
  /// ones.
  std::shared_ptr<const graph> g = {};
};

/// An extent of an input: a size, or the name of one.
struct named_size {
  std::int64_t size = -1;  ///< -1: not known
  std::string name = {};
  std::int64_t factor = 1;  ///< of the size with that name
};

/// A tensor by name, as inputs, outputs and `value_info` describe it.
struct value {
  std::string name;
  int type = 0;
  std::optional<std::vector<named_size>> extents = {};
  std::optional<tensor> initializer = {};
};

inline constexpr std::size_t no_value = SIZE_MAX;

struct node {
  std::string op;
  std::string domain;
  std::string name;
  std::string scope;                 ///< the module of PyTorch that it belongs to
  bool folded_batchnorm = false;     ///< the exporter says that it has folded a batch norm into it
  std::vector<std::size_t> inputs;   ///< values; no_value where an optional one is left out
  std::vector<std::size_t> outputs;  ///< values
  std::vector<attribute> attributes = {};
  std::size_t index = 0;  ///< in the file; of a node of a branch: that of its If

  // Of calls that PyTorch has traced.
  std::string call = {};                   ///< its name there, such as conv2d
  std::optional<std::string> module = {};  ///< that makes the call; empty: the model itself
  std::string place = {};                  ///< in the user's code
  std::optional<double> flops = {};        ///< of one image, or of all, as PyTorch counts them
  std::string refusal = {};                ///< why no op computes it, in spite of its name
  std::string note = {};                   ///< said if it is converted
  bool writes_part = false;                ///< writes to memory that others read in another form

  /// Whether ONNX itself defines the op.
  [[nodiscard]] bool is_standard() const { return domain.empty() || domain == "ai.onnx"; }
  [[nodiscard]] const attribute* find(std::string_view key) const {
    const auto found = std::ranges::find(attributes, key, &attribute::name);
    return found == attributes.end() ? nullptr : &*found;
  }
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t otherwise) const {
    const attribute* found = find(key);
    return found == nullptr ? otherwise : found->i;
  }
  [[nodiscard]] double number(std::string_view key, double otherwise) const {
    const attribute* found = find(key);
    return found == nullptr ? otherwise : found->f;
  }
  [[nodiscard]] std::string_view text(std::string_view key, std::string_view otherwise) const {
    const attribute* found = find(key);
    return found == nullptr ? otherwise : std::string_view(found->s);
  }
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view key) const {
    const attribute* found = find(key);
    return found == nullptr ? std::vector<std::int64_t>{} : found->ints;
  }
  /// The value that an input is; no_value where it is left out.
  [[nodiscard]] std::size_t input(std::size_t i) const {
    return i < inputs.size() ? inputs[i] : no_value;
  }
  [[nodiscard]] bool has_input(std::size_t i) const { return input(i) != no_value; }
  /// What messages call it.
  [[nodiscard]] const std::string& kind() const { return call.empty() ? op : call; }
};

/// Whether the node turns numbers into integers or back.
[[nodiscard]] inline bool is_quantization(const node& of) {
  return of.op == "QuantizeLinear" || of.op == "DequantizeLinear" ||
         of.op == "DynamicQuantizeLinear";
}

/// The input of a convolution or product that has its weights, or the second factor.
[[nodiscard]] inline std::size_t weights_input(const node& of) {
  return of.op.starts_with("QLinear") ? 3 : 1;
}

/// A model of a file, without its weights. Each node comes after those whose outputs it reads.
struct graph {
  std::string file;
  std::string producer;
  std::int64_t opset = 0;  ///< of the domain of ONNX itself
  std::vector<node> nodes = {};
  std::vector<value> values = {};
  std::vector<std::size_t> inputs = {};   ///< values that are no initializers
  std::vector<std::size_t> outputs = {};  ///< values

  /// Whether its nodes are calls that PyTorch has traced. All extents are known then, and which
  /// initializers are learned. Each call is one that PyTorch makes, so that only what no op
  /// computes alone is joined.
  bool is_traced = false;
  std::string name = {};            ///< of the model, where the file has one
  std::string source = {};          ///< where it comes from
  std::int64_t batch = 1;           ///< usual value of the parameter
  std::int64_t learned_values = 0;  ///< of the whole module
};

/// A text of the file without characters that JSON could mistake or a terminal obeys.
[[nodiscard]] inline std::string printable(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c < ' ' || c > '~' ? '?' : c;
  return result;
}

/// A name of the file for messages: short, in quotes, printable.
[[nodiscard]] inline std::string in_quotes(std::string_view name) {
  constexpr std::size_t most = 80;
  return "'" + printable(name.substr(0, most)) + (name.size() > most ? "...'" : "'");
}

/// A text with other characters for those that names of models and layers do not have.
[[nodiscard]] inline std::string legal_name(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!is_name(std::string_view(&c, 1))) c = '_';
  }
  return result;
}

/// The place of a node in messages, such as "graph/node/12 'Conv_0'".
[[nodiscard]] inline std::string place(std::size_t index, const node& of) {
  if (!of.call.empty()) return fmt::format("/calls/{}", index);
  return fmt::format("graph/node/{} {}", index, in_quotes(of.name.empty() ? of.op : of.name));
}

/// Reads an ONNX model. Tensors of more than 64 KiB are skipped, and external data are not opened.
/// Throws bad_input with the file and the place in it, and unavailable in a build without protobuf.
[[nodiscard]] graph read_onnx(const std::string& file);

/// Reads the calls that tools/torch_export.py has traced; docs/formats.md has their form. Throws
/// bad_input with the file and the place in it.
[[nodiscard]] graph read_torch(const std::string& file);

}  // namespace layerbench::tool::importer
