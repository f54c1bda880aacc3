// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/backend/reference/pad.hpp>
#include <layerbench/op/slice.hpp>

namespace layerbench::reference {

/// A slice is the gradient of a padding, and the padding is the gradient of the slice.
template <>
struct formula<op::slice> {
  [[nodiscard]] static sum at(const op::slice& o, op::pass pass, tensors in, std::size_t output,
                              std::int64_t index) {
    const auto other = pass == op::pass::bwd ? op::pass::fwd : op::pass::bwd;
    return formula<op::pad>::at(o.padding(), other, in, output, index);
  }
};

static_assert(implements<backend, op::slice>);

}  // namespace layerbench::reference
