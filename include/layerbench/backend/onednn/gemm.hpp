// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <layerbench/backend/onednn/primitive_sequence.hpp>
#include <layerbench/op/gemm.hpp>

namespace layerbench {

/// Matrix product. For inference with batch 1 the weights are constant: they are packed once in the
/// library's order, and b_transposed does not affect the time. With a larger batch both factors are
/// activations and keep the order that the flags give. Training uses oneDNN's inner product, whose
/// weights also keep that order, because they change in every step. It has no transposed src: there
/// the products are matrix products, as the gradients of a batch are. A loop of layerbench then
/// gives the gradient of the bias.
template <>
class plan<onednn::backend, op::gemm> : public onednn::primitive_sequence {
 public:
  static constexpr bool has_post_ops = true;
  static constexpr bool has_quantization = true;

  plan(const onednn::backend& device, const op::gemm& o, const plan_request& request)
      : primitive_sequence(device, o.operands(request.pass, request.type)) {
    if (o.has_narrow_weights()) onednn::backend::require_narrow_weights(operands()[1].logical.type);
    onednn::checked("matrix product", [&] {
      const bool by_products = o.a_transposed || request.pass == op::pass::bwd;
      if (request.pass != op::pass::fwd && by_products) {
        return build_products(device.engine(), o, request);
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
    const auto weights_type = onednn::data_type(operands()[1].logical.type);
    const memory::desc packed({o.k, o.n}, weights_type, memory::format_tag::any);
    const memory::desc weights =
        o.batch == 1 ? packed : matrix(o, o.k, o.n, o.b_transposed, weights_type);
    const memory::desc destination =
        matrix(o, o.m, o.n, false, onednn::data_type(operands().back().logical.type));
    const dtype bias_type = operands()[o.bias ? o.bias_operand() : 0].logical.type;
    const memory::desc bias = o.bias ? onednn::plain(o.batch == 1 ? dims{1, o.n} : dims{1, 1, o.n},
                                                     onednn::data_type(bias_type))
                                     : memory::desc();
#ifdef LAYERBENCH_ONEDNN_HAS_NARROW_WEIGHTS
    if (o.has_narrow_weights())
      return set_narrow(device, o, request, {source, weights, bias, destination});
#endif
    matmul::primitive_desc result(device.engine(), source, weights, bias, destination,
                                  forward_attributes(o.post, destination, 2));
    set_forward(result, bias, o.post, request);
    set_host_descs(o);
  }

  /// For operands that the op stores the other way round.
  void set_host_descs(const op::gemm& o) {
    if (o.a_transposed) set_transposed_host_desc(0, o, o.m, o.k);
    if (o.b_transposed) set_transposed_host_desc(1, o, o.k, o.n);
  }

#ifdef LAYERBENCH_ONEDNN_HAS_NARROW_WEIGHTS
  /// The product with weights that oneDNN decompresses: it multiplies in the type of src.
  void set_narrow(const onednn::backend& device, const op::gemm& o, const plan_request& request,
                  const std::array<dnnl::memory::desc, 4>& stored) {
    using namespace dnnl;
    const auto& [source, weights, bias, destination] = stored;
    // Of odd n, oneDNN 3.13 has no such products or wrong ones.
    if (is_4_bit(operands()[1].logical.type) && (o.n % 2 != 0 || o.k % 2 != 0)) {
      throw unsupported("oneDNN multiplies weights of 4 bits where n and k are even");
    }
    constexpr int by_group_and_column = 3;
    const memory::dims group{o.group(), 1};
    primitive_attr attr = attributes(o.post, destination);
    attr.set_fpmath_mode(request.type == dtype::bf16  ? fpmath_mode::bf16
                         : request.type == dtype::f16 ? fpmath_mode::f16
                                                      : fpmath_mode::strict,
                         /*apply_to_int=*/true);
    attr.set_scales(DNNL_ARG_WEIGHTS, by_group_and_column, group, onednn::data_type(request.type));
    if (o.zero_points) {
      attr.set_zero_points(DNNL_ARG_WEIGHTS, by_group_and_column, group, weights.get_data_type());
    }
    matmul::primitive_desc result(device.engine(), source, weights, bias, destination, attr);
    select(result, request.algorithm);
    const auto of_groups = [&](memory::data_type type) {
      return onednn::plain({o.k / o.group(), o.n}, type);
    };
    std::vector<int> arguments{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS,
                               DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS};
    std::vector<memory::desc> operands{result.src_desc(), result.weights_desc(),
                                       of_groups(source.get_data_type())};
    if (o.zero_points) {
      arguments.push_back(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_WEIGHTS);
      operands.push_back(of_groups(weights.get_data_type()));
    }
    arguments.insert(arguments.end(), {DNNL_ARG_BIAS, DNNL_ARG_DST});
    operands.insert(operands.end(), {bias, result.dst_desc()});
    set_primitive(result, std::move(arguments), std::move(operands), o.post);
    set_host_descs(o);
  }
#endif

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

  /// Products of the operands as they are stored. The gradient of a factor that is stored the other
  /// way round is computed that way.
  void build_products(const dnnl::engine& engine, const op::gemm& o, const plan_request& request) {
    const auto type = onednn::data_type(request.type);
    const auto src = [&](bool t) {
      return t ? matrix(o, o.k, o.m, !o.a_transposed, type)
               : matrix(o, o.m, o.k, o.a_transposed, type);
    };
    const auto weights = [&](bool t) {
      return t ? matrix(o, o.n, o.k, !o.b_transposed, type)
               : matrix(o, o.k, o.n, o.b_transposed, type);
    };
    const auto dst = [&](bool t) {
      return t ? matrix(o, o.n, o.m, true, type) : matrix(o, o.m, o.n, false, type);
    };
    const auto multiply = [&](const dnnl::memory::desc& a, std::size_t first,
                              const dnnl::memory::desc& b, std::size_t second,
                              const dnnl::memory::desc& c, std::size_t result) {
      add_product(a, operand(first), b, operand(second), c, operand(result), attributes());
    };
    const auto source_gradient = [&](std::size_t of_dst, std::size_t factor, std::size_t result) {
      if (o.a_transposed) {
        multiply(weights(false), factor, dst(true), of_dst, src(true), result);
      } else {
        multiply(dst(false), of_dst, weights(true), factor, src(false), result);
      }
    };
    const auto weights_gradient = [&](std::size_t factor, std::size_t of_dst, std::size_t result) {
      if (o.b_transposed) {
        multiply(dst(true), of_dst, src(false), factor, weights(true), result);
      } else {
        multiply(src(true), factor, dst(false), of_dst, weights(false), result);
      }
      if (!o.bias) return;
      add_column_sums(o.batch * o.m, o.n, request.type, operand(of_dst), operand(result + 1));
    };
    switch (request.pass) {
      case op::pass::bwd_data: source_gradient(0, 1, 2); break;
      case op::pass::bwd_weights: weights_gradient(0, 1, 2); break;
      case op::pass::bwd:
        source_gradient(2, 1, 3);
        weights_gradient(0, 2, 4);
        break;
      default: add_forward(engine, o, src(false), weights(false), dst(false));
    }
    finish();
  }

  /// The forward product, with the bias.
  void add_forward(const dnnl::engine& engine, const op::gemm& o, const dnnl::memory::desc& src,
                   const dnnl::memory::desc& weights, const dnnl::memory::desc& dst) {
    const dnnl::memory::desc bias =
        o.bias ? onednn::plain({1, o.n}, dst.get_data_type()) : dnnl::memory::desc();
    std::vector<argument> arguments{{DNNL_ARG_SRC, src, operand(0)},
                                    {DNNL_ARG_WEIGHTS, weights, operand(1)},
                                    {DNNL_ARG_DST, dst, operand(o.bias ? 3 : 2)}};
    if (o.bias) arguments.push_back({DNNL_ARG_BIAS, bias, operand(2)});
    add(dnnl::matmul::primitive_desc(engine, src, weights, bias, dst, attributes()),
        std::move(arguments));
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
