// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/stream.hpp>

namespace layerbench::reference {

template <>
struct formula<op::stream> {
  [[nodiscard]] static sum at(const op::stream& o, op::pass /*pass*/, tensors in,
                              std::size_t /*output*/, std::int64_t index) {
    sum total;
    switch (o.kind) {
      case op::stream_kind::read:
        for (std::size_t i = 0; i < in[0].size(); ++i) total.add(in[0][i]);
        return total;
      case op::stream_kind::write:
        return {std::bit_cast<float>(op::stream::written_byte(in[0][0]) * 0x01010101U), 0, 0, 0, 1};
      case op::stream_kind::copy: break;
    }
    return {in[0][static_cast<std::size_t>(index)], 0, 0, 0, 1};
  }
};

static_assert(implements<backend, op::stream>);

}  // namespace layerbench::reference
