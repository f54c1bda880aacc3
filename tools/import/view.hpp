// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <layerbench/shape/dims.hpp>

#include "graph.hpp"

/// Tensors as nodes see them: views of what layers wrote.
namespace layerbench::tool::importer {

/// Thrown for a node that no op computes; the text is the reason, empty where the node says it all.
struct unknown : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Thrown for a node that reads what another unknown node computes.
struct follows : unknown {
  follows() : unknown("") {}
};

/// Part of an axis of a tensor. Keys sort as the parts lie in memory. A part without a key repeats
/// what is there.
struct atom {
  std::int64_t size;
  std::vector<int> key;
  [[nodiscard]] bool repeats() const { return key.empty(); }
  friend bool operator==(const atom&, const atom&) = default;
};

/// The parts of each axis.
using axes = std::vector<std::vector<atom>>;

/// Axes in the order of memory.
[[nodiscard]] axes axes_of(const dims& extents);

/// The axes of a view of these extents, split or joined; nothing if there is none.
[[nodiscard]] std::optional<axes> axes_seen_as(const axes& of, const dims& extents);

/// The parts of all axes.
[[nodiscard]] std::vector<atom> flat(const axes& of);

/// The parts as they lie in memory. Throws unknown for a tensor that repeats parts.
[[nodiscard]] std::vector<atom> in_memory(const axes& of);

/// Sizes of the parts in memory, and for each part of the view its number there.
struct memory_order {
  dims sizes;
  dims order;
  friend auto operator<=>(const memory_order&, const memory_order&) = default;
};
[[nodiscard]] memory_order order_of(const axes& of);

/// Who wrote a tensor. `left_out`: an unknown node. `state`: a recurrent node, beside its sequence;
/// no layer can read it.
enum class source_kind { layer, input, weight, constant, left_out, state };

/// What a node reads or writes.
struct view {
  source_kind from = source_kind::constant;
  dims extents;                           ///< as ONNX has them
  dims written;                           ///< of the layer's result, or of the weight
  std::size_t layer = no_value;           ///< that wrote it
  std::size_t value = no_value;           ///< of the graph: the weight, or what is left out
  std::vector<std::size_t> sources = {};  ///< of `left_out`: the values that its node reads
  std::optional<axes> order = {};         ///< where the axes lie in memory, if not in order
  bool transposed = false;  ///< a matrix of weights that is stored the other way round
  int type = 0;
  /// The module whose node has changed the order of axes; nothing: that of the current node.
  std::optional<std::string> turned_in = {};
  /// Of a recurrent layer that PyTorch gives the batch first: where the axes lie, the steps first.
  /// Most layers take its rows in any order, so that it has no `order`.
  std::optional<axes> steps_first = {};

  [[nodiscard]] bool is_data() const {
    return from == source_kind::layer || from == source_kind::input ||
           from == source_kind::left_out || from == source_kind::state;
  }
  /// Where the axes lie in memory. Throws unknown if a view has split what is not split there.
  [[nodiscard]] axes all_axes() const;
  /// The same memory with these axes.
  [[nodiscard]] view laid_out(dims to, const axes& as) const;
  /// The same memory with axes in the order of another view.
  [[nodiscard]] view laid_out(dims to, const view& like) const;
  /// The tensor, with the order of its axes if a view of these extents depends on it.
  [[nodiscard]] view ordered_for(const dims& to) const;
  /// A view of these extents. Throws unknown if there is none.
  [[nodiscard]] view viewed(const dims& to) const;
  /// A view with the axes in another order.
  [[nodiscard]] view permuted(const std::vector<std::size_t>& axis_order) const;
  /// The tensor as it lies in memory.
  [[nodiscard]] view memory() const;
  /// Whether the last axis lies in one piece, whatever the order of the others.
  [[nodiscard]] bool has_rows() const;
  /// Without the parts that repeat others.
  [[nodiscard]] view without_repeats() const;
};

}  // namespace layerbench::tool::importer
