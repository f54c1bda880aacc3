// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <layerbench/backend/kernels/host/sums.hpp>
#include <layerbench/backend/number_types.hpp>
#include <layerbench/backend/onednn/primitive_sequence.hpp>
#include <layerbench/op/attention.hpp>

namespace layerbench {

/// Attention as a framework without a fused kernel runs it: a matrix product for the scores, a sum
/// with the mask, a softmax and a matrix product, and the gradients of these. The products read
/// queries, keys and values where they lie. Scores are f32, and training keeps the probabilities in
/// the data type. Grouped queries read the keys of their group without a copy. Each head then has
/// gradients of keys and values in f32, which a loop of layerbench adds up.
template <>
class plan<onednn::backend, op::attention> : public onednn::primitive_sequence {
 public:
  plan(const onednn::backend& device, const op::attention& o, const plan_request& request)
      : primitive_sequence(device, o.operands(request.pass, request.type)),
        o_(o),
        type_(request.type) {
    if (is_integer(type_)) throw unsupported("layerbench has no attention of integers");
    onednn::checked("attention", [&] {
      if (request.pass == op::pass::bwd) {
        build_bwd();
      } else {
        build_fwd(request.pass == op::pass::fwd_training);
      }
    });
    std::vector<dnnl::memory::desc> stored;
    for (std::size_t i = 0; i < operands().size(); ++i) {
      stored.push_back(operands()[i].logical.opaque ? scores(number())
                                                    : onednn::plain(extents(i), number()));
    }
    finish(stored);
  }

 private:
  using desc = dnnl::memory::desc;
  using number_type = dnnl::memory::data_type;

  using enum op::attention::operand_index;

  [[nodiscard]] number_type number() const { return onednn::data_type(type_); }

  // Views of batches of matrices. The queries of a group are a batch axis of their own, along which
  // keys and values are broadcast. A single query of each head is a row of its group's matrix:
  // nothing is broadcast then.

  [[nodiscard]] bool broadcasts() const { return o_.group_size() > 1 && o_.q > 1; }
  /// Rows of a matrix of queries.
  [[nodiscard]] std::int64_t rows() const { return o_.q > 1 ? o_.q : o_.group_size(); }

  /// rows * d values of queries, or of their results or gradients.
  [[nodiscard]] desc queries() const {
    const std::int64_t token = o_.heads * o_.d;
    const std::int64_t group = o_.group_size() * o_.d;
    const std::int64_t row = o_.q > 1 ? token : o_.d;
    dims extents{o_.n, o_.groups(), rows(), o_.d};
    dims strides{o_.q * token, group, row, 1};
    if (broadcasts()) {
      extents.insert(extents.begin() + 2, o_.group_size());
      strides.insert(strides.begin() + 2, o_.d);
    }
    return {extents, number(), strides};
  }
  /// k * d keys, values or their gradients, or the transposed matrices.
  [[nodiscard]] desc keys(bool transposed) const {
    const std::int64_t token = o_.groups() * o_.d;
    dims extents{o_.n, o_.groups(), o_.k, o_.d};
    dims strides{o_.k * token, o_.d, token, 1};
    if (broadcasts()) {
      extents.insert(extents.begin() + 2, 1);
      strides.insert(strides.begin() + 2, o_.d);
    }
    return view(extents, strides, number(), transposed);
  }
  /// rows * k scores, or the transposed matrices.
  [[nodiscard]] desc scores(number_type type, bool transposed = false) const {
    dims extents{o_.n, o_.groups(), rows(), o_.k};
    if (broadcasts()) extents.insert(extents.begin() + 2, o_.group_size());
    return view(extents, op::strides(extents, op::plain_order(extents)), type, transposed);
  }
  [[nodiscard]] static desc view(dims extents, dims strides, number_type type, bool transposed) {
    const std::size_t last = extents.size() - 1;
    if (transposed) {
      std::swap(extents[last - 1], extents[last]);
      std::swap(strides[last - 1], strides[last]);
    }
    return {extents, type, strides};
  }
  /// Scores as a matrix with a row for each query of each head.
  [[nodiscard]] desc rows_of_scores(number_type type) const {
    return onednn::plain({o_.n * o_.heads * o_.q, o_.k}, type);
  }

