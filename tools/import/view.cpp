// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "view.hpp"

#include <algorithm>

#include <layerbench/op/transpose.hpp>

namespace layerbench::tool::importer {
namespace {

bool is_in_order(const axes& of) {
  const std::vector<atom> all = flat(of);
  return std::ranges::none_of(all, &atom::repeats) && std::ranges::is_sorted(all, {}, &atom::key);
}

/// The part behind (1) or before (0) in memory of a part that is split.
std::vector<int> half(const std::vector<int>& key, int side) {
  std::vector<int> result = key;
  if (!key.empty()) result.push_back(side);
  return result;
}

}  // namespace

axes axes_of(const dims& extents) {
  axes result(extents.size());
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] != 1) result[i].push_back({extents[i], {static_cast<int>(i)}});
  }
  return result;
}

std::vector<atom> flat(const axes& of) {
  std::vector<atom> all;
  for (const std::vector<atom>& axis : of) all.insert(all.end(), axis.begin(), axis.end());
  return all;
}

std::optional<axes> axes_seen_as(const axes& of, const dims& extents) {
  std::vector<atom> waiting = flat(of);
  std::ranges::reverse(waiting);
  axes result;
  for (std::int64_t left : extents) {
    std::vector<atom>& axis = result.emplace_back();
    while (left != 1) {
      if (waiting.empty()) return std::nullopt;
      const atom part = waiting.back();
      waiting.pop_back();
      if (left % part.size == 0) {
        axis.push_back(part);
        left /= part.size;
      } else if (part.size % left == 0) {
        waiting.push_back({part.size / left, half(part.key, 1)});
        axis.push_back({left, half(part.key, 0)});
        left = 1;
      } else {
        return std::nullopt;
      }
    }
  }
  return waiting.empty() ? std::optional(result) : std::nullopt;
}

std::vector<atom> in_memory(const axes& of) {
  std::vector<atom> all = flat(of);
  if (std::ranges::any_of(all, &atom::repeats)) throw unknown("of an expanded tensor");
  std::ranges::sort(all, {}, &atom::key);
  return all;
}

memory_order order_of(const axes& of) {
  const std::vector<atom> all = in_memory(of);
  memory_order result;
  for (const atom& part : all) result.sizes.push_back(part.size);
  for (const atom& part : flat(of)) {
    result.order.push_back(std::ranges::find(all, part) - all.begin());
  }
  return result;
}

axes view::all_axes() const {
  if (order) return *order;
  if (steps_first) return *steps_first;
  if (from == source_kind::layer && !op::transpose::are_parts(written, extents)) {
    throw unknown("of a tensor in another shape");
  }
  return axes_of(extents);
}

view view::laid_out(dims to, const axes& as) const {
  view result = *this;
  result.extents = std::move(to);
  result.order = is_in_order(as) ? std::nullopt : std::optional(as);
  result.steps_first.reset();
  return result;
}

view view::laid_out(dims to, const view& like) const {
  view result = laid_out(std::move(to), like.all_axes());
  result.turned_in = like.turned_in;
  return result;
}

view view::ordered_for(const dims& to) const {
  const bool has_rows = !to.empty() && to.size() < 4 && to.back() == extents.back();
  return steps_first && !has_rows ? laid_out(extents, *steps_first) : *this;
}

view view::viewed(const dims& to) const {
  view result = ordered_for(to);
  if (to == extents) return result;
  result.steps_first.reset();
  result.extents = to;
  if (!result.order) return result;
  const auto seen = axes_seen_as(*result.order, to);
  if (!seen) throw unknown("of a tensor in another shape");
  return result.laid_out(to, *seen);
}

view view::permuted(const std::vector<std::size_t>& axis_order) const {
  const axes all = all_axes();
  dims to;
  axes moved;
  for (const std::size_t axis : axis_order) {
    to.push_back(extents[axis]);
    moved.push_back(all[axis]);
  }
  view result = laid_out(std::move(to), moved);
  result.turned_in.reset();
  return result;
}

view view::memory() const {
  view result = *this;
  result.extents = written;
  result.order.reset();
  result.steps_first.reset();
  result.transposed = false;
  return result;
}

bool view::has_rows() const {
  if (!order) return true;
  const std::vector<atom> all = flat(*order);
  if (std::ranges::any_of(all, &atom::repeats) || order->empty() || order->back().empty())
    return false;
  const std::vector<atom> lying = in_memory(*order);
  return std::equal(order->back().rbegin(), order->back().rend(), lying.rbegin());
}

view view::without_repeats() const {
  if (!order) return *this;
  axes kept = *order;
  dims to;
  for (std::vector<atom>& axis : kept) {
    std::erase_if(axis, &atom::repeats);
    std::int64_t extent = 1;
    for (const atom& part : axis) extent *= part.size;
    to.push_back(extent);
  }
  return laid_out(std::move(to), kept);
}

}  // namespace layerbench::tool::importer
