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

#include <layerbench/backend/cublas/matmul.hpp>
#include <layerbench/backend/cuda/tensor_plan.hpp>
#include <layerbench/op/gemm.hpp>

namespace layerbench {

/// Matrix product by the library's first choice of an algorithm, or by the one asked for. What the
/// op stores row by row is, column by column, the transposed matrix: products are computed
/// transposed, factors exchanged. A bias is added, or its gradient summed, in the same call.
template <>
class plan<cublas::backend, op::gemm> : public cuda::tensor_plan {
 public:
  plan(const cublas::backend& device, const op::gemm& o, const plan_request& request)
      : tensor_plan(device, o.operands(request.pass, request.type), request.order),
        library_(device.library()),
        type_(request.type),
        workspace_limit_(std::min(usual_workspace, request.workspace_limit)),
        how_(product_of(possible(o, request), request.pass)),
        a_(how_.a.stored, cublas::data_type(type_)),
        b_(how_.b.stored, cublas::data_type(type_)),
        result_(how_.result, cublas::data_type(type_)),
        addend_(how_.result, type_ == dtype::f8_e4m3 ? CUDA_R_16BF : cublas::data_type(type_)) {
    choose(request.algorithm);
  }

  [[nodiscard]] std::size_t workspace_bytes() const { return chosen_.workspaceSize; }
  [[nodiscard]] std::string algorithm() const { return cublas::text(chosen_.algo); }
  [[nodiscard]] std::vector<std::string> alternatives() const {
    std::vector<std::string> names;
    for (const cublasLtMatmulHeuristicResult_t& proposal : proposals(most_alternatives)) {
      const std::string name = cublas::text(proposal.algo);
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    return names;
  }

  struct binding {
    cublas::matmul call;
    std::vector<address> places;
    address workspace;
  };

  [[nodiscard]] binding bind(std::span<const address> places, address workspace) const {
    binding bound{described(), {}, workspace};
    place(bound, places);
    return bound;
  }

  void place(binding& bound, std::span<const address> places) const {
    bound.places.assign(places.begin(), places.end());
    if (how_.bias) bound.call.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, places[*how_.bias]);
  }

  void run(const binding& bound) const {
    constexpr float one = 1;
    constexpr float zero = 0;
    address to = bound.places[how_.output];
    const void* addend = type_ == dtype::f8_e4m3 ? nullptr : to;  // of another type; not looked at
    cuda::check(cublasLtMatmul(library_, bound.call.get(), &one, bound.places[how_.a.operand],
                               a_.get(), bound.places[how_.b.operand], b_.get(), &zero, addend,
                               addend_.get(), to, result_.get(), &chosen_.algo, bound.workspace,
                               chosen_.workspaceSize, stream()),
                "cublasLtMatmul");
  }

 private:
  static constexpr std::size_t usual_workspace = std::size_t{64} << 20U;  ///< more is of no use
  static constexpr std::size_t most_alternatives = 32;

  /// A factor: an operand as it is stored, column by column, and whether it enters transposed.
  struct factor {
    std::size_t operand;
    cublas::matrix stored;
    bool transposed;
  };
  struct product {
    factor a, b;
    std::size_t output;
    cublas::matrix result;
    std::optional<std::size_t> bias;  ///< an operand
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  };

  /// The op, where the library has it in the type: of 8 bits it wants both factors with the axis of
  /// the sums last, and axes of whole 16 bytes. Throws unsupported.
  static op::gemm possible(op::gemm o, const plan_request& request) {
    if (request.type != dtype::f8_e4m3) return o;
    if (request.pass != op::pass::fwd) {
      throw unsupported("layerbench has no cuBLAS plans in f8_e4m3 but for inference");
    }
    if (o.m == 1) o.a_transposed = false;  // a line lies the same either way
    if (o.a_transposed || !o.b_transposed) {
      throw unsupported("cuBLAS wants src stored m*k and weights n*k (b_transposed) in f8_e4m3");
    }
    if (o.n % 16 != 0 || o.k % 16 != 0) {
      throw unsupported("cuBLAS wants n and k to be multiples of 16 in f8_e4m3");
    }
    return o;
  }

