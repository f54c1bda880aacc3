// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/number_types.hpp>
#include <layerbench/backend/plan.hpp>
#include <layerbench/op/memory_order.hpp>

namespace layerbench {

/// Strides in elements: images n*c*h*w in `image_layout`, channels-last for layout::any; other
/// tensors row-major.
[[nodiscard]] inline dims strides(const dims& extents, layout image_layout) {
  if (extents.size() == 4 && image_layout != layout::nchw) {
    const std::int64_t c = extents[1];
    const std::int64_t w = extents[3];
    return {c * extents[2] * w, 1, w * c, c};
  }
  return op::strides(extents, op::plain_order(extents));
}

/// Strides in elements of a tensor in `order`, in op::reorder's notation. Throws unsupported if the
/// order is blocked.
[[nodiscard]] inline dims strides(const dims& extents, std::string_view order) {
  if (order.size() != extents.size() || !op::is_permutation(order)) {
    throw unsupported(fmt::format("layerbench has no blocked orders, such as {}", order));
  }
  return op::strides(extents, order);
}

/// Operands of a plan whose elements lie in memory by strides, without padding: conversions between
/// memory and row-major values.
class strided_operands : public run::any_plan {
 public:
  [[nodiscard]] const std::vector<plan_operand>& operands() const override { return operands_; }

 protected:
  /// All in that layout, see strides().
  strided_operands(std::vector<op::operand> logical, layout image_layout) {
    for (op::operand& operand : logical) {
      const bool channels_last = operand.extents.size() == 4 && image_layout != layout::nchw;
      const std::string text = channels_last ? "acdb" : op::plain_order(operand.extents);
      dims operand_strides = strides(operand.extents, image_layout);
      add(std::move(operand), text, std::move(operand_strides));
    }
  }

  /// `orders`: one per operand, in op::reorder's notation. Throws unsupported for blocked orders.
  strided_operands(std::vector<op::operand> logical, const std::vector<std::string>& orders) {
    for (std::size_t i = 0; i < logical.size(); ++i) {
      dims operand_strides = strides(logical[i].extents, std::string_view(orders.at(i)));
      add(std::move(logical[i]), orders[i], std::move(operand_strides));
    }
  }

  /// Gives an opaque operand its bytes.
  void set_bytes(std::size_t operand, std::size_t bytes) { operands_[operand].bytes = bytes; }

  [[nodiscard]] const op::operand& logical(std::size_t operand) const {
    return operands_[operand].logical;
  }
  [[nodiscard]] const dims& strides_of(std::size_t operand) const { return strides_[operand]; }

  /// Whether the operand is a part of a tensor, which lies in row-major order.
  [[nodiscard]] bool is_part(std::size_t operand) const {
    return !logical(operand).kept_in.empty();
  }
  /// Elements of all that lies in the operand's memory.
  [[nodiscard]] std::size_t tensor_size(std::size_t operand) const {
    return static_cast<std::size_t>(elements(logical(operand).tensor()));
  }
  /// Position in memory of the element with a row-major index.
  [[nodiscard]] std::int64_t offset_of(std::size_t operand, std::int64_t index) const {
    if (is_part(operand)) return logical(operand).place(index);
    const dims& extents = logical(operand).extents;
    std::int64_t offset = 0;
    for (std::size_t axis = extents.size(); axis-- > 0;) {
      offset += index % extents[axis] * strides_of(operand)[axis];
      index /= extents[axis];
    }
    return offset;
  }

  /// Stores row-major `values` as numbers of type T, where each element lies behind `to`.
  template <class T>
  void store(std::size_t operand, std::span<const float> values, T* to) const {
    for_each_element(operand, [&](std::size_t index, std::size_t offset) {
      to[offset] = stored_as<T>(logical(operand), index, values[index]);
    });
  }
  /// The inverse.
  template <class T>
  void load(std::size_t operand, const T* from, std::span<float> values) const {
    for_each_element(operand, [&](std::size_t index, std::size_t offset) {
      values[index] = element_of(logical(operand), index, from[offset]);
    });
  }

 private:
  void add(op::operand logical, const std::string& order, dims operand_strides) {
    std::string text = op::canonical_order(logical.extents, order);
    const auto bytes =
        static_cast<std::size_t>(elements(logical.tensor())) * traits(logical.type).bytes;
    operands_.push_back({std::move(logical), std::move(text), bytes});
    strides_.push_back(std::move(operand_strides));
  }

  /// Calls `visit(row-major index, offset in memory)` for each element; both count elements.
  template <class Visit>
  void for_each_element(std::size_t operand, const Visit& visit) const {
    const dims& extents = logical(operand).extents;
    const dims& operand_strides = strides_of(operand);
    dims index(extents.size(), 0);
    const auto count = static_cast<std::size_t>(elements(extents));
    const bool part = is_part(operand);
    if (!part && operand_strides == op::strides(extents, op::plain_order(extents))) {
      for (std::size_t i = 0; i < count; ++i) visit(i, i);
      return;
    }
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t place =
          part ? logical(operand).place(static_cast<std::int64_t>(i)) : offset;
      visit(i, static_cast<std::size_t>(place));
      for (std::size_t axis = extents.size(); axis-- > 0;) {
        offset += operand_strides[axis];
        if (++index[axis] < extents[axis]) break;
        offset -= index[axis] * operand_strides[axis];
        index[axis] = 0;
      }
    }
  }

  std::vector<plan_operand> operands_;
  std::vector<dims> strides_;
};

/// Base class of the plans whose calls take the operands where they are, by kernels of layerbench
/// or by functions of a library. They need no workspace unless the plan says so.
template <std::derived_from<strided_operands> Operands>
class call_plan : public Operands {
 public:
  /// Functions and kernels, separated by "+" (backend/algorithm_parts.hpp).
  [[nodiscard]] std::string algorithm() const override { return algorithm_; }

  struct binding {
    std::vector<address> operands;
    address workspace;

    address operator[](std::size_t operand) const { return operands[operand]; }
  };

  [[nodiscard]] static binding bind(std::span<const address> addresses, address workspace) {
    return {{addresses.begin(), addresses.end()}, workspace};
  }
  static void place(binding& bound, std::span<const address> addresses) {
    bound.operands.assign(addresses.begin(), addresses.end());
  }

 protected:
  /// `operands`: the arguments of `Operands`.
  template <class... Arguments>
  explicit call_plan(std::string algorithm, Arguments&&... operands)
      : Operands(std::forward<Arguments>(operands)...), algorithm_(std::move(algorithm)) {}

  /// Address of an operand.
  template <class T>
  [[nodiscard]] static T* at(const binding& bound, std::size_t operand) {
    return static_cast<T*>(bound[operand]);
  }

  void set_algorithm(std::string algorithm) { algorithm_ = std::move(algorithm); }

 private:
  std::string algorithm_;
};

}  // namespace layerbench