  /// Appends a product of matrices, with a factor.
  void multiply(const desc& a, const location& first, const desc& b, const location& second,
                const desc& c, const location& result, float factor = 1) {
    dnnl::primitive_attr attr = attributes();
    if (factor != 1) {
      dnnl::post_ops scaled;
      scaled.append_eltwise(dnnl::algorithm::eltwise_linear, factor, 0);
      attr.set_post_ops(scaled);
    }
    add_product(a, first, b, second, c, result, attr);
  }
  [[nodiscard]] float scale() const { return 1 / std::sqrt(static_cast<float>(o_.d)); }

  [[nodiscard]] dnnl::softmax_forward::primitive_desc softmax() const {
    return {engine_,
            dnnl::prop_kind::forward_training,
            dnnl::algorithm::softmax_accurate,
            rows_of_scores(number_type::f32),
            rows_of_scores(number()),
            1,
            attributes()};
  }

  void build_fwd(bool training) {
    const location probabilities = training ? operand(workspace) : scratch(scores(number()));
    const location raw = type_ == dtype::f32 ? probabilities : scratch(scores(number_type::f32));
    multiply(queries(), operand(query), keys(true), operand(key), scores(number_type::f32), raw,
             scale());
    if (o_.causal && o_.q > 1) add_mask(raw);
    add(softmax(), {{DNNL_ARG_SRC, rows_of_scores(number_type::f32), raw},
                    {DNNL_ARG_DST, rows_of_scores(number()), probabilities}});
    multiply(scores(number()), probabilities, keys(false), operand(value), queries(), operand(dst));
  }

  void add_mask(const location& to) {
    const desc all = onednn::plain({o_.n * o_.heads, o_.q * o_.k}, number_type::f32);
    const desc one = onednn::plain({1, o_.q * o_.k}, number_type::f32);
    std::vector<float> mask(static_cast<std::size_t>(o_.q * o_.k));
    for (std::int64_t i = 0; i < o_.q; ++i) {
      for (std::int64_t j = o_.visible(i); j < o_.k; ++j) {
        mask[static_cast<std::size_t>(i * o_.k + j)] = -std::numeric_limits<float>::infinity();
      }
    }
    add(dnnl::binary::primitive_desc(engine_, dnnl::algorithm::binary_add, all, one, all,
                                     attributes()),
        {{DNNL_ARG_SRC_0, all, to},
         {DNNL_ARG_SRC_1, one, constant(std::move(mask))},
         {DNNL_ARG_DST, all, to}});
  }

  void build_bwd() {
    const desc matrix = rows_of_scores(number());
    const location gradient = scratch(scores(number()));
    multiply(queries(), operand(diff_dst), keys(true), operand(value), scores(number()), gradient);
    multiply_transposed(operand(workspace), operand(diff_dst), operand(diff_value), 1);
    add(dnnl::softmax_backward::primitive_desc(engine_, dnnl::algorithm::softmax_accurate, matrix,
                                               matrix, matrix, 1, softmax(), attributes()),
        {{DNNL_ARG_DST, matrix, operand(workspace)},
         {DNNL_ARG_DIFF_DST, matrix, gradient},
         {DNNL_ARG_DIFF_SRC, matrix, gradient}});
    multiply(scores(number()), gradient, keys(false), operand(key), queries(), operand(diff_query),
             scale());
    multiply_transposed(gradient, operand(query), operand(diff_key), scale());
  }

  /// Appends the product of transposed scores and queries, summed over the queries of a group.
  void multiply_transposed(const location& of_scores, const location& of_queries,
                           const location& result, float factor) {
    const desc transposed = scores(number(), true);
    if (!broadcasts()) {
      multiply(transposed, of_scores, queries(), of_queries, keys(false), result, factor);
      return;
    }
    const desc heads =
        onednn::plain({o_.n, o_.groups(), o_.group_size(), o_.k, o_.d}, number_type::f32);
    const location of_heads = scratch(heads);
    multiply(transposed, of_scores, queries(), of_queries, heads, of_heads, factor);
    add_loop(host::head_sums_name, {of_heads, result},
             [o = o_, type = type_](std::span<const address> at) {
               with_number(type, [&]<class T>(T /*tag*/) {
                 host::head_sums(o.n, o.groups(), o.group_size(), o.k, o.d,
                                 static_cast<const float*>(at[0]), static_cast<T*>(at[1]));
               });
             });
  }

  op::attention o_;
  dtype type_;
};

static_assert(implements<onednn::backend, op::attention>);

}  // namespace layerbench
