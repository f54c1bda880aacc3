// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/append.hpp>

namespace layerbench {

/// A layerbench kernel. In a graph it is faster than the library's copy, which is a node of another
/// kind there.
template <>
class plan<cudnn::backend, op::append> : public cudnn::direct_plan {
 public:
  plan(cudnn::backend& device, const op::append& o, const plan_request& request)
      : direct_plan(device, o.operands(request.pass, request.type), request, "nvrtc_append"),
        run_(o.tokens * o.columns),
        size_(o.n * run_),
        kernel_(device.kernels().find(request.type, "append")) {}

  void run(const binding& bound) const {
    const op::operand& dst = logical(1);
    const auto skipped = static_cast<std::size_t>(dst.place(0)) * traits(dst.type).bytes;
    kernel_.launch(stream(), cuda::grid_for_vectors(size_, dst.type), bound[0],
                   address(static_cast<std::byte*>(bound[1]) + skipped), size_, run_,
                   elements(dst.kept_in) / dst.kept_in.front());
  }

 private:
  std::int64_t run_;  ///< elements of a sequence
  std::int64_t size_;
  cuda::kernel kernel_;
};

static_assert(implements<cudnn::backend, op::append>);

}  // namespace layerbench
