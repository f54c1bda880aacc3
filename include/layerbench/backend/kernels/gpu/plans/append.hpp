// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <layerbench/backend/kernels/gpu/tensor_plan.hpp>
#include <layerbench/op/append.hpp>

namespace layerbench::gpu {

/// A layerbench kernel. In a graph it is faster than the library's copy, which is a node of another
/// kind there.
template <>
class own_plan<op::append> : public call_plan {
 public:
  own_plan(const runtime& device, const op::append& o, const plan_request& request)
      : call_plan("layerbench:append", device, o.operands(request.pass, request.type),
                  request.layout),
        run_(o.tokens * o.columns),
        size_(o.n * run_),
        kernel_(device.find(request.type, "append")) {}

  void run(const binding& bound) const {
    const op::operand& dst = logical(1);
    const auto skipped = static_cast<std::size_t>(dst.place(0)) * traits(dst.type).bytes;
    kernel_.launch(grid_for_vectors(size_, dst.type), bound[0],
                   address(static_cast<std::byte*>(bound[1]) + skipped), size_, run_,
                   elements(dst.kept_in) / dst.kept_in.front());
  }

 private:
  std::int64_t run_;  ///< elements of a sequence
  std::int64_t size_;
  kernel kernel_;
};

}  // namespace layerbench::gpu
