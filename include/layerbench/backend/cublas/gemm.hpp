// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <cublasLt.h>

#include <fmt/format.h>

#include <layerbench/backend/algorithm_parts.hpp>
#include <layerbench/backend/cublas/matmul.hpp>
#include <layerbench/backend/kernels/gpu/post_kernel.hpp>
#include <layerbench/backend/kernels/gpu/tensor_plan.hpp>
#include <layerbench/op/gemm.hpp>

namespace layerbench {

/// Matrix product by the first algorithm that cuBLASLt's heuristics propose, or by the requested
/// one. cuBLASLt is column-major and the op row-major, which is the transposed matrix: the plan
/// computes dst^T = weights^T * src^T. The bias, or its gradient, is part of the same call, and so
/// is relu where it is the only post-op. A layerbench kernel applies others; then names of
/// algorithms end in gpu::post_kernel_suffix.
template <>
class plan<cublas::backend, op::gemm> : public gpu::tensor_plan {
 public:
  static constexpr bool has_post_ops = true;

  plan(const cublas::backend& device, const op::gemm& o, const plan_request& request)
      : tensor_plan(device, o.operands(request.pass, request.type), request.layout),
        library_(device.library()),
        stream_(device.stream()),
        type_(request.type),
        workspace_limit_(std::min(max_workspace, request.workspace_limit)),
        product_(product_of(supported(o, request), request.pass)),
        post_(device, joins_post(o) ? op::post_ops() : o.post, logical(product_.output)),
        a_(product_.a.stored, cublas::data_type(type_)),
        b_(product_.b.stored, cublas::data_type(type_)),
        result_(product_.result, cublas::data_type(logical(product_.output).type)) {
    if (type_ == dtype::f8_e4m3) scale_.emplace(static_cast<float>(op::f8_scale), device);
    choose(request.algorithm);
  }

  [[nodiscard]] std::size_t workspace_bytes() const override {
    return post_.scratch_bytes() + algorithm_.workspaceSize;
  }
  [[nodiscard]] std::string algorithm() const override {
    return name_of(algorithm_, fast_accumulation_);
  }
  /// By estimated speed; in 8 bits also with fast accumulation.
  [[nodiscard]] std::vector<run::alternative> alternatives(std::size_t /*most*/) override {
    std::vector<run::alternative> known;
    const proposal_list all = proposals(max_alternatives, /*fast_accumulation=*/false);
    const proposal_list fast =
        type_ == dtype::f8_e4m3 ? proposals(max_alternatives, true) : proposal_list();
    const auto add = [&](const proposal_list& from, std::size_t i, bool fast_accumulation) {
      if (i >= from.size()) return;
      const std::string name = name_of(from[i], fast_accumulation);
      if (std::ranges::find(known, name, &run::alternative::algorithm) == known.end())
        known.push_back({name});
    };
    for (std::size_t i = 0; i < max_alternatives; ++i) {
      add(all, i, false);
      add(fast, i, true);
    }
    return known;
  }

  [[nodiscard]] reference::sum as_stored(std::size_t operand, reference::sum exact) const override {
    if (type_ == dtype::f8_e4m3 && operand == product_.output) {
      exact = fast_accumulation_ ? fast_accumulated(operand, exact)
                                 : accumulated_in_parts(operand, exact);
    }
    if (post_ && operand == product_.output) exact = rounded_before_post(exact);
    const bool adds_bias =
        operand == product_.output && (product_.epilogue == CUBLASLT_EPILOGUE_BIAS ||
                                       product_.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS);
    return adds_bias ? rounded_before_bias(exact, logical(*product_.bias)) : exact;
  }

  struct binding {
    cublas::matmul call;
    std::vector<address> addresses;
    address workspace;
  };

  [[nodiscard]] binding bind(std::span<const address> addresses, address workspace) const {
    binding bound{matmul_descriptor(fast_accumulation_), {}, workspace};
    place(bound, addresses);
    return bound;
  }

  void place(binding& bound, std::span<const address> addresses) const {
    bound.addresses.assign(addresses.begin(), addresses.end());
    if (product_.bias) bound.call.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, addresses[*product_.bias]);
  }

