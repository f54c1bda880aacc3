// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <utility>

#include <layerbench/op/list.hpp>

/// Random small ops, the same on every machine: what property tests draw their cases from.
namespace layerbench::testing {

class dice {
 public:
  explicit dice(std::uint64_t seed) : engine_(seed) {}

  /// Uniform in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    const auto sides = static_cast<std::uint64_t>(high - low + 1);
    return low + static_cast<std::int64_t>(engine_() % sides);
  }
  bool chance(std::int64_t one_in = 2) { return between(1, one_in) == 1; }
  double real(double low, double high) {
    return low + (high - low) * static_cast<double>(engine_() >> 11U) * 0x1p-53;
  }
  template <class T>
  T pick(std::initializer_list<T> of) {
    return *(of.begin() + between(0, static_cast<std::int64_t>(of.size()) - 1));
  }

 private:
  std::mt19937_64 engine_;
};

namespace detail {

/// Channel counts around the libraries' vector widths, and odd ones.
inline std::int64_t channels(dice& d) {
  return d.chance() ? d.between(1, 20) : 16 * d.between(1, 3);
}

inline dims tensor(dice& d, std::int64_t least_rank) {
  dims extents;
  for (std::int64_t rank = d.between(least_rank, 4); rank > 0; --rank) {
    extents.push_back(d.between(1, 9));
  }
  if (extents.size() == 4 && d.chance()) extents[1] = channels(d);
  return extents;
}

inline pads four_pads(dice& d, std::int64_t below_height, std::int64_t below_width) {
  const auto vertical = [&] { return d.between(0, below_height - 1); };
  const auto horizontal = [&] { return d.between(0, below_width - 1); };
  return {vertical(), vertical(), horizontal(), horizontal()};
}

inline op::conv roll(dice& d, std::type_identity<op::conv> /*tag*/) {
  op::conv o;
  o.groups = d.chance() ? 1 : d.between(2, 18);
  const bool depthwise = o.groups > 1 && d.chance();
  o.c = depthwise ? o.groups : o.groups > 1 ? o.groups * d.between(1, 5) : channels(d);
  o.k = depthwise ? o.groups : o.groups > 1 ? o.groups * d.between(1, 5) : channels(d);
  o.n = d.between(1, 3);
  o.h = d.between(1, 12);
  o.w = d.between(1, 12);
  o.r = d.between(1, 5);
  o.s = d.chance(3) ? d.between(1, 5) : o.r;
  o.stride = {d.between(1, 3), d.between(1, 3)};
  if (d.chance()) o.pad = four_pads(d, 4, 4);
  if (d.chance(3)) o.dilation = {d.between(1, 3), d.between(1, 3)};
  o.bias = d.chance();
  return o;
}

inline op::deconv roll(dice& d, std::type_identity<op::deconv> /*tag*/) {
  op::deconv o;
  o.groups = d.chance(3) ? d.between(2, 9) : 1;
  const auto some = [&] { return o.groups > 1 ? o.groups * d.between(1, 3) : channels(d); };
  o.c = some();
  o.k = some();
  o.n = d.between(1, 3);
  o.h = d.between(1, 7);
  o.w = d.between(1, 7);
  o.r = d.between(1, 5);
  o.s = d.chance(3) ? d.between(1, 5) : o.r;
  o.stride = {d.between(1, 3), d.between(1, 3)};
  if (d.chance()) o.pad = four_pads(d, o.r, o.s);
  if (d.chance(3)) {
    const pair more{d.between(0, o.stride.v - 1), d.between(0, o.stride.h - 1)};
    o.output_pad = {more.v, more.v, more.h, more.h};
  }
  if (d.chance(3)) o.dilation = {d.between(1, 3), d.between(1, 3)};
  o.bias = d.chance();
  return o;
}

inline op::embedding roll(dice& d, std::type_identity<op::embedding> /*tag*/) {
  if (d.chance(4)) return {d.between(64, 400), d.between(1, 3), d.between(1, 70)};
  return {d.between(1, 60), d.between(1, 40), d.between(1, 70)};
}

inline op::gemm roll(dice& d, std::type_identity<op::gemm> /*tag*/) {
  op::gemm o;
  o.m = d.between(1, 40);
  o.n = d.between(1, 40);
  o.k = d.between(1, 70);
  o.batch = d.chance() ? 1 : d.between(2, 4);
  o.a_transposed = d.chance();
  o.b_transposed = d.chance();
  o.bias = d.chance();
  return o;
}

inline op::pool roll(dice& d, std::type_identity<op::pool> /*tag*/) {
  op::pool o;
  o.kind = d.pick({op::pool_kind::max, op::pool_kind::average});
  o.n = d.between(1, 3);
  o.c = channels(d);
  o.h = d.between(1, 14);
  o.w = d.between(1, 14);
  o.r = d.between(1, 5);
  o.s = d.chance(3) ? d.between(1, 5) : o.r;
  o.stride = {d.between(1, 4), d.between(1, 4)};
  if (d.chance()) o.pad = four_pads(d, o.r, o.s);
  o.ceil = d.chance();
  o.count_padding = o.kind == op::pool_kind::max || d.chance();
  return o;
}

inline op::batchnorm roll(dice& d, std::type_identity<op::batchnorm> /*tag*/) {
  op::batchnorm o{d.between(1, 3), channels(d), d.between(1, 9), d.between(1, 9),
                  d.pick({1e-5, 1e-3, 0.125})};
  o.scale = !d.chance(3);
  o.shift = !d.chance(3);
  return o;
}

inline op::resample roll(dice& d, std::type_identity<op::resample> /*tag*/) {
  op::resample o{
      .n = d.between(1, 3), .c = channels(d), .h = d.between(1, 9), .w = d.between(1, 9)};
  if (d.chance()) o.kind = op::resample_kind::nearest;
  const bool copies = o.kind == op::resample_kind::nearest;
  o.p = copies ? o.h * d.between(1, 3) : d.between(1, 20);
  o.q = copies ? o.w * d.between(1, 3) : d.between(1, 20);
  return o;
}

inline op::lrn roll(dice& d, std::type_identity<op::lrn> /*tag*/) {
  return {.n = d.between(1, 3),
          .c = channels(d),
          .h = d.between(1, 9),
          .w = d.between(1, 9),
          .size = 2 * d.between(0, 4) + 1,
          .alpha = d.pick({1e-4, 0.125, 1.0, 4.0}),
          .beta = d.pick({0.75, 0.5, 1.0}),
          .k = d.pick({1.0, 2.0, 0.5})};
}

inline op::groupnorm roll(dice& d, std::type_identity<op::groupnorm> /*tag*/) {
  const std::int64_t groups = d.between(1, 8);
  return {d.between(1, 3), groups * d.between(1, 12), d.between(1, 5), d.between(1, 5), groups};
}

inline op::layernorm roll(dice& d, std::type_identity<op::layernorm> /*tag*/) {
  op::layernorm o{.dims = tensor(d, 2)};
  if (d.chance()) o.dims.back() = channels(d);
  if (d.chance()) o.kind = op::layernorm_kind::rms;
  o.epsilon = d.pick({1e-5, 1e-3, 0.125});
  o.scale = !d.chance(3);
  o.bias = !d.chance(3);
  return o;
}

inline op::rnn roll(dice& d, std::type_identity<op::rnn> /*tag*/) {
  op::rnn o{.kind = d.pick({op::rnn_kind::vanilla, op::rnn_kind::lstm, op::rnn_kind::gru}),
            .batch = d.between(1, 5),
            .steps = d.between(1, 5),
            .inputs = channels(d),
            .hidden = channels(d),
            .bidirectional = d.chance(3),
            .biases = d.between(1, 2)};
  if (d.chance(4)) {
    o.layers = d.between(2, 3);
    o.inputs = o.hidden * o.directions();
  }
  return o;
}

inline op::attention roll(dice& d, std::type_identity<op::attention> /*tag*/) {
  op::attention o{.n = d.between(1, 3), .q = d.between(1, 20), .d = channels(d)};
  const std::int64_t groups = d.between(1, 3);
  o.heads = groups * (d.chance() ? 1 : d.between(1, 4));
  if (d.chance() || o.heads != groups) o.kv_heads = groups;
  if (d.chance(3)) o.q = 1;
  o.k = d.chance() ? o.q : o.q + d.between(0, 30);
  o.causal = d.chance();
  if (!o.causal && d.chance()) o.k = d.between(1, 40);
  return o;
}

inline op::append roll(dice& d, std::type_identity<op::append> /*tag*/) {
  return {d.between(1, 4), d.chance() ? 1 : d.between(2, 9), {d.between(1, 40)}, channels(d)};
}

inline op::rotary roll(dice& d, std::type_identity<op::rotary> /*tag*/) {
  const std::int64_t tokens = d.chance() ? 1 : d.between(2, 12);
  return {d.between(1, 4), tokens, d.between(1, 9), 2 * d.between(1, 40)};
}

inline op::topk roll(dice& d, std::type_identity<op::topk> /*tag*/) {
  return {d.between(1, 9), d.between(1, 40), d.between(1, 9), d.chance()};
}

inline op::routed_gemm roll(dice& d, std::type_identity<op::routed_gemm> /*tag*/) {
  op::routed_gemm o{
      .tokens = d.between(1, 12), .experts = d.between(1, 9), .top_k = d.between(1, 4)};
  o.n = channels(d);
  o.k = d.between(1, 70);
  o.gather = d.chance();
  o.scatter = d.chance();
  o.load = d.pick({op::expert_load::balanced, op::expert_load::hot});
  return o;
}

inline op::activation roll(dice& d, std::type_identity<op::activation> /*tag*/) {
  const auto kinds = static_cast<std::int64_t>(enum_names<op::activation_kind>.size());
  // Half of them relu, the one kind that every data type has.
  return {d.chance() ? op::activation_kind::relu
                     : static_cast<op::activation_kind>(d.between(0, kinds - 1)),
          tensor(d, 1)};
}

inline op::add roll(dice& d, std::type_identity<op::add> /*tag*/) {
  return {tensor(d, 1), d.chance(3), d.chance(4)};
}

inline op::concat roll(dice& d, std::type_identity<op::concat> /*tag*/) {
  op::concat o{.dims = tensor(d, 2), .sizes = {}};
  o.axis = d.chance() ? 1 : d.between(1, static_cast<std::int64_t>(o.dims.size()) - 1);
  for (std::int64_t i = d.between(1, 6); i > 0; --i) {
    o.sizes.push_back(d.chance() ? d.between(1, 5) : 16 * d.between(1, 2));
  }
  if (d.chance(20)) o = {{2, 0, 2}, 1, dims(64, 1)};
  o.dims[static_cast<std::size_t>(o.axis)] =
      std::accumulate(o.sizes.begin(), o.sizes.end(), std::int64_t{0});
  return o;
}

inline op::multiply roll(dice& d, std::type_identity<op::multiply> /*tag*/) {
  op::multiply o{.dims = tensor(d, 1), .dims1 = {}};
  o.learned = d.chance(4);
  if (d.chance(3)) return o;
  o.dims1 = o.dims;
  if (o.dims.size() == 4 && d.chance()) {  // one factor per image and channel
    o.dims1[2] = o.dims1[3] = 1;
    return o;
  }
  for (std::int64_t& extent : o.dims1) extent = d.chance() ? 1 : extent;
  return o;
}

inline op::pad roll(dice& d, std::type_identity<op::pad> /*tag*/) {
  op::pad o{.dims = tensor(d, 1), .before = {}, .after = {}};
  const bool channels_alone = o.dims.size() == 4 && d.chance();
  for (std::size_t axis = 0; axis < o.dims.size(); ++axis) {
    const bool none = channels_alone && axis != 1;
    o.before.sizes.push_back(none || d.chance() ? 0 : d.between(0, 8));
    o.after.sizes.push_back(none || d.chance() ? 0 : d.between(0, 8));
  }
  return o;
}

inline op::slice roll(dice& d, std::type_identity<op::slice> /*tag*/) {
  op::slice o{.dims = tensor(d, 1)};
  o.axis.value = d.between(0, static_cast<std::int64_t>(o.dims.size()) - 1);
  if (o.dims.size() > 1 && d.chance()) o.axis.value = 1;
  o.begin.value = d.chance(3) ? 0 : d.between(0, o.extent() - 1);
  o.size = d.between(1, o.extent() - o.begin.value);
  if (o.dims.size() == 4 && d.chance()) {  // equal parts of the channels
    const std::int64_t part = d.chance() ? 16 : d.between(1, 9);
    o = {{o.dims[0], part * d.between(1, 4), o.dims[2], o.dims[3]}, {1}, {0}, part};
    o.begin.value = part * d.between(0, o.dims[1] / part - 1);
  }
  return o;
}

/// At most 6 loops, in every memory order.
inline op::transpose roll(dice& d, std::type_identity<op::transpose> /*tag*/) {
  op::transpose o{.dims = tensor(d, 1), .view = {}, .order = {}, .reshape = {}};
  const auto split = [&](dims& extents, std::size_t axis) {  // as heads and groups are
    const std::int64_t parts = d.between(1, 4);
    extents[axis] *= parts;
    dims more = extents;
    more[axis] /= parts;
    more.insert(more.begin() + static_cast<std::ptrdiff_t>(axis), parts);
    return more;
  };
  const auto any_axis = [&](const dims& extents) {
    return static_cast<std::size_t>(d.between(0, static_cast<std::int64_t>(extents.size()) - 1));
  };
  if (d.chance()) o.view = split(o.dims, o.dims.size() == 4 && d.chance() ? 1 : any_axis(o.dims));
  for (std::size_t i = 0; i < o.viewed().size(); ++i) {
    o.order.sizes.push_back(static_cast<std::int64_t>(i));
  }
  for (std::size_t i = o.order.sizes.size(); i-- > 1;) {
    const auto other = static_cast<std::size_t>(d.between(0, static_cast<std::int64_t>(i)));
    std::swap(o.order.sizes[i], o.order.sizes[other]);
  }
  if (!o.view.empty() && d.chance()) {  // a channel shuffle, of rank 4 as its source
    o.reshape = o.permuted();
    const std::size_t at = o.reshape.size() > 2 ? 1 : 0;
    o.reshape[at] *= o.reshape[at + 1];
    o.reshape.erase(o.reshape.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  return o;
}

inline op::softmax roll(dice& d, std::type_identity<op::softmax> /*tag*/) {
  op::softmax o{tensor(d, 2)};
  o.axis = d.between(1, static_cast<std::int64_t>(o.dims.size()) - 1);
  return o;
}

inline op::reorder roll(dice& d, std::type_identity<op::reorder> /*tag*/) {
  const auto order = [&] {
    return d.pick<std::string>({"abcd", "acdb", "aBcd16b", "cabd", "badc", "dcba"});
  };
  return {{d.between(1, 3), channels(d), d.between(1, 9), d.between(1, 9)}, order(), order()};
}

inline position zero_point(dice& d) { return {d.chance() ? 0 : d.between(1, 100)}; }

inline op::quantize roll(dice& d, std::type_identity<op::quantize> /*tag*/) {
  using enum op::tensor_type;
  return {{d.between(1, 3), channels(d), d.between(1, 9), d.between(1, 9)},
          d.pick({f32, s8, u8}),
          zero_point(d),
          zero_point(d)};
}

inline op::dropout roll(dice& d, std::type_identity<op::dropout> /*tag*/) {
  const double rate = d.pick({0.5, 0.0, 0.125, 0.9});
  if (d.chance()) return {rate, {d.between(1, 40), d.between(1, 40)}};
  return {rate, {d.between(1, 3), channels(d), d.between(1, 9), d.between(1, 9)}};
}

inline op::cross_entropy roll(dice& d, std::type_identity<op::cross_entropy> /*tag*/) {
  return {d.between(1, 9), d.between(1, 40)};
}

inline op::update roll(dice& d, std::type_identity<op::update> /*tag*/) {
  op::update o;
  o.rule = d.pick({op::update_rule::sgd, op::update_rule::momentum, op::update_rule::adam,
                   op::update_rule::zero, op::update_rule::accumulate});
  for (std::int64_t tensors = d.between(1, 3); tensors > 0; --tensors) {
    o.sizes.push_back(d.between(1, 200));
  }
  o.rate = d.pick({0.01, 0.125});
  return o;
}

inline op::stream roll(dice& d, std::type_identity<op::stream> /*tag*/) {
  return {d.pick({op::stream_kind::read, op::stream_kind::write, op::stream_kind::copy}),
          8 * d.between(1, 4000)};
}

inline op::allreduce roll(dice& d, std::type_identity<op::allreduce> /*tag*/) {
  return {d.between(1, 4000), d.between(1, 9), d.chance()};
}

inline op::collective roll(dice& d, std::type_identity<op::collective> /*tag*/) {
  const auto last = static_cast<std::int64_t>(enum_names<op::collective_kind>.size()) - 1;
  return {static_cast<op::collective_kind>(d.between(0, last)), d.between(1, 4000), d.between(1, 9),
          d.chance()};
}

template <class Op>
bool is_valid(const Op& op) {
  try {
    op.validate();
    return true;
  } catch (const invalid_field&) {
    return false;
  }
}

}  // namespace detail

/// A valid random `Op`.
template <class Op>
Op random_op(dice& d) {
  Op op = detail::roll(d, std::type_identity<Op>{});
  while (!detail::is_valid(op)) op = detail::roll(d, std::type_identity<Op>{});
  return op;
}

/// A random op with one to three post-ops; a normalization with one, often relu.
template <class Op>
Op random_fused_op(dice& d) {
  Op o = random_op<Op>(d);
  const bool norm = std::is_same_v<Op, op::batchnorm>;
  bool overwrites = false;
  for (std::int64_t left = norm ? 1 : d.between(1, 3); left > 0; --left) {
    const bool adds = !norm && d.chance(3);
    if (adds && !overwrites && d.chance()) {
      o.post.push_back(op::post_op::sum);
      overwrites = true;
    } else if (adds) {
      o.post.push_back(op::post_op::add);
    } else {
      const auto last = static_cast<std::int64_t>(enum_names<op::activation_kind>.size()) - 1;
      o.post.push_back(d.chance() ? op::post_op::relu
                                  : static_cast<op::post_op>(d.between(0, last)));
    }
  }
  return o;
}

/// A small volume: an image, which `drawn` draws, with a depth.
template <class Op>
Op random_volume_op(dice& d, Op (*drawn)(dice&)) {
  while (true) {
    Op o = drawn(d);
    o.n = std::min<std::int64_t>(o.n, 2);
    o.h = std::min<std::int64_t>(o.h, 5);
    o.w = std::min<std::int64_t>(o.w, 5);
    o.d = d.between(1, 6);
    o.t = d.between(1, 3);
    o.depth_stride = d.between(1, std::max<std::int64_t>(o.t, 2));
    o.depth_pad.value = d.between(0, 2);
    if constexpr (requires { o.depth_dilation; }) {
      if (d.chance(3)) o.depth_dilation = 2;
    }
    if constexpr (requires { o.depth_output_pad; }) {
      if (d.chance(3)) o.depth_output_pad.value = d.between(0, o.depth_stride - 1);
    }
    if (detail::is_valid(o) && o.has_depth()) return o;
  }
}
template <class Op>
Op random_volume_op(dice& d) {
  return random_volume_op<Op>(d, &random_op<Op>);
}
template <class Op>
Op random_fused_volume_op(dice& d) {
  return random_volume_op<Op>(d, &random_fused_op<Op>);
}

/// With tensors of several types, for rows of integers.
template <class Op>
Op random_quantized_op(dice& d) {
  using enum op::tensor_type;
  Op o = d.chance() ? random_op<Op>(d) : random_fused_op<Op>(d);
  o.dst_type = d.pick({same, f32, s8, u8});
  const bool real = o.dst_type == f32;
  const bool overwrites = std::ranges::find(o.post, op::post_op::sum) != o.post.end();
  o.addend_type = !overwrites ? f32 : real ? same : d.pick({same, s8, u8});
  if constexpr (requires { o.batch; }) o.batch = 1;
  o.channel_scales = d.chance();
  o.src_zero = detail::zero_point(d);
  o.dst_zero = detail::zero_point(d);
  return o;
}

/// With weights in fewer bits, in groups and extents that oneDNN has.
inline op::gemm random_narrow_gemm(dice& d) {
  using enum op::narrow_type;
  op::gemm o = d.chance() ? random_op<op::gemm>(d) : random_fused_op<op::gemm>(d);
  o.batch = 1;
  o.weights_type = d.pick({s8, s4, u4});
  o.zero_points = d.chance();
  o.n += o.n % 2;
  o.k += o.k % 2;
  if (d.chance(3)) return o;
  o.group_size.value = d.pick<std::int64_t>({32, 64, 96, 128});
  o.k = o.group_size.value * d.between(1, 5);
  return o;
}

}  // namespace layerbench::testing
