// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <layerbench/model/graph.hpp>
#include <layerbench/model/optimizer.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/shape/dtype.hpp>

/// The training step of a model: forward, loss, backward in reverse order, update of the weights.
namespace layerbench::model {

/// One training step of a model: the layers in graph order, the loss, the gradients in reverse
/// order, and the update of the weights. A loss takes the place of each softmax that a model ends
/// in; the others are of auxiliary heads. The model's input has no gradient. Ops `in_place` write
/// over their source if no later call needs it. Throws `unsupported` for a layer without a
/// gradient, and usage_error for a model that is `inference_only`.
[[nodiscard]] step training_step(const graph& g, dtype type, const op_names& in_place = {},
                                 const training& how = {});

/// One step of a phase, "training" or "inference". The step of a sweep is its rows, in any phase.
[[nodiscard]] step step_of(const graph& g, std::string_view phase, dtype type = dtype::f32,
                           const op_names& in_place = {}, const training& how = {});

}  // namespace layerbench::model

#ifndef LAYERBENCH_COMPILED
#include <layerbench/model/training-inl.hpp>
#endif
