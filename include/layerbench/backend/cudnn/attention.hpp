// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/cudnn/execution_plan.hpp>
#include <layerbench/backend/cudnn/operation_graph.hpp>
#include <layerbench/op/attention.hpp>

namespace layerbench::cudnn {

/// Operation graph of attention, in the form that cuDNN recognises as flash attention (Dao et al.
/// 2022): it stores no scores. Engines recognise the operations and their order, which are those of
/// NVIDIA's cudnn-frontend. The unique id of a tensor is the position of the operand. The
/// workspace of training holds one number in f32 for each query and head, from which the backward
/// pass recomputes the probabilities: the logarithm of the sum of the exponentials of the scores.
/// Throws unsupported.
class attention_graph : public operation_graph {
 public:
  attention_graph(const op::attention& o, op::pass pass, dtype type)
      : o_(o), pass_(pass), type_(supported(type)) {
    if (o.d % 8 != 0) throw unsupported("cuDNN has attention with d of a multiple of 8 only");
    // It would make a plan, which NVIDIA's frontend refuses to run.
    if (pass == op::pass::bwd && o.q == 1 && o.k == 1) {
      throw unsupported("cuDNN has no gradients of attention of one query and one key");
    }
    if (pass == op::pass::bwd) {
      build_bwd();
    } else {
      build_fwd();
    }
    finalize(nodes_);
  }

  [[nodiscard]] static std::size_t workspace_operand_bytes(const op::attention& o) {
    return static_cast<std::size_t>(elements({o.n, o.heads, o.q})) * sizeof(float);
  }

 private:
  using operand_index = op::attention::operand_index;
  using enum operand_index;

  [[nodiscard]] static cudnnDataType_t supported(dtype type) {
    if (type == dtype::f16 || type == dtype::bf16) return data_type(type);
    throw unsupported(fmt::format("cuDNN has attention in f16 and bf16, not in {}", name(type)));
  }

  // Tensors

  [[nodiscard]] std::size_t next_id() { return next_id_++; }
  [[nodiscard]] static dims transposed(dims axes) {
    std::swap(axes[2], axes[3]);
    return axes;
  }

  [[nodiscard]] dims score_extents() const { return {o_.n, o_.heads, o_.q, o_.k}; }
  [[nodiscard]] dims query_extents() const { return {o_.n, o_.heads, o_.q, o_.d}; }
  [[nodiscard]] dims key_extents() const { return {o_.n, o_.groups(), o_.k, o_.d}; }
  [[nodiscard]] dims key_strides() const {
    const std::int64_t token = o_.groups() * o_.d;
    return {o_.k * token, o_.d, token, 1};
  }

  [[nodiscard]] descriptor queries(operand_index which) const {
    const std::int64_t token = o_.heads * o_.d;
    return tensor(which, query_extents(), {o_.q * token, o_.d, token, 1}, type_);
  }
  [[nodiscard]] descriptor keys(operand_index which) const {
    return tensor(which, key_extents(), key_strides(), type_);
  }
  [[nodiscard]] descriptor transposed_keys(operand_index which) const {
    return tensor(which, transposed(key_extents()), transposed(key_strides()), type_);
  }
  /// A number for each query, and the extents of such.
  [[nodiscard]] dims number_extents() const { return {o_.n, o_.heads, o_.q, 1}; }
  [[nodiscard]] descriptor numbers() {
    return virtual_tensor(next_id(), number_extents(), row_major(number_extents()));
  }
  [[nodiscard]] descriptor stored_numbers() const {
    return tensor(workspace, number_extents(), row_major(number_extents()), CUDNN_DATA_FLOAT);
  }
  [[nodiscard]] descriptor scores(cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return virtual_tensor(next_id(), score_extents(), row_major(score_extents()), type);
  }
  [[nodiscard]] descriptor constant(number of) { return scalar(next_id(), 4, of); }

  // Operations, which return their result

