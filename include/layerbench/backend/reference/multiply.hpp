// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/multiply.hpp>

namespace layerbench::reference {

template <>
struct formula<op::multiply> {
  [[nodiscard]] static sum at(const op::multiply& o, op::pass pass, tensors in, std::size_t output,
                              std::int64_t index) {
    constexpr std::size_t src = 0;
    constexpr std::size_t src1 = 1;
    constexpr std::size_t diff_dst = 2;
    constexpr std::size_t diff_src1 = 4;
    sum total;
    if (output != diff_src1) {
      const tensor& from = in[pass == op::pass::bwd ? diff_dst : src];
      total.add(product(from, index, in[src1], factor_of(o, index)));
      return total;
    }
    // All elements that element `index` of src1 is a factor of.
    const std::int64_t first = first_of(o, index);
    dims at(o.dims.size(), 0);
    while (true) {
      const std::int64_t place = first + place_of(o, at);
      total.add(product(in[src], place, in[diff_dst], place));
      std::size_t axis = o.dims.size();
      while (axis > 0 && (!o.is_broadcast(axis - 1) || ++at[axis - 1] == o.dims[axis - 1])) {
        at[--axis] = 0;
      }
      if (axis == 0) return total;
    }
  }

 private:
  /// The element of src1 that element `index` of src is multiplied by.
  static std::int64_t factor_of(const op::multiply& o, std::int64_t index) {
    std::int64_t place = 0;
    std::int64_t step = 1;
    for (std::size_t axis = o.dims.size(); axis-- > 0; index /= o.dims[axis]) {
      if (!o.is_broadcast(axis)) place += index % o.dims[axis] * step;
      step *= o.factors()[axis];
    }
    return place;
  }
  /// The first element of src that element `index` of src1 is a factor of.
  static std::int64_t first_of(const op::multiply& o, std::int64_t index) {
    std::int64_t place = 0;
    std::int64_t step = 1;
    for (std::size_t axis = o.dims.size(); axis-- > 0; index /= o.factors()[axis]) {
      place += index % o.factors()[axis] * step;
      step *= o.dims[axis];
    }
    return place;
  }
  static std::int64_t place_of(const op::multiply& o, const dims& at) {
    std::int64_t place = 0;
    for (std::size_t axis = 0; axis < at.size(); ++axis) place = place * o.dims[axis] + at[axis];
    return place;
  }
};

static_assert(implements<backend, op::multiply>);

}  // namespace layerbench::reference
