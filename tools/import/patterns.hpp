// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "graph.hpp"
#include "inference.hpp"

namespace layerbench::tool::importer {

/// A node that a layer may be made of, and its position in the file.
struct step {
  std::size_t index;
  node of;
};

/// Ops of nodes that stand for several of the file. The first has the inputs query, transposed key,
/// value and mask, and the scale of `attention`; the second a matrix, weights and biases.
inline constexpr const char* composed_attention = "MatMul, Softmax, MatMul";
inline constexpr const char* composed_linear = "MatMul, Add";

/// The input of attention that is a mask, which no layer computes; no_value for other nodes.
[[nodiscard]] std::size_t mask_input(const node& of);

/// The nodes that the outputs depend on, but for masks, in order. Nodes that compute one op of ONNX
/// in several steps, such as a gelu with Erf, are one node, with the position of the last.
[[nodiscard]] std::vector<step> steps_of(const graph& g, const std::vector<known>& values);

/// Whether each value follows from constants and sizes alone.
[[nodiscard]] std::vector<bool> constants_of(const graph& g, const std::vector<known>& values);

}  // namespace layerbench::tool::importer
