// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// dst is src with its axes in another order: torch's src.view(view).permute(order) and a copy of
/// it, of extents `reshape`. A channel shuffle splits the channels of an image by `view`, exchanges
/// both parts and joins them by `reshape`; so do the heads of attention. All extents are logical:
/// the same elements are moved in every memory order. The gradient is the inverse transpose.
struct transpose {
  static constexpr std::string_view name = "transpose";

  layerbench::dims dims;
  layerbench::dims view;  ///< empty: dims
  margins order;
  layerbench::dims reshape;  ///< empty: those of view, in the order

  static constexpr auto fields = std::tuple{
      required("dims", &transpose::dims, "extents of the source"),
      optional("view", &transpose::view, "the source's axes, split or joined [dims]"),
      required("order", &transpose::order, "for each axis of the result: its number in view"),
      optional("reshape", &transpose::reshape,
               "extents of the destination [those of view, in the order]"),
  };

  void validate() const {
    if (!are_parts(dims, viewed())) {
      throw invalid_field("view", "does not split or join axes of dims");
    }
    layerbench::dims sorted = order.sizes;
    std::ranges::sort(sorted);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      if (sorted[i] != static_cast<std::int64_t>(i)) {
        throw invalid_field("order", "does not have each axis once, counted from 0");
      }
    }
    if (sorted.size() != viewed().size()) {
      throw invalid_field("order", "does not have as many axes as the source");
    }
    if (!are_parts(permuted(), result())) {
      throw invalid_field("reshape", "does not split or join axes of the result");
    }
  }

  static std::vector<pass> passes() { return {pass::fwd, pass::bwd}; }

  /// Whether a view of a tensor of extents `a` can have extents `b`: axes are split or joined.
  [[nodiscard]] static bool are_parts(const layerbench::dims& a, const layerbench::dims& b) {
    const std::int64_t count = elements(a);
    return elements(b) == count && elements(common_parts(a, b)) == count;
  }

  [[nodiscard]] const layerbench::dims& viewed() const { return view.empty() ? dims : view; }

  /// Extents of the view in the order.
  [[nodiscard]] layerbench::dims permuted() const {
    layerbench::dims extents;
    for (const std::int64_t axis : order.sizes) {
      extents.push_back(viewed()[static_cast<std::size_t>(axis)]);
    }
    return extents;
  }

  /// Extents of dst.
  [[nodiscard]] layerbench::dims result() const { return reshape.empty() ? permuted() : reshape; }

  /// The transpose that undoes this one.
  [[nodiscard]] transpose inverse() const {
    transpose back{result(), permuted(), {layerbench::dims(order.sizes.size())}, dims};
    for (std::size_t i = 0; i < order.sizes.size(); ++i) {
      back.order.sizes[static_cast<std::size_t>(order.sizes[i])] = static_cast<std::int64_t>(i);
    }
    return back;
  }

  /// src of extents dims, dst of extents result(); gradients alike.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    if (p == pass::bwd) {
      return {{"diff_dst", result(), role::source, type},
              {"diff_src", dims, role::destination, type}};
    }
    return {{"src", dims, role::source, type}, {"dst", result(), role::destination, type}};
  }

  /// A copy computes nothing.
  [[nodiscard]] op::work work(pass /*p*/) const {
    static_cast<void>(elements(dims));
    return {0, 0, 0};
  }

  /// A loop of the copy: its extent, and the steps along it in both tensors.
  struct loop {
    std::int64_t extent;
    std::int64_t src_step;
    std::int64_t dst_step;
  };

  /// The loops that copy src to dst, for tensors with these strides: as few as possible, in the
  /// order of dst's memory, slowest first.
  [[nodiscard]] std::vector<loop> loops(const layerbench::dims& src_strides,
                                        const layerbench::dims& dst_strides) const {
    const layerbench::dims split = common_parts(dims, viewed());
    const layerbench::dims split_steps = steps_of(split, dims, src_strides);
    layerbench::dims moved;
    layerbench::dims moved_steps;
    for (const std::int64_t axis : order.sizes) {
      for (const std::size_t i : parts_of(split, static_cast<std::size_t>(axis))) {
        moved.push_back(split[i]);
        moved_steps.push_back(split_steps[i]);
      }
    }
    const layerbench::dims extents = common_parts(moved, result());
    const layerbench::dims from = steps_of(extents, moved, moved_steps);
    const layerbench::dims to = steps_of(extents, result(), dst_strides);
    std::vector<loop> all;
    for (std::size_t i = 0; i < extents.size(); ++i) all.push_back({extents[i], from[i], to[i]});
    std::ranges::stable_sort(all, std::ranges::greater{}, &loop::dst_step);
    return joined(all);
  }

 private:
  /// The coarsest extents of which the axes of both tensors are products of neighbours, without
  /// those of 1. Where there are none, the product of the result differs from that of `a`.
  [[nodiscard]] static layerbench::dims common_parts(const layerbench::dims& a,
                                                     const layerbench::dims& b) {
    layerbench::dims parts;
    std::int64_t left_a = 1;
    std::int64_t left_b = 1;
    for (std::size_t i = 0, j = 0; i < a.size() || j < b.size() || left_a * left_b > 1;) {
      while (left_a == 1 && i < a.size()) left_a = a[i++];
      while (left_b == 1 && j < b.size()) left_b = b[j++];
      const std::int64_t part = std::min(left_a, left_b);
      if (left_a % part != 0 || left_b % part != 0 || (part == 1 && left_a != left_b)) break;
      if (part > 1) parts.push_back(part);
      left_a /= part;
      left_b /= part;
    }
    return parts;
  }

  /// The steps along `parts` of a tensor.
  [[nodiscard]] static layerbench::dims steps_of(const layerbench::dims& parts,
                                                 const layerbench::dims& extents,
                                                 const layerbench::dims& strides) {
    layerbench::dims steps(parts.size());
    std::size_t axis = extents.size();
    std::int64_t left = 1;
    std::int64_t step = 1;
    for (std::size_t i = parts.size(); i-- > 0;) {
      while (left == 1) {
        left = extents[--axis];
        step = strides[axis];
      }
      steps[i] = step;
      step *= parts[i];
      left /= parts[i];
    }
    return steps;
  }

  /// The numbers of the parts of which an axis of the view is the product.
  [[nodiscard]] std::vector<std::size_t> parts_of(const layerbench::dims& parts,
                                                  std::size_t of_axis) const {
    std::vector<std::size_t> found;
    std::size_t part = 0;
    for (std::size_t axis = 0; axis <= of_axis; ++axis) {
      found.clear();
      for (std::int64_t left = viewed()[axis]; left > 1; left /= parts[part++]) {
        found.push_back(part);
      }
    }
    return found;
  }

  /// Loops that go on where the next ends, as one.
  [[nodiscard]] static std::vector<loop> joined(const std::vector<loop>& all) {
    std::vector<loop> few;
    for (const loop& next : all) {
      if (!few.empty() && few.back().src_step == next.extent * next.src_step &&
          few.back().dst_step == next.extent * next.dst_step) {
        few.back() = {few.back().extent * next.extent, next.src_step, next.dst_step};
      } else {
        few.push_back(next);
      }
    }
    if (few.empty()) few.push_back({1, 1, 1});
    return few;
  }
};

}  // namespace layerbench::op
