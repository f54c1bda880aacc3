// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/topk.hpp>

namespace layerbench::reference {

template <>
struct formula<op::topk> {
  [[nodiscard]] static sum at(const op::topk& o, op::pass /*pass*/, tensors in, std::size_t output,
                              std::int64_t index) {
    const auto first = static_cast<std::size_t>(index / o.k * o.c);
    std::vector<std::size_t> columns(static_cast<std::size_t>(o.c));
    for (std::size_t c = 0; c < columns.size(); ++c) columns[c] = c;
    const auto value = [&](std::size_t column) { return in[0][first + column]; };
    std::ranges::stable_sort(columns, std::ranges::greater{}, value);
    const std::size_t chosen = columns[static_cast<std::size_t>(index % o.k)];
    sum total;
    if (output == 2) {
      total.add(static_cast<double>(chosen));
      return total;
    }
    double all = 0;
    for (std::int64_t i = 0; i < o.k; ++i) all += value(columns[static_cast<std::size_t>(i)]);
    total.add(o.normalized ? value(chosen) / all : value(chosen));
    total.terms = o.k;
    return total;
  }
};

static_assert(implements<backend, op::topk>);

}  // namespace layerbench::reference
