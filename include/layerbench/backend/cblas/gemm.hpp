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

#include <fmt/format.h>

#include <layerbench/backend/algorithm_parts.hpp>
#include <layerbench/backend/cblas/backend.hpp>
#include <layerbench/backend/kernels/host/rows.hpp>
#include <layerbench/backend/kernels/host/sums.hpp>
#include <layerbench/backend/kernels/host/tensor_plan.hpp>
#include <layerbench/op/gemm.hpp>

namespace layerbench::cblas {

/// Matrix products by the functions of a library, on operands as the op stores them. A bias is
/// written to the result first, as frameworks do, and the product added to it. Functions of 16 bits
/// have results in f32, which a loop of layerbench rounds. Where a library has no function for a
/// batch, it is called for each product. An alternative for constant weights in f32, where the
/// library has it, packs them before the call.
class gemm : public host::call_plan {
 public:
  gemm(const backend& device, const op::gemm& o, const plan_request& request)
      : call_plan("", o.operands(request.pass, request.type), request.layout),
        library_(device.library()),
        type_(request.type),
        batch_(static_cast<int>(o.batch)),
        products_(products_of(o, request.pass)) {
    require_function();
    require_sizes();
    const bool forward = request.pass == op::pass::fwd || request.pass == op::pass::fwd_training;
    has_bias_ = o.bias && forward;
    if (o.bias && !forward && request.pass != op::pass::bwd_data)
      summed_ = matrix{request.pass == op::pass::bwd ? 2U : 1U, o.batch * o.m, o.n, false};
    can_pack_ = library_.packed_product != nullptr && request.pass == op::pass::fwd &&
                type_ == dtype::f32 && batch_ == 1;
    packs_ = can_pack_ && library_part(request.algorithm) == packed_name;
    if (packs_) set_bytes(1, packed_bytes(products_.front()));
    set_algorithm(name());
  }

  [[nodiscard]] std::vector<run::alternative> alternatives(std::size_t /*most*/) override {
    if (!can_pack_) return {};
    return {{"cblas_sgemm"}, {packed_name}};
  }
  [[nodiscard]] std::size_t workspace_bytes() const override {
    std::int64_t most = 0;
    for (const product& one : products_) most = std::max(most, one.result.size());
    return type_ == dtype::f32 ? 0 : static_cast<std::size_t>(most * batch_) * sizeof(float);
  }

  void upload(std::size_t operand, std::span<const float> values, address to) const override {
    if (!packs_ || operand != 1) return call_plan::upload(operand, values, to);
    const product& one = products_.front();
    library_.pack_factor(row_major, second_factor, flag(one.b), one.rows(), one.columns(),
                         one.inner(), 1, values.data(), one.b.leading(), static_cast<float*>(to));
  }
  void download(std::size_t operand, address from, std::span<float> values) const override {
    if (packs_ && operand == 1) throw unsupported("packed weights cannot be read back");
    call_plan::download(operand, from, values);
  }

  void run(const binding& bound) const {
    for (const product& one : products_) multiply(bound, one);
    if (!summed_) return;
    with_number(type_, [&]<class T>(T /*tag*/) {
      host::column_sums(summed_->rows, summed_->columns, at<T>(bound, summed_->operand),
                        at<T>(bound, operands().size() - 1));
    });
  }

 private:
  static constexpr const char* packed_name = "cblas_sgemm_compute";

  /// An operand as a factor rows*columns, stored the other way round if `turned`.
  struct matrix {
    std::size_t operand;
    std::int64_t rows, columns;
    bool turned;

    [[nodiscard]] matrix transposed() const { return {operand, columns, rows, !turned}; }
    [[nodiscard]] std::int64_t size() const { return rows * columns; }
    [[nodiscard]] int leading() const { return static_cast<int>(turned ? rows : columns); }
  };
  /// result = a * b, as the library computes it: the result is not turned.
  struct product {
    matrix a, b, result;

    [[nodiscard]] int rows() const { return static_cast<int>(result.rows); }
    [[nodiscard]] int columns() const { return static_cast<int>(result.columns); }
    [[nodiscard]] int inner() const { return static_cast<int>(a.columns); }
  };

  [[nodiscard]] static product product_to(const matrix& result, const matrix& a, const matrix& b) {
    if (!result.turned) return {a, b, result};
    return {b.transposed(), a.transposed(), result.transposed()};
  }

  [[nodiscard]] static std::vector<product> products_of(const op::gemm& o, op::pass pass) {
    const auto src = [&](std::size_t i) { return matrix{i, o.m, o.k, o.a_transposed}; };
    const auto weights = [&](std::size_t i) { return matrix{i, o.k, o.n, o.b_transposed}; };
    const auto dst = [&](std::size_t i) { return matrix{i, o.m, o.n, false}; };
    switch (pass) {
      case op::pass::bwd_data: return {product_to(src(2), dst(0), weights(1).transposed())};
      case op::pass::bwd_weights: return {product_to(weights(2), src(0).transposed(), dst(1))};
      case op::pass::bwd:
        return {product_to(src(3), dst(2), weights(1).transposed()),
                product_to(weights(4), src(0).transposed(), dst(2))};
      default: return {product_to(dst(o.bias ? 3 : 2), src(0), weights(1))};
    }
  }

