// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/gemm.hpp>

namespace layerbench {

/// Matrix product. A single product's weights are constants of a model: they are in the library's
/// order, packed once, and b_transposed has no effect on the time. With batch above 1 both
/// factors are activations and stay in the order that the flags say.
template <>
class plan<onednn::backend, op::gemm> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& here, const op::gemm& o, const plan_request& request)
      : primitive_plan(here, o.operands(request.pass, request.type)) {
    onednn::checked("matrix product", [&] { build(here, o, request); });
  }

 private:
  void build(const onednn::backend& here, const op::gemm& o, const plan_request& request) {
    using namespace dnnl;
    const bool integers = request.type == dtype::s8;
    const std::size_t last = operands().size() - 1;
    const auto type = onednn::data_type(request.type);
    primitive_attr attr = attributes();
    if (integers) {
      for (const int argument : {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST}) {
        attr.set_scales_mask(argument, 0);
      }
    }
    const memory::desc source = matrix(o, o.m, o.k, o.a_transposed, type);
    const memory::desc packed({o.k, o.n}, type, memory::format_tag::any);
    const memory::desc weights = o.batch == 1 ? packed : matrix(o, o.k, o.n, o.b_transposed, type);
    const memory::desc destination = matrix(o, o.m, o.n, false, type);
    const memory::desc bias = o.bias ? onednn::plain(o.batch == 1 ? dims{1, o.n} : dims{1, 1, o.n},
                                                     onednn::data_type(operands()[2].logical.type))
                                     : memory::desc();
    const matmul::primitive_desc made(here.engine(), source, weights, bias, destination, attr);
    std::vector<int> arguments{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS};
    std::vector<memory::desc> stored{made.src_desc(), made.weights_desc()};
    if (o.bias) {
      arguments.push_back(DNNL_ARG_BIAS);
      stored.push_back(made.bias_desc());
    }
    arguments.push_back(DNNL_ARG_DST);
    stored.push_back(made.dst_desc());
    adopt(made, arguments, stored,
          integers ? std::vector<std::size_t>{0, 1, last} : std::vector<std::size_t>{});
    if (o.a_transposed) transpose_exchange(0, o, o.m, o.k);
    if (o.b_transposed) transpose_exchange(1, o, o.k, o.n);
  }

  /// `rows` * `columns`, stored the other way round when `transposed`.
  static dnnl::memory::desc matrix(const op::gemm& o, std::int64_t rows, std::int64_t columns,
                                   bool transposed, dnnl::memory::data_type type) {
    dims extents{o.batch, rows, columns};
    dims strides = transposed ? dims{rows * columns, 1, rows} : dims{rows * columns, columns, 1};
    if (o.batch == 1) {
      extents.erase(extents.begin());
      strides.erase(strides.begin());
    }
    return {extents, type, strides};
  }

  /// Operand `i` comes and goes as the op stores it: columns * rows.
  void transpose_exchange(std::size_t i, const op::gemm& o, std::int64_t rows,
                          std::int64_t columns) {
    set_exchanged(
        i, [&](dnnl::memory::data_type type) { return matrix(o, rows, columns, true, type); });
  }
};

static_assert(implements<onednn::backend, op::gemm>);

}  // namespace layerbench
