// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <layerbench/model/step.hpp>

namespace layerbench::model {

/// Where the tensors of a step lie in one block of memory: each on its own page, or behind the
/// other parts of a packed tensor.
struct step_layout {
  std::vector<std::size_t> starts;  ///< offset of each tensor
  std::vector<std::size_t> sizes;   ///< bytes of each tensor
  std::size_t bytes = 0;            ///< of the block

  /// `bytes_of(i)` returns the bytes of the operands of call `i`, in their order; of one that
  /// is a part of a tensor, those of the tensor.
  step_layout(const step& of, const std::function<std::vector<std::size_t>(std::size_t)>& bytes_of);
};

/// The layout without the padding that a library adds to tensors. Operands of which only a library
/// knows the size take no memory.
[[nodiscard]] step_layout least_layout(const step& of);

}  // namespace layerbench::model

#ifndef LAYERBENCH_COMPILED
#include <layerbench/model/step_layout-inl.hpp>
#endif
