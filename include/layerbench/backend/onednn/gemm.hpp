// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/gemm.hpp>

namespace layerbench {

/// Matrix product. For inference with batch 1 the weights are constant: they are packed once in the
/// library's order, and b_transposed does not affect the time. With a larger batch both factors are
/// activations and keep the order that the flags give. Training uses oneDNN's inner product, whose
/// weights also keep that order, because they change in every step.
template <>
class plan<onednn::backend, op::gemm> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& device, const op::gemm& o, const plan_request& request)
      : primitive_plan(device, o.operands(request.pass, request.type)) {
    onednn::checked("matrix product", [&] {
      if (request.pass != op::pass::fwd && o.a_transposed) {
        throw unsupported("oneDNN's inner product has no transposed source");
      }
      switch (request.pass) {
        case op::pass::fwd_training: return build_fwd_training(device, o, request);
        case op::pass::bwd_data: return build_bwd_data(device, o, request);
        case op::pass::bwd_weights: return build_bwd_weights(device, o, request);
        default: return build_fwd(device, o, request);
      }
    });
  }

 private:
  void build_fwd(const onednn::backend& device, const op::gemm& o, const plan_request& request) {
    using namespace dnnl;
    const auto type = onednn::data_type(request.type);
    const memory::desc source = matrix(o, o.m, o.k, o.a_transposed, type);
    const memory::desc packed({o.k, o.n}, type, memory::format_tag::any);
    const memory::desc weights = o.batch == 1 ? packed : matrix(o, o.k, o.n, o.b_transposed, type);
    const memory::desc destination = matrix(o, o.m, o.n, false, type);
    const memory::desc bias = o.bias ? onednn::plain(o.batch == 1 ? dims{1, o.n} : dims{1, 1, o.n},
                                                     onednn::data_type(operands()[2].logical.type))
                                     : memory::desc();
    matmul::primitive_desc result(device.engine(), source, weights, bias, destination,
                                  quantized_attributes(request.type));
    adopt_forward(result, bias, request);
    if (o.a_transposed) set_transposed_host_desc(0, o, o.m, o.k);
    if (o.b_transposed) set_transposed_host_desc(1, o, o.k, o.n);
  }

  /// Descriptors of an inner product, whose weights are n*k.
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
    inner_product operation(device, o, request.type);
    select(operation.forward, request.algorithm);
    set_primitive(operation.forward, {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST},
                  {operation.src, operation.weights, operation.bias, operation.dst});
    if (!o.b_transposed) set_transposed_host_desc(1, o, o.n, o.k);
  }

  void build_bwd_data(const onednn::backend& device, const op::gemm& o,
                      const plan_request& request) {
    const inner_product operation(device, o, request.type);
    dnnl::inner_product_backward_data::primitive_desc result(device.engine(), operation.src,
                                                             operation.weights, operation.dst,
                                                             operation.forward, attributes());
    select(result, request.algorithm);
    set_primitive(result, {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC},
                  {operation.dst, operation.weights, operation.src});
    if (!o.b_transposed) set_transposed_host_desc(1, o, o.n, o.k);
  }

  void build_bwd_weights(const onednn::backend& device, const op::gemm& o,
                         const plan_request& request) {
    const inner_product operation(device, o, request.type);
    dnnl::inner_product_backward_weights::primitive_desc result(
        device.engine(), operation.src, operation.weights, operation.bias, operation.dst,
        operation.forward, attributes());
    select(result, request.algorithm);
    set_primitive(result,
                  {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS},
                  {operation.src, operation.dst, operation.weights, operation.bias});
    if (!o.b_transposed) set_transposed_host_desc(2, o, o.n, o.k);
  }

  /// `o.batch` matrices rows*columns, stored columns*rows if `transposed`.
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

  /// Exchanges the values of operand `i` as the op stores them: columns*rows.
  void set_transposed_host_desc(std::size_t i, const op::gemm& o, std::int64_t rows,
                                std::int64_t columns) {
    set_host_desc(
        i, [&](dnnl::memory::data_type type) { return matrix(o, rows, columns, true, type); });
  }
};

static_assert(implements<onednn::backend, op::gemm>);

}  // namespace layerbench
