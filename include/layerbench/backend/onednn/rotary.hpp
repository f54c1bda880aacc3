// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <layerbench/backend/onednn/primitive_sequence.hpp>
#include <layerbench/op/rotary.hpp>

namespace layerbench {

/// As a framework without a fused kernel runs it: a copy in which the halves of each row change
/// places and one changes its sign, and the products with the sines and the cosines, which the
/// second one adds up. The gradient is multiplied by the sines first. Where sequences have several
/// tokens each has its own products: the library has no fast ones that share a factor among both
/// sequences and heads.
template <>
class plan<onednn::backend, op::rotary> : public onednn::primitive_sequence {
 public:
  plan(const onednn::backend& device, const op::rotary& o, const plan_request& request)
      : primitive_sequence(device, o.operands(request.pass, request.type)),
        o_(o),
        number_(onednn::data_type(request.type)) {
    if (is_integer(request.type)) throw unsupported("layerbench has no rotary of integers");
    onednn::checked("rotary", [&] {
      const location turned = scratch(onednn::plain({o.size()}, number_));
      if (request.pass == op::pass::fwd) {
        swap_halves(operand(src), turned, 0);
        multiply(turned, sin, operand(dst), false);
      } else {
        multiply(operand(src), sin, turned, false);
        swap_halves(turned, operand(dst), 1);
      }
      multiply(operand(src), cos, operand(dst), true);
    });
    finish();
  }

 private:
  // Operands. In the backward pass the gradients are in the places of src and dst.
  static constexpr std::size_t src = 0, cos = 1, sin = 2, dst = 3;

  /// Appends copies of the halves of each row to the other half; half `negated` of the result gets
  /// the other sign.
  void swap_halves(const location& from, const location& to, std::int64_t negated) {
    const std::int64_t rows = o_.n * o_.tokens * o_.heads;
    const dnnl::memory::desc all = onednn::plain({rows, 2, o_.d / 2}, number_);
    const auto half = [&](std::int64_t i) {
      return all.submemory_desc({rows, 1, o_.d / 2}, {0, i, 0});
    };
    for (std::int64_t i = 0; i < 2; ++i) {
      dnnl::primitive_attr attr = attributes();
      std::vector<argument> arguments{{DNNL_ARG_FROM, half(1 - i), from},
                                      {DNNL_ARG_TO, half(i), to}};
      if (i == negated) {
        attr.set_scales_mask(DNNL_ARG_FROM, 0);
        arguments.push_back({DNNL_ARG_ATTR_SCALES | DNNL_ARG_FROM,
                             onednn::plain({1}, dnnl::memory::data_type::f32), constant({-1})});
      }
      add(dnnl::reorder::primitive_desc(engine_, half(1 - i), engine_, half(i), attr),
          std::move(arguments));
    }
  }

  /// Appends products with a table; `adds` to what the result has.
  void multiply(const location& from, std::size_t table, const location& to, bool adds) {
    dnnl::primitive_attr attr = attributes();
    if (adds) {
      dnnl::post_ops sum;
      sum.append_sum(1);
      attr.set_post_ops(sum);
    }
    const bool several = o_.tokens > 1;
    const std::int64_t rows = several ? o_.heads : o_.n * o_.heads;
    const dnnl::memory::desc all = onednn::plain({o_.tokens, rows, o_.d}, number_);
    const dnnl::memory::desc factors = onednn::plain({o_.tokens, 1, o_.d}, number_);
    const dnnl::binary::primitive_desc product(engine_, dnnl::algorithm::binary_mul, all, factors,
                                               all, attr);
    for (std::int64_t i = 0; i < (several ? o_.n : 1); ++i) {
      const std::size_t offset = static_cast<std::size_t>(i) * all.get_size();
      add(product, {{DNNL_ARG_SRC_0, all, behind(from, offset)},
                    {DNNL_ARG_SRC_1, factors, operand(table)},
                    {DNNL_ARG_DST, all, behind(to, offset)}});
    }
  }
  [[nodiscard]] static location behind(location at, std::size_t bytes) {
    at.offset += bytes;
    return at;
  }

  op::rotary o_;
  dnnl::memory::data_type number_;
};

static_assert(implements<onednn::backend, op::rotary>);

}  // namespace layerbench
