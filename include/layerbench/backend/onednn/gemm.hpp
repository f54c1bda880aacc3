// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/gemm.hpp>

namespace layerbench {

/// Matrix product. A single product's weights are constants of a model: they are in the library's
/// order, packed once, and b_transposed has no effect on the time. With batch above 1 both
/// factors are activations and stay in the order that the flags say. Training is done by inner
/// products, whose weights stay in that order, too: they change with every step.
template <>
class plan<onednn::backend, op::gemm> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& target, const op::gemm& o, const plan_request& request)
      : primitive_plan(target, o.operands(request.pass, request.type)) {
    onednn::checked("matrix product", [&] {
      if (request.pass != op::pass::fwd && o.a_transposed) {
        throw unsupported("oneDNN's inner product has no transposed source");
      }
      switch (request.pass) {
        case op::pass::fwd_training: return build_fwd_training(target, o, request);
        case op::pass::bwd_data: return build_bwd_data(target, o, request);
        case op::pass::bwd_weights: return build_bwd_weights(target, o, request);
        default: return build_fwd(target, o, request);
      }
    });
  }

 private:
  void build_fwd(const onednn::backend& device, const op::gemm& o, const plan_request& request) {
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
    matmul::primitive_desc result(device.engine(), source, weights, bias, destination, attr);
    select(result, request.algorithm);
    adopt(result, {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST},
          {result.src_desc(), result.weights_desc(), bias, result.dst_desc()},
          integers ? std::vector<std::size_t>{0, 1, last} : std::vector<std::size_t>{});
    if (o.a_transposed) transpose_exchange(0, o, o.m, o.k);
    if (o.b_transposed) transpose_exchange(1, o, o.k, o.n);
  }

  /// Operands as an inner product has them: its weights are n * k.
  struct inner_product {
    dnnl::memory::desc src;
    dnnl::memory::desc weights;
    dnnl::memory::desc dst;
    dnnl::memory::desc bias;
    dnnl::inner_product_forward::primitive_desc forward;

    inner_product(const onednn::backend& device, const op::gemm& o, dtype type)
        : src(matrix(o, o.m, o.k, o.a_transposed, onednn::data_type(type))),
          weights(matrix(o, o.n, o.k, !o.b_transposed, onednn::data_type(type))),
          dst(matrix(o, o.m, o.n, false, onednn::data_type(type))),
          bias(o.bias ? onednn::plain({o.n}, onednn::data_type(type)) : dnnl::memory::desc()),
          forward(device.engine(), dnnl::prop_kind::forward_training, src, weights, bias, dst,
                  attributes()) {}
  };

  void build_fwd_training(const onednn::backend& device, const op::gemm& o,
                          const plan_request& request) {
    inner_product of(device, o, request.type);
    select(of.forward, request.algorithm);
    adopt(of.forward, {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST},
          {of.src, of.weights, of.bias, of.dst});
    if (!o.b_transposed) transpose_exchange(1, o, o.n, o.k);
  }

  void build_bwd_data(const onednn::backend& target, const op::gemm& o,
                      const plan_request& request) {
    const inner_product of(target, o, request.type);
    dnnl::inner_product_backward_data::primitive_desc result(target.engine(), of.src, of.weights,
                                                             of.dst, of.forward, attributes());
    select(result, request.algorithm);
    adopt(result, {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC},
          {of.dst, of.weights, of.src});
    if (!o.b_transposed) transpose_exchange(1, o, o.n, o.k);
  }

  void build_bwd_weights(const onednn::backend& device, const op::gemm& o,
                         const plan_request& request) {
    const inner_product of(device, o, request.type);
    dnnl::inner_product_backward_weights::primitive_desc result(
        device.engine(), of.src, of.weights, of.bias, of.dst, of.forward, attributes());
    select(result, request.algorithm);
    adopt(result, {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS},
          {of.src, of.dst, of.weights, of.bias});
    if (!o.b_transposed) transpose_exchange(2, o, o.n, o.k);
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
