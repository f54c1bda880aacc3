// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <layerbench/model/parameters.hpp>
#include <layerbench/model/step.hpp>

/// The all-reduces of a training step of several ranks.
namespace layerbench::model::detail {

/// Inserts one all-reduce per bucket of gradients, right after the call that writes its last
/// gradient. No other call overlaps it. PyTorch's DistributedDataParallel does the same if
/// gradients are views of buckets, but it also divides the sums by the number of ranks.
class reductions {
 public:
  reductions(step& result, const std::vector<parameter>& learned, std::int64_t ranks);

  void insert();

 private:
  struct learned_by {
    const parameter* what;
    std::size_t call;  ///< that writes its gradient
  };

  [[nodiscard]] std::size_t writer_of(std::size_t tensor) const;

  step& result_;
  std::int64_t ranks_;
  std::vector<learned_by> ready_;
};

}  // namespace layerbench::model::detail

#ifndef LAYERBENCH_COMPILED
#include <layerbench/model/reductions-inl.hpp>
#endif