  [[nodiscard]] static int flag(const matrix& of) {
    return of.turned ? transposed : not_transposed;
  }

  [[nodiscard]] std::size_t packed_bytes(const product& of) const {
    return library_.packed_bytes(second_factor, of.rows(), of.columns(), of.inner());
  }

  /// The function for a type of 16 bits; null where there is none.
  [[nodiscard]] functions::gemm_16_bits* function_of_16_bits() const {
    return type_ == dtype::bf16  ? library_.product_bf16
           : type_ == dtype::f16 ? library_.product_f16
                                 : nullptr;
  }
  void require_function() const {
    if (type_ == dtype::f32 || function_of_16_bits() != nullptr) return;
    throw unsupported(fmt::format("the library has no products in {} for this processor",
                                  layerbench::name(type_)));
  }
  void require_sizes() const {
    for (const product& one : products_) {
      for (const matrix& of : {one.a, one.b, one.result}) require_size(of.size());
    }
  }

  /// Functions and loops, in the order of the calls.
  [[nodiscard]] std::string name() const {
    std::string function = packs_                 ? packed_name
                           : type_ == dtype::bf16 ? "cblas_gemm_bf16bf16f32"
                           : type_ == dtype::f16  ? "cblas_gemm_f16f16f32"
                                                  : "cblas_sgemm";
    if (calls_once_for_batch()) {
      function += "_batch_strided";
    } else if (batch_ > 1) {
      function = "loop_of_" + function;
    }
    const std::string behind = type_ == dtype::f32 ? "" : std::string("+") + host::round_name;
    std::string all = has_bias_ ? std::string(host::bias_rows_name) + "+" : "";
    for (std::size_t i = 0; i < products_.size(); ++i) {
      all.append(i > 0 ? "+" : "").append(function).append(behind);
    }
    return summed_ ? all + "+" + host::column_sums_name : all;
  }
  [[nodiscard]] bool calls_once_for_batch() const {
    return batch_ > 1 && type_ == dtype::f32 && library_.products != nullptr;
  }

  void multiply(const binding& bound, const product& one) const {
    auto* const result = type_ == dtype::f32 ? at<float>(bound, one.result.operand)
                                             : static_cast<float*>(bound.workspace);
    if (has_bias_) {
      with_number(type_, [&]<class T>(T /*tag*/) {
        host::bias_rows(batch_ * one.result.rows, one.result.columns, at<T>(bound, 2), result);
      });
    }
    call(bound, one, has_bias_ ? 1.0F : 0.0F, result);
    if (type_ == dtype::f32) return;
    with_number(type_, [&]<class T>(T /*tag*/) {
      host::round(batch_ * one.result.size(), result, at<T>(bound, one.result.operand));
    });
  }

  void call(const binding& bound, const product& one, float beta, float* result) const {
    const auto& [a, b, c] = one;
    if (packs_) {
      library_.packed_product(row_major, flag(a), packed, one.rows(), one.columns(), one.inner(),
                              at<float>(bound, a.operand), a.leading(), at<float>(bound, b.operand),
                              b.leading(), beta, result, c.leading());
    } else if (calls_once_for_batch()) {
      library_.products(row_major, flag(a), flag(b), one.rows(), one.columns(), one.inner(), 1,
                        at<float>(bound, a.operand), a.leading(), static_cast<int>(a.size()),
                        at<float>(bound, b.operand), b.leading(), static_cast<int>(b.size()), beta,
                        result, c.leading(), static_cast<int>(c.size()), batch_);
    } else if (type_ == dtype::f32) {
      call_each<float>(library_.product, bound, one, beta, result);
    } else {
      call_each<std::uint16_t>(function_of_16_bits(), bound, one, beta, result);
    }
  }

  template <class T, class Function>
  void call_each(Function* function, const binding& bound, const product& one, float beta,
                 float* result) const {
    const T* a = at<T>(bound, one.a.operand);
    const T* b = at<T>(bound, one.b.operand);
    for (int i = 0; i < batch_; ++i) {
      function(row_major, flag(one.a), flag(one.b), one.rows(), one.columns(), one.inner(), 1,
               a + i * one.a.size(), one.a.leading(), b + i * one.b.size(), one.b.leading(), beta,
               result + i * one.result.size(), one.result.leading());
    }
  }

  const functions& library_;
  dtype type_;
  int batch_;
  std::vector<product> products_;
  bool has_bias_ = false;         ///< the product is added to it
  std::optional<matrix> summed_;  ///< whose column sums are the gradient of the bias
  bool can_pack_ = false;
  bool packs_ = false;
};

}  // namespace layerbench::cblas
