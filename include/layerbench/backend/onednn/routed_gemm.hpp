// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <layerbench/backend/kernels/host/rows.hpp>
#include <layerbench/backend/onednn/primitive_sequence.hpp>
#include <layerbench/op/routed_gemm.hpp>

namespace layerbench {

/// A matrix product per expert that has rows, as engines call oneDNN, which has no grouped product.
/// There is a primitive for each number of rows that experts have under the op's load; other
/// numbers take several calls. The weights are packed once. Loops of layerbench sort the choices,
/// copy the rows of tokens and add up products.
template <>
class plan<onednn::backend, op::routed_gemm> : public onednn::primitive_sequence {
 public:
  plan(const onednn::backend& device, const op::routed_gemm& o, const plan_request& request)
      : primitive_sequence(device, o.operands(request.pass, request.type)),
        o_(o),
        type_(request.type),
        number_(onednn::data_type(request.type)) {
    if (is_integer(type_)) throw unsupported("layerbench has no routed products of integers");
    onednn::checked("product of an expert", [&] {
      std::vector<std::int64_t> sizes = o.routing().group_sizes();
      if (sizes.back() != 1) sizes.push_back(1);
      for (const std::int64_t rows : sizes) add_product(rows);
    });
    std::vector<dnnl::memory::desc> stored = row_major();
    stored[weights()] = onednn::in_order({o.experts, o.k, o.n}, type_, onednn::order_of(weights_));
    expert_bytes_ = stored[weights()].get_size() / static_cast<std::size_t>(o.experts);
    if (o.gather) note(host::gather_rows_name);
    if (o.scatter) note(host::scatter_rows_name);
    finish(stored);
    const auto reserve = [&](std::int64_t count, std::int64_t bytes) {
      return scratch(onednn::plain({count, bytes}, dnnl::memory::data_type::u8)).offset;
    };
    row_of_ = reserve(o.rows(), sizeof(std::int64_t));
    ends_ = reserve(o.experts, sizeof(std::int64_t));
    if (o.gather) gathered_ = scratch(onednn::plain({o.rows(), o.k}, number_)).offset;
    if (o.scatter) products_ = scratch(onednn::plain({o.rows(), o.n}, number_)).offset;
  }

  /// Arguments of a product, which move from expert to expert.
  struct bound_product {
    dnnl::memory src, weights, dst, scratchpad;
    std::vector<dnnl_exec_arg_t> arguments;
  };
  struct binding : primitive_sequence::binding {
    std::vector<bound_product> products;
    std::byte* workspace;
  };

  [[nodiscard]] binding bind(std::span<const address> addresses, address workspace) const {
    binding bound{
        primitive_sequence::bind(addresses, workspace), {}, static_cast<std::byte*>(workspace)};
    for (const product& one : by_rows_) {
      bound_product& to = bound.products.emplace_back(
          bound_product{{one.src, engine_, nullptr},
                        {weights_, engine_, nullptr},
                        {one.dst, engine_, nullptr},
                        {one.scratchpad, engine_, scratchpad_in(workspace)},
                        {}});
      to.arguments = {{DNNL_ARG_SRC, to.src.get()},
                      {DNNL_ARG_WEIGHTS, to.weights.get()},
                      {DNNL_ARG_DST, to.dst.get()},
                      {DNNL_ARG_SCRATCHPAD, to.scratchpad.get()}};
    }
    return bound;
  }

  void run(const binding& bound) const {
    with_number(type_, [&]<class T>(T /*tag*/) {
      auto* const row_of = in_workspace<std::int64_t>(bound, row_of_);
      auto* const ends = in_workspace<std::int64_t>(bound, ends_);
      const T* src = at<T>(bound, 0);
      T* const dst = at<T>(bound, weights() + 1);
      T* const products = o_.scatter ? in_workspace<T>(bound, products_) : dst;
      o_.sort(at<float>(bound, weights() - 1), {row_of, static_cast<std::size_t>(o_.rows())},
              {ends, static_cast<std::size_t>(o_.experts)});
      if (o_.gather) {
        T* const gathered = in_workspace<T>(bound, gathered_);
        host::gather_rows(o_, row_of, src, gathered);
        src = gathered;
      }
      std::int64_t row = 0;
      for (std::int64_t expert = 0; expert < o_.experts; ++expert) {
        while (row < ends[expert]) {
          row +=
              multiply(bound, expert, ends[expert] - row, src + row * o_.k, products + row * o_.n);
        }
      }
      if (o_.scatter) host::scatter_rows(o_, row_of, products, at<T>(bound, 1), dst);
    });
  }

 private:
  struct product {
    std::int64_t rows;
    dnnl::primitive primitive;
    dnnl::memory::desc src, dst, scratchpad;
  };

  [[nodiscard]] std::size_t weights() const { return o_.scatter ? 3 : 2; }

  template <class Value>
  [[nodiscard]] static Value* in_workspace(const binding& bound, std::size_t offset) {
    return reinterpret_cast<Value*>(bound.workspace + offset);
  }

  void add_product(std::int64_t rows) {
    const dnnl::memory::desc src = onednn::plain({1, rows, o_.k}, number_);
    const dnnl::memory::desc dst = onednn::plain({1, rows, o_.n}, number_);
    const dnnl::memory::desc weights =
        by_rows_.empty() ? onednn::any({1, o_.k, o_.n}, type_) : weights_;
    const dnnl::matmul::primitive_desc one(engine_, src, weights, dst, attributes());
    weights_ = one.weights_desc();
    require_scratchpad(one.scratchpad_desc());
    note(one.impl_info_str());
    by_rows_.push_back({rows, dnnl::primitive(one.get()), src, dst, one.scratchpad_desc()});
  }

  /// Multiplies as many of `left` rows as one of the primitives takes. Returns their number.
  template <class T>
  std::int64_t multiply(const binding& bound, std::int64_t expert, std::int64_t left, const T* src,
                        T* dst) const {
    std::size_t i = 0;
    while (by_rows_[i].rows > left) ++i;
    const bound_product& to = bound.products[i];
    to.src.set_data_handle(const_cast<T*>(src));  // oneDNN only reads it
    to.weights.set_data_handle(at<std::byte>(bound, weights()) +
                               static_cast<std::size_t>(expert) * expert_bytes_);
    to.dst.set_data_handle(dst);
    execute(by_rows_[i].primitive, to.arguments);
    return by_rows_[i].rows;
  }

  op::routed_gemm o_;
  dtype type_;
  dnnl::memory::data_type number_;
  std::vector<product> by_rows_;  ///< the most rows first; the last has one
  dnnl::memory::desc weights_;    ///< of one expert
  std::size_t expert_bytes_ = 0;
  std::size_t row_of_ = 0, ends_ = 0, gathered_ = 0, products_ = 0;  ///< offsets
};

static_assert(implements<onednn::backend, op::routed_gemm>);

}  // namespace layerbench