  void run(const binding& bound) const {
    constexpr float one = 1;
    constexpr float zero = 0;
    address dst = bound.addresses[product_.output];
    address output = post_.result_address(dst, bound.workspace);  // also C, unread since beta is 0
    cuda::check(
        cublasLtMatmul(library_, bound.call.get(), &one, bound.addresses[product_.a.operand],
                       a_.get(), bound.addresses[product_.b.operand], b_.get(), &zero, output,
                       result_.get(), output, result_.get(), &algorithm_.algo,
                       post_.library_workspace(bound.workspace), algorithm_.workspaceSize, stream_),
        "cublasLtMatmul");
    post_.run(output, bound.addresses);
  }

 private:
  using proposal_list = std::vector<cublasLtMatmulHeuristicResult_t>;

  static constexpr std::size_t max_workspace = std::size_t{64} << 20U;  ///< bytes; more has no use
  static constexpr std::size_t max_alternatives = 32;

  /// A factor: an operand as a stored column-major matrix, and whether the product transposes it.
  struct factor {
    std::size_t operand;
    cublas::matrix stored;
    bool transposed;
  };
  struct product {
    factor a, b;
    std::size_t output;
    cublas::matrix result;
    std::optional<std::size_t> bias;  ///< position of the operand
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  };

  /// The op, if cuBLASLt supports it. In 8 bits both factors must have the axis of the sums last,
  /// and n and k must be multiples of 16. Throws unsupported.
  static op::gemm supported(op::gemm o, const plan_request& request) {
    if (request.pass == op::pass::bwd) {
      throw unsupported("layerbench has no cuBLAS plans for the gradients of a batch of products");
    }
    if (request.type != dtype::f8_e4m3) return o;
    if (request.pass != op::pass::fwd) {
      throw unsupported("layerbench has cuBLAS plans in f8_e4m3 for inference only");
    }
    if (o.m == 1) o.a_transposed = false;  // a vector is the same in memory
    if (o.a_transposed || !o.b_transposed) {
      throw unsupported("cuBLAS needs src stored m*k and weights n*k (b_transposed) in f8_e4m3");
    }
    if (o.n % 16 != 0 || o.k % 16 != 0) {
      throw unsupported("cuBLAS needs n and k to be multiples of 16 in f8_e4m3");
    }
    return o;
  }

  /// The factor of an operand rows*columns, which is stored columns*rows if `stored_transposed`.
  /// The product needs its transpose if `used_transposed`.
  static factor factor_of(std::size_t operand, const op::gemm& o, std::int64_t rows,
                          std::int64_t columns, bool stored_transposed, bool used_transposed) {
    const cublas::matrix stored = stored_transposed ? cublas::matrix{rows, columns, o.batch}
                                                    : cublas::matrix{columns, rows, o.batch};
    return {operand, stored, stored_transposed == used_transposed};
  }

  static product product_of(const op::gemm& o, op::pass pass) {
    if (pass == op::pass::bwd_data) return gradient_of_source(o);
    if (pass == op::pass::bwd_weights) return gradient_of_weights(o);
    product result{factor_of(1, o, o.k, o.n, o.b_transposed, true),
                   factor_of(0, o, o.m, o.k, o.a_transposed, true),
                   o.operands(op::pass::fwd, dtype::f32).size() - 1,
                   {o.n, o.m, o.batch},
                   {}};
    if (joins_post(o)) result.epilogue = CUBLASLT_EPILOGUE_RELU;
    if (o.bias) {
      result.bias = 2;
      result.epilogue = joins_post(o) ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
    }
    return result;
  }

  /// diff_src = diff_dst * weights^T, m*k.
  static product gradient_of_source(const op::gemm& o) {
    const auto dst = [&](bool transposed) { return factor_of(0, o, o.m, o.n, false, transposed); };
    const auto weights = [&](bool transposed) {
      return factor_of(1, o, o.k, o.n, o.b_transposed, transposed);
    };
    if (o.a_transposed) return {dst(false), weights(true), 2, {o.m, o.k}, {}};
    return {weights(false), dst(true), 2, {o.k, o.m}, {}};
  }

