// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/backend/reference/post_ops.hpp>
#include <layerbench/op/add.hpp>

namespace layerbench::reference {

template <>
struct formula<op::add> {
  [[nodiscard]] static sum at(const op::add& o, op::pass pass, tensors in, std::size_t /*output*/,
                              std::int64_t index) {
    const std::int64_t image = elements(o.addends());
    sum total;
    if (pass == op::pass::bwd) {
      for (std::int64_t i = index; i < elements(o.dims); i += image) {
        total.add(in[0][static_cast<std::size_t>(i)]);
      }
      return total;
    }
    total.add(in[0][static_cast<std::size_t>(index)]);
    total.add(in[1][static_cast<std::size_t>(index % image)]);
    return with_post_ops(total, o.post, in, 2, index);
  }
};

static_assert(implements<backend, op::add>);

}  // namespace layerbench::reference
