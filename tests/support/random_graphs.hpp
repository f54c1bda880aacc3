// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/op/list.hpp>
#include <layerbench/shape/record_json.hpp>

#include "random_ops.hpp"

/// Random small models with forks, branches that nobody reads, and sums.
namespace layerbench::testing {

/// Draws the layers of a model that sorts images into classes.
class graph_dice {
 public:
  static constexpr std::int64_t classes = 3;

  explicit graph_dice(std::uint64_t seed) : d_(seed) {
    n_ = d_.between(3, 5);
    nodes_.push_back({"", {n_, d_.between(1, 5), d_.between(4, 9), d_.between(4, 9)}});
    for (std::int64_t i = d_.between(3, 9); i > 0; --i) add_layer();
    if (d_.chance()) pool_whole();
    add_head();
  }

  /// As a shape file.
  [[nodiscard]] std::string text() const {
    return json::value{{"name", "random"}, {"layers", layers_}}.dump();
  }
  /// Whether a layer reads an image as a row of values, the order of which depends on the layout.
  [[nodiscard]] bool flattens() const { return flattens_; }

 private:
  struct node {
    std::string name;  ///< none: the model's input
    dims extents;
  };

  template <class Op>
  void add(const Op& o, const std::vector<node>& from, const dims& result) {
    const op::any created(o);
    json::value after = json::value::array();
    for (const node& item : from) {
      if (!item.name.empty()) after.push_back(item.name);
      const bool image = item.extents.size() == 4 && item.extents[1] > 1;
      const bool flat =
          created.operands(op::pass::fwd_training, dtype::f32).front().extents.size() == 2;
      flattens_ = flattens_ || (image && flat && item.extents[2] * item.extents[3] > 1);
    }
    const std::string name = fmt::format("{}{}", Op::name, layers_.size());
    layers_.push_back({{"name", name},
                       {"op", Op::name},
                       {"after", after},
                       {"shape", json::write_fields(created.fields())}});
    nodes_.push_back({name, result});
  }

  /// The newest one mostly, else any: forks and ends.
  node source() {
    const auto last = static_cast<std::int64_t>(nodes_.size()) - 1;
    return nodes_[static_cast<std::size_t>(d_.chance(3) ? d_.between(0, last) : last)];
  }

  void add_layer() {
    const node from = source();
    switch (d_.between(1, 13)) {
      case 1: return add_conv(from);
      case 2: return add_pool(from);
      case 3: return add_batchnorm(from);
      case 4: return add_sum(from);
      case 5: return from.name.empty() ? add_conv(from) : add_activation(from);
      case 6: return add_residual(from);
      case 7: return add_concat(from);
      case 8: return add_multiply(from);
      case 9: return add_pad(from);
      case 10: return add_deconv(from);
      case 11: return add_slice(from);
      case 12: return add_transpose(from);
      default: return from.name.empty() ? add_conv(from) : add_dropout(from);
    }
  }

  void add_conv(const node& from) {
    const dims& x = from.extents;
    op::conv o{.n = x[0], .c = x[1], .h = x[2], .w = x[3]};
    o.k = d_.chance() ? d_.between(1, 20) : 16 * d_.between(1, 2);
    o.r = std::min(d_.between(1, 3), o.h);
    o.s = std::min(d_.between(1, 3), o.w);
    if (d_.chance(3)) o.stride = {d_.between(1, 2), d_.between(1, 2)};
    if (d_.chance()) o.pad = {o.r / 2, o.r / 2, o.s / 2, o.s / 2};
    o.bias = d_.chance();
    if (d_.chance(4)) o.groups = std::gcd(o.c, o.k);
    add(o, {from}, {o.n, o.k, o.p(), o.q()});
  }

  void add_pool(const node& from) {
    const dims& x = from.extents;
    op::pool o{.kind = d_.pick({op::pool_kind::max, op::pool_kind::average}),
               .n = x[0],
               .c = x[1],
               .h = x[2],
               .w = x[3]};
    o.r = std::min(d_.between(1, 3), o.h);
    o.s = std::min(d_.between(1, 3), o.w);
    o.stride = {d_.between(1, 2), d_.between(1, 2)};
    add(o, {from}, {o.n, o.c, o.p(), o.q()});
  }

  /// Of few elements a channel a variance could be nearly nothing, and its inverse anything.
  void add_batchnorm(const node& from) {
    const dims& x = from.extents;
    if (x[0] * x[2] * x[3] < 20) return;
    op::batchnorm o{x[0], x[1], x[2], x[3]};
    o.scale = !d_.chance(4);
    o.shift = !d_.chance(4);
    add(o, {from}, x);
  }

  void add_activation(const node& from) {
    const auto kinds = static_cast<std::int64_t>(enum_names<op::activation_kind>.size());
    const auto kind = d_.chance() ? op::activation_kind::relu
                                  : static_cast<op::activation_kind>(d_.between(0, kinds - 1));
    add(op::activation{kind, from.extents}, {from}, from.extents);
  }

  /// Of any two alike; maybe of one with itself.
  void add_sum(const node& from) {
    std::vector<node> alike;
    for (const node& item : nodes_) {
      if (item.extents == from.extents && !item.name.empty()) alike.push_back(item);
    }
    if (alike.empty()) return;
    const auto last = static_cast<std::int64_t>(alike.size()) - 1;
    const auto any = [&] { return alike[static_cast<std::size_t>(d_.between(0, last))]; };
    add(op::add{from.extents}, {any(), any()}, from.extents);
  }

