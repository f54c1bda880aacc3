// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

/// ONNX models for tests, in the wire format of protobuf; fields as in onnx.proto.
namespace layerbench::testing::onnx {

/// A message of protobuf.
class message {
 public:
  message& number(int field, std::int64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3U);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  message& text(int field, const std::string& value) {
    varint(static_cast<std::uint64_t>(field) << 3U | 2U);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  message& real(int field, float value) {
    varint(static_cast<std::uint64_t>(field) << 3U | 5U);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  message& inner(int field, const message& value) { return text(field, value.bytes_); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) bytes_ += static_cast<char>(0x80U | (value & 0x7fU));
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

using sizes = std::vector<std::int64_t>;
using names = std::vector<std::string>;

inline message tensor(const std::string& name, const sizes& extents, int type = 1) {
  message result;
  for (const std::int64_t extent : extents) result.number(1, extent);
  return result.number(2, type).text(8, name);
}

inline message i(const std::string& name, std::int64_t value) {
  return message().text(1, name).number(3, value).number(20, 2);
}
inline message f(const std::string& name, float value) {
  return message().text(1, name).real(2, value).number(20, 1);
}
inline message s(const std::string& name, const std::string& value) {
  return message().text(1, name).text(4, value).number(20, 3);
}
inline message ints(const std::string& name, const sizes& values) {
  message result;
  result.text(1, name).number(20, 7);
  for (const std::int64_t value : values) result.number(8, value);
  return result;
}

inline message texts(const std::string& name, const names& values) {
  message result;
  result.text(1, name).number(20, 8);
  for (const std::string& value : values) result.text(9, value);
  return result;
}

/// A model; what is called first comes first in the file.
class model {
 public:
  /// An input; a size of -1 is the batch, whose name is `batch_name`.
  model& input(const std::string& name, const sizes& extents, int type = 1,
               const std::string& batch_name = "batch") {
    message shape;
    for (const std::int64_t extent : extents) {
      shape.inner(1, extent < 0 ? message().text(2, batch_name) : message().number(1, extent));
    }
    const message kind = message().inner(1, message().number(1, type).inner(2, shape));
    graph_.inner(11, message().text(1, name).inner(2, kind));
    return *this;
  }
  /// Weights without elements.
  model& weight(const std::string& name, const sizes& extents) {
    graph_.inner(5, tensor(name, extents));
    return *this;
  }
  /// Whole numbers; without `extents` a list of them.
  model& numbers(const std::string& name, const sizes& values) {
    message of = tensor(name, {static_cast<std::int64_t>(values.size())}, 7);
    for (const std::int64_t value : values) of.number(7, value);
    graph_.inner(5, of);
    return *this;
  }
  model& number(const std::string& name, std::int64_t value) {
    graph_.inner(5, tensor(name, {}, 7).number(7, value));
    return *this;
  }
  model& real(const std::string& name, float value) {
    graph_.inner(5, tensor(name, {}).real(4, value));
    return *this;
  }
  model& node(const std::string& op, const names& inputs, const names& outputs,
              const std::vector<message>& attributes = {}, const std::string& name = "",
              const message& more = {}) {
    message result;
    for (const std::string& one : inputs) result.text(1, one);
    for (const std::string& one : outputs) result.text(2, one);
    result.text(3, name).text(4, op);
    for (const message& one : attributes) result.inner(5, one);
    graph_.text(1, result.bytes() + more.bytes());
    return *this;
  }
  model& output(const std::string& name) {
    graph_.inner(12, message().text(1, name));
    return *this;
  }
  model& raw(int field, const message& value) {
    graph_.inner(field, value);
    return *this;
  }
  /// The graph alone, as a branch or a body.
  [[nodiscard]] const message& graph() const { return graph_; }
  [[nodiscard]] std::string bytes(std::int64_t opset = 20, const std::string& producer = "") const {
    return message()
        .number(1, 10)
        .text(2, producer)
        .inner(8, message().text(1, "").number(2, opset))
        .inner(7, graph_)
        .bytes();
  }

 private:
  message graph_;
};

/// A branch or a body as an attribute.
inline message inside(const std::string& name, const model& of) {
  return message().text(1, name).inner(6, of.graph()).number(20, 5);
}

}  // namespace layerbench::testing::onnx
