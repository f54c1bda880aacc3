// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/quantize.hpp>

namespace layerbench::reference {

/// Real numbers stay what they are; the type of the result rounds them.
template <>
struct formula<op::quantize> {
  [[nodiscard]] static sum at(const op::quantize& /*o*/, op::pass /*pass*/, tensors in,
                              std::size_t /*output*/, std::int64_t index) {
    sum result;
    result.add(in[0][static_cast<std::size_t>(index)]);
    return result;
  }
};

static_assert(implements<backend, op::quantize>);

}  // namespace layerbench::reference
