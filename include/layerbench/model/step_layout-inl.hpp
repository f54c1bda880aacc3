// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/rounding.hpp>
#include <layerbench/model/step_layout.hpp>
#include <layerbench/shape/dims.hpp>

namespace layerbench::model {

LAYERBENCH_INLINE step_layout::step_layout(
    const step& of, const std::function<std::vector<std::size_t>(std::size_t)>& bytes_of)
    : starts(of.tensors, 0), sizes(of.tensors, 0) {
  for (std::size_t i = 0; i < of.calls.size(); ++i) {
    const std::vector<std::size_t> of_call = bytes_of(i);
    for (std::size_t j = 0; j < of_call.size(); ++j) {
      std::size_t& size = sizes[of.calls[i].tensors[j]];
      size = std::max(size, of_call[j]);  // a reader may pad more than the writer
    }
  }
  for (const packed_tensor& packed : of.packed) sizes[packed.whole] = 0;
  std::vector<bool> is_part(of.tensors, false);
  for (const packed_tensor& packed : of.packed) {
    std::size_t& size = sizes[packed.whole];
    for (const std::size_t part : packed.parts) {
      constexpr std::size_t line = 64;
      starts[part] = size;  // in the packed tensor
      size += rounded_up(sizes[part], line);
      is_part[part] = true;
    }
  }
  constexpr std::size_t page = 4096;
  for (std::size_t i = 0; i < of.tensors; ++i) {
    if (is_part[i]) continue;
    starts[i] = bytes;
    bytes += rounded_up(sizes[i], page);
  }
  for (const packed_tensor& packed : of.packed) {
    for (const std::size_t part : packed.parts) starts[part] += starts[packed.whole];
  }
}

LAYERBENCH_INLINE step_layout least_layout(const step& of) {
  return {of, [&](std::size_t i) {
            std::vector<std::size_t> bytes;
            for (op::operand operand : of.operands_of(of.calls[i])) {
              operand.extents = operand.tensor();
              bytes.push_back(static_cast<std::size_t>(op::bytes(operand)));
            }
            return bytes;
          }};
}

}  // namespace layerbench::model
