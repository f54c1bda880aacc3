// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/embedding.hpp>

namespace layerbench {

/// Kernels of the suite's own: the library has no gather. For the gradient the indices are
/// linked to lists, one per row, and each row adds up its own: the order of a list is that in which
/// the threads arrive.
template <>
class plan<cudnn::backend, op::embedding> : public cudnn::direct_plan {
 public:
  plan(cudnn::backend& device, const op::embedding& o, const plan_request& request)
      : direct_plan(device, o.operands(request.pass, request.type), request,
                    request.pass == op::pass::bwd_weights
                        ? "cudaMemsetAsync+nvrtc_embedding_lists+nvrtc_embedding_gradient"
                        : "nvrtc_embedding"),
        o_(o),
        kernel_(device.kernels().find(request.type, request.pass == op::pass::bwd_weights
                                                        ? "embedding_gradient"
                                                        : "embedding")) {
    if (request.pass != op::pass::bwd_weights) return;
    lists_ = device.kernels().find(request.type, "embedding_lists");
    if (workspace_bytes() > request.workspace_limit) {
      throw unsupported("no room for the lists of an embedding's gradient");
    }
  }

  /// Of the gradient: for each row its first index, for each index the next of its row.
  [[nodiscard]] std::size_t workspace_bytes() const {
    return lists_ ? static_cast<std::size_t>(o_.rows + o_.n) * sizeof(int) : 0;
  }

  struct binding {
    std::vector<address> places;
    address workspace;
  };
  [[nodiscard]] static binding bind(std::span<const address> places, address workspace) {
    return {{places.begin(), places.end()}, workspace};
  }
  static void place(binding& bound, std::span<const address> places) {
    bound.places.assign(places.begin(), places.end());
  }

  void run(const binding& bound) const {
    const auto& at = bound.places;
    if (!lists_) {
      kernel_.launch(stream(), cuda::grid_for(o_.columns, o_.n), at[0], at[1], at[2], o_.n, o_.rows,
                     o_.columns);
      return;
    }
    // -1 ends a list.
    cuda::check(cudaMemsetAsync(bound.workspace, 0xFF,
                                static_cast<std::size_t>(o_.rows) * sizeof(int), stream()),
                "cudaMemsetAsync");
    lists_->launch(stream(), cuda::grid_for(o_.n), at[0], bound.workspace, o_.n, o_.rows);
    kernel_.launch(stream(), cuda::grid_for(o_.columns, o_.rows), at[1], bound.workspace, at[2],
                   o_.rows, o_.columns);
  }

 private:
  op::embedding o_;
  cuda::kernel kernel_;
  std::optional<cuda::kernel> lists_;
};

static_assert(implements<cudnn::backend, op::embedding>);

}  // namespace layerbench