  /// diff_weights = src^T * diff_dst, k*n, and diff_bias, the sums of diff_dst over m.
  static product gradient_of_weights(const op::gemm& o) {
    const auto src = [&](bool transposed) {
      return factor_of(0, o, o.m, o.k, o.a_transposed, transposed);
    };
    const auto dst = [&](bool transposed) { return factor_of(1, o, o.m, o.n, false, transposed); };
    product result = o.b_transposed ? product{src(true), dst(false), 2, {o.k, o.n}, {}}
                                    : product{dst(true), src(false), 2, {o.n, o.k}, {}};
    if (o.bias) {
      result.bias = 3;
      result.epilogue = o.b_transposed ? CUBLASLT_EPILOGUE_BGRADB : CUBLASLT_EPILOGUE_BGRADA;
    }
    return result;
  }

  [[nodiscard]] cublas::matmul matmul_descriptor(bool fast_accumulation) const {
    cublas::matmul result(type_);
    const auto operation = [](const factor& f) { return f.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
    result.set(CUBLASLT_MATMUL_DESC_TRANSA, operation(product_.a));
    result.set(CUBLASLT_MATMUL_DESC_TRANSB, operation(product_.b));
    result.set(CUBLASLT_MATMUL_DESC_EPILOGUE, product_.epilogue);
    if (product_.bias) {
      result.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE,
                 cublas::data_type(logical(*product_.bias).type));
    }
    if (scale_) {
      result.set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scale_->at());
      result.set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scale_->at());
    }
    if (fast_accumulation) result.set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
    return result;
  }

  /// At most `count` algorithms that the heuristics propose, by estimated speed.
  [[nodiscard]] proposal_list proposals(std::size_t count, bool fast_accumulation) const {
    const cublas::matmul call = matmul_descriptor(fast_accumulation);
    const cublas::preference preference(type_, workspace_limit_);
    proposal_list all(count);
    int found = 0;
    cuda::check(cublasLtMatmulAlgoGetHeuristic(library_, call.get(), a_.get(), b_.get(),
                                               result_.get(), result_.get(), preference.get(),
                                               static_cast<int>(count), all.data(), &found),
                "cublasLtMatmulAlgoGetHeuristic");
    all.resize(static_cast<std::size_t>(found));
    std::erase_if(all, [](const auto& item) { return item.state != CUBLAS_STATUS_SUCCESS; });
    return all;
  }

  [[nodiscard]] std::string name_of(const cublasLtMatmulHeuristicResult_t& proposal,
                                    bool fast_accumulation) const {
    return cublas::text(proposal.algo, fast_accumulation) +
           std::string(post_ ? gpu::post_kernel_suffix : "");
  }

  /// Whether the post-ops are part of cuBLASLt's call.
  [[nodiscard]] static bool joins_post(const op::gemm& o) {
    return o.post == op::post_ops{op::post_op::relu};
  }

  /// Sets the algorithm by name; empty: the first proposal. Throws unsupported.
  void choose(const std::string& algorithm) {
    fast_accumulation_ =
        type_ == dtype::f8_e4m3 && library_part(algorithm).ends_with(gpu::fast_suffix);
    const std::size_t count = algorithm.empty() ? 1 : max_alternatives;
    for (const auto& proposal : proposals(count, fast_accumulation_)) {
      if (!algorithm.empty() && name_of(proposal, fast_accumulation_) != algorithm) continue;
      algorithm_ = proposal;
      return;
    }
    throw unsupported(fmt::format("cuBLAS has no algorithm{}{} for this shape and type",
                                  algorithm.empty() ? "" : " ", algorithm));
  }

  cublasLtHandle_t library_;
  cudaStream_t stream_;
  dtype type_;
  std::size_t workspace_limit_;
  product product_;
  gpu::post_kernel post_;
  cublas::matrix_layout a_;
  cublas::matrix_layout b_;
  cublas::matrix_layout result_;
  std::optional<gpu::device_number> scale_;  ///< of both factors in 8 bits
  cublasLtMatmulHeuristicResult_t algorithm_{};
  bool fast_accumulation_ = false;  ///< CUBLASLT_MATMUL_DESC_FAST_ACCUM
};

static_assert(implements<cublas::backend, op::gemm>);

}  // namespace layerbench