  /// A layer of the same extents beside what it reads, and their sum.
  void add_residual(const node& from) {
    if (from.name.empty()) return;
    const dims& x = from.extents;
    op::conv o{.n = x[0], .c = x[1], .h = x[2], .w = x[3], .k = x[1], .r = 1, .s = 1};
    add(o, {from}, x);
    if (d_.chance()) add_activation(nodes_.back());
    const node beside = nodes_.back();
    add(op::add{x}, d_.chance() ? std::vector{beside, from} : std::vector{from, beside}, x);
  }

  /// Of any that differ in their channels alone; maybe of one with itself.
  void add_concat(const node& from) {
    if (from.name.empty()) return;
    const dims& x = from.extents;
    std::vector<node> joined{from};
    for (const node& item : nodes_) {
      const dims& y = item.extents;
      const bool fits = !item.name.empty() && y.size() == 4 && y[2] == x[2] && y[3] == x[3];
      if (fits && d_.chance() && joined.size() < 4) joined.push_back(item);
    }
    op::concat o{.dims = {x[0], 0, x[2], x[3]}, .sizes = {}};
    for (const node& item : joined) {
      o.sizes.push_back(item.extents[1]);
      o.dims[1] += item.extents[1];
    }
    add(o, joined, o.dims);
  }

  /// With itself, or with what squeeze-and-excitation makes of it.
  void add_multiply(const node& from) {
    if (from.name.empty()) return;
    const dims& x = from.extents;
    if (d_.chance(4)) return add(op::multiply{x, {}}, {from, from}, x);
    add_mean(from);
    if (d_.chance()) {
      add(op::activation{op::activation_kind::sigmoid, {x[0], x[1], 1, 1}}, {nodes_.back()},
          {x[0], x[1], 1, 1});
    }
    add(op::multiply{x, {x[0], x[1], 1, 1}}, {from, nodes_.back()}, x);
  }

  void add_pad(const node& from) {
    const dims& x = from.extents;
    op::pad o{x, {{0, d_.between(0, 3), 0, 0}}, {{0, d_.between(0, 3), 0, d_.between(0, 1)}}};
    add(o, {from}, o.padded());
  }

  void add_slice(const node& from) {
    op::slice o{.dims = from.extents};
    o.axis.value = d_.chance(4) ? d_.between(2, 3) : 1;
    o.begin.value = d_.between(0, o.extent() - 1);
    o.size = d_.between(1, o.extent() - o.begin.value);
    add(o, {from}, o.cut());
  }

  /// Of height and width, or a channel shuffle.
  void add_transpose(const node& from) {
    const dims& x = from.extents;
    if (d_.chance()) {
      const op::transpose o{x, {}, {{0, 1, 3, 2}}, {}};
      return add(o, {from}, o.result());
    }
    const std::int64_t groups = std::gcd(x[1], d_.between(2, 4));
    add(op::transpose{x, {x[0], groups, x[1] / groups, x[2], x[3]}, {{0, 2, 1, 3, 4}}, x}, {from},
        x);
  }

  void add_deconv(const node& from) {
    const dims& x = from.extents;
    if (x[2] * x[3] > 50) return;
    op::deconv o{.n = x[0], .c = x[1], .h = x[2], .w = x[3]};
    o.k = d_.between(1, 20);
    o.r = d_.between(1, 3);
    o.s = d_.between(1, 3);
    o.stride = {d_.between(1, 2), d_.between(1, 2)};
    o.bias = d_.chance();
    add(o, {from}, {o.n, o.k, o.p(), o.q()});
  }

  void add_dropout(const node& from) {
    const dims& x = from.extents;
    if (x[2] * x[3] > 1) return add(op::dropout{0.25, x}, {from}, x);
    add(op::dropout{0.25, {x[0], x[1]}}, {from}, x);
  }

  void pool_whole() { add_mean(nodes_.back()); }
  void add_mean(const node& from) {
    const dims& x = from.extents;
    const auto kind = op::pool_kind::average;
    const op::pool o{
        .kind = kind, .n = x[0], .c = x[1], .h = x[2], .w = x[3], .r = x[2], .s = x[3]};
    add(o, {from}, {x[0], x[1], 1, 1});
  }

  void add_head() {
    if (d_.chance()) add_product(d_.between(2, 20));
    if (nodes_.back().extents.size() == 2) {
      if (d_.chance()) add_activation(nodes_.back());
      if (d_.chance())
        add(op::dropout{0.5, nodes_.back().extents}, {nodes_.back()}, nodes_.back().extents);
    }
    add_product(classes);
    if (d_.chance()) {
      add(op::softmax{nodes_.back().extents}, {nodes_.back()}, nodes_.back().extents);
    }
  }

  void add_product(std::int64_t outputs) {
    const node from = nodes_.back();
    op::gemm o{.m = n_, .n = outputs, .k = elements(from.extents) / n_};
    o.b_transposed = d_.chance();
    o.bias = d_.chance();
    add(o, {from}, {n_, outputs});
  }

  dice d_;
  std::int64_t n_ = 1;
  std::vector<node> nodes_;
  json::value layers_ = json::value::array();
  bool flattens_ = false;
};

}  // namespace layerbench::testing
