// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <layerbench/model/graph.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/op/quantization_fields.hpp>

/// Models in integers: which layers compute with them, and where tensors change their type.
namespace layerbench::model {

/// What a fusion plan says of steps in s8 (docs/formats.md#fusion-plans).
struct quantization {
  std::vector<std::string>
      ops;  ///< that compute with integers: those with a field `channel_scales`
  std::vector<std::string> keeps = {};  ///< ops whose result has the type of their sources
  bool channel_scales = false;          ///< weights have a scale per output channel
};

/// What a fusion plan says of weights of products (docs/formats.md#fusion-plans).
struct narrow_weights {
  op::narrow_type type;
  std::int64_t group_size = 0;  ///< neighbours along k that share a scale; 0: all
  bool zero_points = false;     ///< of each group
};

/// The model with weights in fewer bits, for inference: those of products that have learned
/// weights, a k that the groups divide, and in 4 bits an even n and k, as libraries want them.
/// Other tensors keep the type of the step.
[[nodiscard]] graph with_narrow_weights(graph g, const narrow_weights& rules);

/// The model with integers, for inference in s8. Activations that cannot be negative are u8, others
/// s8. Layers of `keeps` keep the integers of their sources. All others compute in f32. A layer
/// `quantize` stands before the first reader of each tensor in another type than it was written in.
/// Throws error (exit_code::bad_input) if a layer of the model has a type of its own.
[[nodiscard]] graph quantized(const graph& g, const quantization& rules,
                              const op::catalog& catalog);

}  // namespace layerbench::model

#ifndef LAYERBENCH_COMPILED
#include <layerbench/model/quantization-inl.hpp>
#endif
