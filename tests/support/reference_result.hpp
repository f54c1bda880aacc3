// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/reference/all_plans.hpp>

namespace layerbench::testing {

/// Values of the operands that an op reads, in its order.
using values = std::vector<float>;

/// What the reference plan of `op` computes from `inputs`: operand `output`, or the last one.
template <class Op>
values reference_result(const Op& op, const std::vector<values>& inputs, dtype type = dtype::f32,
                        std::optional<std::size_t> output = {}) {
  reference::backend device(1);
  const run::plan_of<reference::backend, Op> created(device, op, {.type = type});
  std::vector<std::unique_ptr<run::device_memory>> buffers;
  std::vector<address> places;
  for (const plan_operand& operand : created.operands()) {
    buffers.push_back(device.allocate(operand.bytes));
    places.push_back(buffers.back()->data());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) created.upload(i, inputs[i], places[i]);
  const auto workspace = device.allocate(created.workspace_bytes());
  created.run(created.bind(places, workspace->data()));
  const std::size_t read = output.value_or(places.size() - 1);
  values result(static_cast<std::size_t>(elements(created.operands()[read].logical.extents)));
  created.download(read, places[read], result);
  return result;
}

}  // namespace layerbench::testing
