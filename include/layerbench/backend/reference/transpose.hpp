// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/memory_order.hpp>
#include <layerbench/op/transpose.hpp>

namespace layerbench::reference {

/// An element keeps its value; its index in the view has the axes of its index in the result.
template <>
struct formula<op::transpose> {
  class evaluation {
   public:
    evaluation(const op::transpose& o, op::pass pass, tensors in)
        : o_(pass == op::pass::bwd ? o.inverse() : o),
          extents_(o_.permuted()),
          strides_(op::strides(o_.viewed(), op::plain_order(o_.viewed()))),
          in_(in) {}

    [[nodiscard]] sum at(std::size_t /*output*/, std::int64_t index) const {
      std::int64_t place = 0;
      for (std::size_t i = extents_.size(); i-- > 0; index /= extents_[i]) {
        place += index % extents_[i] * strides_[static_cast<std::size_t>(o_.order.sizes[i])];
      }
      return {in_[0][static_cast<std::size_t>(place)]};
    }

   private:
    op::transpose o_;
    dims extents_;
    dims strides_;
    tensors in_;
  };
};

static_assert(implements<backend, op::transpose>);

}  // namespace layerbench::reference