  /// rows * columns of the op, of which `transposed` says that they are stored the other way round;
  /// wanted transposed, as products here are, or not.
  static factor factor_of(std::size_t operand, const op::gemm& o, std::int64_t rows,
                          std::int64_t columns, bool transposed, bool wanted_transposed) {
    const cublas::matrix stored = transposed ? cublas::matrix{rows, columns, o.batch}
                                             : cublas::matrix{columns, rows, o.batch};
    return {operand, stored, transposed == wanted_transposed};
  }

  static product product_of(const op::gemm& o, op::pass pass) {
    if (pass == op::pass::bwd_data) return gradient_of_source(o);
    if (pass == op::pass::bwd_weights) return gradient_of_weights(o);
    product result{factor_of(1, o, o.k, o.n, o.b_transposed, true),
                   factor_of(0, o, o.m, o.k, o.a_transposed, true),
                   o.bias ? 3U : 2U,
                   {o.n, o.m, o.batch},
                   {}};
    if (o.bias) {
      result.bias = 2;
      result.epilogue = CUBLASLT_EPILOGUE_BIAS;
    }
    return result;
  }

  /// diff_src = diff_dst * weights^T, m * k.
  static product gradient_of_source(const op::gemm& o) {
    const auto dst = [&](bool transposed) { return factor_of(0, o, o.m, o.n, false, transposed); };
    const auto weights = [&](bool transposed) {
      return factor_of(1, o, o.k, o.n, o.b_transposed, transposed);
    };
    if (o.a_transposed) return {dst(false), weights(true), 2, {o.m, o.k}, {}};
    return {weights(false), dst(true), 2, {o.k, o.m}, {}};
  }

  /// diff_weights = src^T * diff_dst, k * n; the sums over all images of diff_dst beside.
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

  [[nodiscard]] cublas::matmul described() const {
    cublas::matmul result(type_);
    const auto taken = [](const factor& f) { return f.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
    result.set(CUBLASLT_MATMUL_DESC_TRANSA, taken(how_.a));
    result.set(CUBLASLT_MATMUL_DESC_TRANSB, taken(how_.b));
    result.set(CUBLASLT_MATMUL_DESC_EPILOGUE, how_.epilogue);
    if (how_.bias) {
      result.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, cublas::data_type(logical(*how_.bias).type));
    }
    return result;
  }

  /// The library's proposals, the fastest in its opinion first, so many at most.
  [[nodiscard]] std::vector<cublasLtMatmulHeuristicResult_t> proposals(std::size_t most) const {
    const cublas::matmul call = described();
    const cublas::preference wanted(type_, workspace_limit_);
    std::vector<cublasLtMatmulHeuristicResult_t> all(most);
    int found = 0;
    cuda::check(cublasLtMatmulAlgoGetHeuristic(library_, call.get(), a_.get(), b_.get(),
                                               addend_.get(), result_.get(), wanted.get(),
                                               static_cast<int>(most), all.data(), &found),
                "cublasLtMatmulAlgoGetHeuristic");
    all.resize(static_cast<std::size_t>(found));
    std::erase_if(all, [](const auto& item) { return item.state != CUBLAS_STATUS_SUCCESS; });
    return all;
  }

  /// `algorithm`: its name; empty for the first.
  void choose(const std::string& algorithm) {
    for (const auto& proposal : proposals(algorithm.empty() ? 1 : most_alternatives)) {
      if (!algorithm.empty() && cublas::text(proposal.algo) != algorithm) continue;
      chosen_ = proposal;
      return;
    }
    throw unsupported(fmt::format("cuBLAS has no algorithm{}{} for this shape and type",
                                  algorithm.empty() ? "" : " ", algorithm));
  }

  cublasLtHandle_t library_;
  dtype type_;
  std::size_t workspace_limit_;
  product how_;
  cublas::matrix_layout a_;
  cublas::matrix_layout b_;
  cublas::matrix_layout result_;
  cublas::matrix_layout addend_;  ///< of what would be added; no matrix of 8 bits can be
  cublasLtMatmulHeuristicResult_t chosen_{};
};

static_assert(implements<cublas::backend, op::gemm>);

}  // namespace layerbench