  descriptor apply(const pointwise& function, const descriptor& x, const descriptor* b,
                   descriptor y, const descriptor* t = nullptr) {
    nodes_.push_back(pointwise_node(function, x, b, y, t));
    return y;
  }
  descriptor multiply(const descriptor& a, const descriptor& b, descriptor c) {
    descriptor how(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
    how.finalize();
    descriptor node(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    node.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
    node.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
    node.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    node.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
    node.finalize();
    nodes_.push_back(std::move(node));
    return c;
  }
  /// Over the axes along which `y` is smaller.
  descriptor reduce(cudnnReduceTensorOp_t by, const descriptor& x, descriptor y) {
    descriptor how(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    how.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    how.set(CUDNN_ATTR_REDUCTION_OPERATOR, by);
    how.finalize();
    descriptor node(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    node.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
    node.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    node.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
    node.finalize();
    nodes_.push_back(std::move(node));
    return y;
  }
  /// The same memory with other extents and strides.
  descriptor view(const descriptor& x, descriptor y) {
    descriptor node(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    node.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
    node.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
    node.finalize();
    nodes_.push_back(std::move(node));
    return y;
  }

  /// The products of queries and keys, scaled.
  descriptor scaled_scores() {
    const descriptor products = multiply(queries(query), transposed_keys(key), scores());
    return apply({CUDNN_POINTWISE_MUL}, products, &scale_, scores());
  }

  /// Row and column of each score.
  descriptor indices(const descriptor& of, std::int64_t axis) {
    return apply({.mode = CUDNN_POINTWISE_GEN_INDEX, .axis = axis}, of, nullptr,
                 scores(CUDNN_DATA_INT32));
  }

  /// Replaces what a query does not see by minus infinity. Key j is visible to query i where
  /// i + k - q >= j.
  descriptor masked(descriptor all) {
    if (!o_.causal || o_.q == 1) return all;
    descriptor rows = indices(all, 2);
    const descriptor columns = indices(all, 3);
    if (o_.q != o_.k) {
      const auto shifted = [&](cudnnPointwiseMode_t mode, std::int64_t by) {
        const descriptor tokens = constant(static_cast<std::int32_t>(by));
        return apply({.mode = mode, .type = CUDNN_DATA_INT32}, rows, &tokens,
                     scores(CUDNN_DATA_INT32));
      };
      rows = shifted(CUDNN_POINTWISE_ADD, o_.k);
      rows = shifted(CUDNN_POINTWISE_SUB, o_.q);
    }
    const descriptor visible = apply({.mode = CUDNN_POINTWISE_CMP_GE, .type = CUDNN_DATA_BOOLEAN},
                                     rows, &columns, scores(CUDNN_DATA_BOOLEAN));
    const descriptor hidden = constant(-std::numeric_limits<float>::infinity());
    return apply({CUDNN_POINTWISE_BINARY_SELECT}, all, &hidden, scores(), &visible);
  }

  /// cuDNN wants the logarithm of the sum in inference, too, where nothing reads it.
  void build_fwd() {
    const descriptor seen = masked(scaled_scores());
    const descriptor largest = reduce(CUDNN_REDUCE_TENSOR_MAX, seen, numbers());
    const descriptor differences = apply({CUDNN_POINTWISE_SUB}, seen, &largest, scores());
    const descriptor powers = apply({CUDNN_POINTWISE_EXP}, differences, nullptr, scores());
    const descriptor sums = reduce(CUDNN_REDUCE_TENSOR_ADD, powers, numbers());
    const descriptor logarithms = apply({CUDNN_POINTWISE_LOG}, sums, nullptr, numbers());
    apply({CUDNN_POINTWISE_ADD}, largest, &logarithms,
          pass_ == op::pass::fwd_training ? stored_numbers() : numbers());
    const descriptor probabilities = apply({CUDNN_POINTWISE_DIV}, powers, &sums, scores(type_));
    multiply(probabilities, keys(value), queries(dst));
  }

  /// The gradient of a score is p * (gradient of p - mean), where the mean of the gradients,
  /// weighted by the probabilities, is the inner product of dst and diff_dst.
  void build_bwd() {
    const descriptor gradients = queries(diff_dst);
    const descriptor results = queries(dst);
    const descriptor terms =
        apply({CUDNN_POINTWISE_MUL}, gradients, &results,
              virtual_tensor(next_id(), query_extents(), row_major(query_extents())));
    const descriptor factor = constant(1.0F);  // of dropout, which cuDNN expects here
    const descriptor means =
        apply({CUDNN_POINTWISE_MUL}, reduce(CUDNN_REDUCE_TENSOR_ADD, terms, numbers()), &factor,
              scratch_tensor(next_id(), number_extents()));

    const descriptor logarithms = stored_numbers();
    const descriptor exponents =
        masked(apply({CUDNN_POINTWISE_SUB}, scaled_scores(), &logarithms, scores()));
    const descriptor probabilities = apply({CUDNN_POINTWISE_EXP}, exponents, nullptr, scores());
    multiply_transposed(probabilities, gradients, keys(diff_value));

    const descriptor products = multiply(gradients, transposed_keys(value), scores());
    const descriptor differences = apply({CUDNN_POINTWISE_SUB}, products, &means, scores());
    const descriptor weighted = apply({CUDNN_POINTWISE_MUL}, differences, &probabilities, scores());
    const descriptor of_scores = apply({CUDNN_POINTWISE_MUL}, weighted, &scale_, scores());
    multiply_transposed(of_scores, queries(query), keys(diff_key));
    // cuDNN adds up in f32, in scratch memory, what blocks of keys contribute.
    const descriptor same_keys =
        view(transposed_keys(key), virtual_tensor(next_id(), key_extents(), key_strides()));
    const descriptor sums =
        multiply(of_scores, same_keys, scratch_tensor(next_id(), query_extents()));
    apply({CUDNN_POINTWISE_IDENTITY}, sums, nullptr, queries(diff_query));
  }

  /// The product of transposed scores and queries, summed over the queries of a group.
  void multiply_transposed(const descriptor& of_scores, const descriptor& of_queries,
                           descriptor result) {
    const descriptor turned =
        view(of_scores, virtual_tensor(next_id(), transposed(score_extents()),
                                       transposed(row_major(score_extents())), type_));
    if (o_.group_size() == 1) {
      multiply(turned, of_queries, std::move(result));
      return;
    }
    const dims heads{o_.n, o_.heads, o_.k, o_.d};
    const descriptor of_heads =
        multiply(turned, of_queries, virtual_tensor(next_id(), heads, row_major(heads), type_));
    reduce(CUDNN_REDUCE_TENSOR_ADD, of_heads, std::move(result));
  }

  op::attention o_;
  op::pass pass_;
  cudnnDataType_t type_;
  std::size_t next_id_ = operand_count;
  descriptor scale_ = constant(1 / std::sqrt(static_cast<float>(o_.d)));
  std::vector<descriptor> nodes_;
};

}  // namespace layerbench::cudnn

namespace layerbench {

/// Attention by cuDNN's flash attention, in the 16-bit types.
template <>
class plan<cudnn::backend, op::attention> : public cudnn::graph_plan<cudnn::attention_graph> {
 public:
  plan(const cudnn::backend& device, const op::attention& o, const plan_request& request)
      : graph_plan(device, o.operands(request.pass, request.type), request.layout, request,
                   graph(o, request),
                   cudnn::positions(o.operands(request.pass, request.type).size()),
                   cudnn::built_plan<cudnn::execution_plan>(request)) {
    for (std::size_t i = 0; i < operands().size(); ++i) {
      if (logical(i).opaque) set_bytes(i, cudnn::attention_graph::workspace_operand_bytes(o));
    }
  }

 private:
  [[nodiscard]] static cudnn::attention_graph graph(const op::attention& o,
                                                    const plan_request& request) {
    constexpr std::size_t first_version = 91501;
    if (cudnnGetVersion() < first_version) {
      // NVIDIA's frontend avoids gradients of older ones where k is no multiple of 128.
      throw unsupported("attention needs cuDNN 9.15.1 or newer, with right gradients of all sizes");
    }
    return {o, request.pass, request.type};
  }
};

static_assert(implements<cudnn::backend, op::attention>);

}  // namespace layerbench
