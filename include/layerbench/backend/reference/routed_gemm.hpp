// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/routed_gemm.hpp>

namespace layerbench::reference {

template <>
struct formula<op::routed_gemm> {
  class evaluation {
   public:
    evaluation(const op::routed_gemm& o, op::pass /*pass*/, tensors in)
        : o_(o),
          src_(in[0]),
          scales_(in[o.scatter ? 1 : 0]),
          weights_(in[o.scatter ? 3 : 2]),
          row_of_(static_cast<std::size_t>(o.rows())),
          choice_of_(row_of_.size()),
          ends_(static_cast<std::size_t>(o.experts)) {
      o.sort(in[o.scatter ? 2 : 1], row_of_, ends_);
      for (std::size_t i = 0; i < row_of_.size(); ++i) {
        choice_of_[static_cast<std::size_t>(row_of_[i])] = static_cast<std::int64_t>(i);
      }
    }

    [[nodiscard]] sum at(std::size_t /*output*/, std::int64_t index) const {
      const std::int64_t column = index % o_.n;
      if (!o_.scatter) return product_of(index / o_.n, column);
      sum total;
      double rounded_squares = 0;  // libraries round the products before they add them
      for (std::int64_t i = 0; i < o_.top_k; ++i) {
        const std::int64_t choice = index / o_.n * o_.top_k + i;
        const double scale = scales_[static_cast<std::size_t>(choice)];
        const sum one = product_of(row_of_[static_cast<std::size_t>(choice)], column);
        total.value += scale * one.value;
        total.magnitude += std::abs(scale) * one.magnitude;
        total.squares += scale * scale * one.squares;
        total.terms += one.terms;
        rounded_squares += scale * scale * one.value * one.value;
      }
      total.rounded_terms = std::sqrt(rounded_squares);
      return total;
    }

   private:
    [[nodiscard]] sum product_of(std::int64_t row, std::int64_t column) const {
      const std::int64_t expert = std::ranges::upper_bound(ends_, row) - ends_.begin();
      const std::int64_t from =
          o_.gather ? choice_of_[static_cast<std::size_t>(row)] / o_.top_k : row;
      sum total;
      for (std::int64_t k = 0; k < o_.k; ++k) {
        total.add(product(src_, from * o_.k + k, weights_, (expert * o_.k + k) * o_.n + column));
      }
      return total;
    }

    op::routed_gemm o_;
    const tensor& src_;
    const tensor& scales_;
    const tensor& weights_;
    std::vector<std::int64_t> row_of_;     ///< each choice
    std::vector<std::int64_t> choice_of_;  ///< the inverse
    std::vector<std::int64_t> ends_;       ///< of the rows of each expert
  };
};

static_assert(implements<backend, op::routed_gemm>);

}  // namespace layerbench::reference
