// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <layerbench/backend/kernels/gpu/tensor_plan.hpp>
#include <layerbench/op/embedding.hpp>

namespace layerbench::gpu {

/// Kernels of layerbench: libraries have no gather. For the gradient the indices are linked
/// to lists, and the numbers of each list are added up: the order of a list is that in which the
/// threads arrive. A row that is used often has several lists, whose sums a third kernel adds up.
template <>
class own_plan<op::embedding> : public call_plan {
 public:
  own_plan(const runtime& device, const op::embedding& o, const plan_request& request)
      : call_plan("layerbench:embedding", device, o.operands(request.pass, request.type),
                  request.layout),
        o_(o) {
    if (request.pass != op::pass::bwd_weights) {
      kernel_ = device.find(request.type, "embedding");
      return;
    }
    parts_ = parts_of(o, request.workspace_limit);
    const char* const gradient = parts_ > 1 ? "embedding_gradient_parts" : "embedding_gradient";
    kernel_ = device.find(request.type, gradient);
    lists_ = device.find(request.type, "embedding_lists");
    if (parts_ > 1) sums_ = device.find(request.type, "bias_gradient");
    set_algorithm(std::string(device.fill_call()) + "+layerbench:embedding_lists+layerbench:" +
                  gradient + (sums_ ? "+layerbench:bias_gradient" : ""));
    if (workspace_bytes() > request.workspace_limit) {
      throw unsupported("no room for the lists of an embedding's gradient");
    }
  }

  /// Of the gradient: the sums of several lists of a row; for each list its first index, for each
  /// index the next of its list.
  [[nodiscard]] std::size_t workspace_bytes() const override {
    if (!lists_) return 0;
    return sum_bytes() + static_cast<std::size_t>(o_.rows * parts_ + o_.n) * sizeof(int);
  }

  void run(const binding& at) const {
    const std::int64_t size = o_.n * o_.columns;
    if (!lists_) {
      kernel_->launch(grid_of(size), at[0], at[1], at[2], size, o_.rows, o_.columns);
      return;
    }
    address lists = static_cast<std::byte*>(at.workspace) + sum_bytes();
    const std::int64_t count = o_.rows * parts_;
    // -1 ends a list.
    device().fill(lists, static_cast<std::size_t>(count) * sizeof(int), std::byte{0xFF});
    lists_->launch(grid_for(o_.n), at[0], lists, o_.n, o_.rows, parts_);
    kernel_->launch(grid_of(count * o_.columns), at[1], lists, sums_ ? at.workspace : at[2], count,
                    o_.columns);
    if (!sums_) return;
    const std::int64_t weights = o_.rows * o_.columns;
    sums_->launch(grid_for(weights), at.workspace, at[2], weights, parts_);
  }

 private:
  /// Lists for each row: of about 32 indices if the rows are used equally often, and as many as
  /// have room.
  [[nodiscard]] static std::int64_t parts_of(const op::embedding& o, std::size_t most_bytes) {
    constexpr std::int64_t length = 32;
    constexpr std::int64_t most = 64;
    const std::int64_t bytes_each = o.rows * (o.columns + 1) * 4;  // sums in f32, and first indices
    const std::int64_t room = static_cast<std::int64_t>(most_bytes) - o.n * 4;
    return std::clamp<std::int64_t>(std::min(o.n / o.rows / length, room / bytes_each), 1, most);
  }
  [[nodiscard]] grid grid_of(std::int64_t size) const {
    return grid_for_vectors(size, logical(2).type);
  }
  /// Before the lists in the workspace.
  [[nodiscard]] std::size_t sum_bytes() const {
    return sums_ ? static_cast<std::size_t>(parts_ * o_.rows * o_.columns) * sizeof(float) : 0;
  }

  op::embedding o_;
  std::int64_t parts_ = 1;  ///< lists of a row
  std::optional<kernel> kernel_;
  std::optional<kernel> lists_;
  std::optional<kernel> sums_;
};

}  // namespace layerbench::gpu
