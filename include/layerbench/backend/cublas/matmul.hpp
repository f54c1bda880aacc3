// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <cublasLt.h>

#include <fmt/format.h>

#include <layerbench/backend/cublas/backend.hpp>
#include <layerbench/backend/cuda/resources.hpp>
#include <layerbench/backend/kernels/gpu/tensor_plan.hpp>
#include <layerbench/shape/dtype.hpp>

/// Descriptors of cuBLASLt for matrix products.
namespace layerbench::cublas {

/// Storage type of a data type. Throws unsupported.
[[nodiscard]] inline cudaDataType_t data_type(dtype type) {
  switch (type) {
    case dtype::f32:
    case dtype::tf32: return CUDA_R_32F;
    case dtype::f16: return CUDA_R_16F;
    case dtype::bf16: return CUDA_R_16BF;
    case dtype::f8_e4m3: return CUDA_R_8F_E4M3;
    default: throw unsupported(fmt::format("layerbench has no cuBLAS plans in {}", name(type)));
  }
}

/// A batch of contiguous column-major matrices.
struct matrix {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t batch = 1;
};

class matrix_layout {
 public:
  matrix_layout(const matrix& m, cudaDataType_t type)
      : self_(cuda::make_handle<handle>("cublasLtMatrixLayoutCreate", &cublasLtMatrixLayoutCreate,
                                        type, static_cast<std::uint64_t>(m.rows),
                                        static_cast<std::uint64_t>(m.columns), m.rows)) {
    if (m.batch == 1) return;
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(m.batch));
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, m.rows * m.columns);
  }
  [[nodiscard]] cublasLtMatrixLayout_t get() const noexcept { return self_.get(); }

 private:
  template <class T>
  void set(cublasLtMatrixLayoutAttribute_t name, const T& value) {
    cuda::check(cublasLtMatrixLayoutSetAttribute(get(), name, &value, sizeof value),
                fmt::format("cublasLtMatrixLayoutSetAttribute {}", static_cast<int>(name)));
  }
  using handle = cuda::handle<cublasLtMatrixLayout_t, &cublasLtMatrixLayoutDestroy>;
  handle self_;
};

/// Descriptor of the product op(a) * op(b) and its epilogue.
class matmul {
 public:
  explicit matmul(dtype type)
      : self_(cuda::make_handle<decltype(self_)>(
            "cublasLtMatmulDescCreate", &cublasLtMatmulDescCreate,
            type == dtype::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F)) {}

  template <class T>
  void set(cublasLtMatmulDescAttributes_t name, const T& value) {
    cuda::check(
        cublasLtMatmulDescSetAttribute(get(), name, static_cast<const void*>(&value), sizeof value),
        fmt::format("cublasLtMatmulDescSetAttribute {}", static_cast<int>(name)));
  }
  [[nodiscard]] cublasLtMatmulDesc_t get() const noexcept { return self_.get(); }

 private:
  cuda::handle<cublasLtMatmulDesc_t, &cublasLtMatmulDescDestroy> self_;
};

/// Constraints on the algorithms of the heuristics.
class preference {
 public:
  static constexpr std::uint32_t alignment = 64;  ///< bytes; minimum alignment of operands

  /// All sums in f32, also where a sum is split: reductions in 16 or 8 bits are not allowed. f32
  /// does not use tensor cores, tf32 does.
  preference(dtype type, std::size_t workspace_bytes) {
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
    constexpr std::uint32_t f32_only = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        type == dtype::f32 || type == dtype::tf32 ? std::uint32_t{CUBLASLT_REDUCTION_SCHEME_MASK}
                                                  : f32_only);
    constexpr std::uint64_t tensor_cores = CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK;
    constexpr std::uint64_t fma = CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA;
    if (type == dtype::f32) set(CUBLASLT_MATMUL_PREF_IMPL_MASK, ~tensor_cores);
    if (type == dtype::tf32) set(CUBLASLT_MATMUL_PREF_IMPL_MASK, ~fma);
    for (const auto operand :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      set(operand, alignment);  // small operands share a page, so they are not page-aligned
    }
  }
  [[nodiscard]] cublasLtMatmulPreference_t get() const noexcept { return self_.get(); }

 private:
  template <class T>
  void set(cublasLtMatmulPreferenceAttributes_t name, const T& value) {
    cuda::check(cublasLtMatmulPreferenceSetAttribute(get(), name, &value, sizeof value),
                fmt::format("cublasLtMatmulPreferenceSetAttribute {}", static_cast<int>(name)));
  }
  using handle = cuda::handle<cublasLtMatmulPreference_t, &cublasLtMatmulPreferenceDestroy>;
  handle self_ =
      cuda::make_handle<handle>("cublasLtMatmulPreferenceCreate", &cublasLtMatmulPreferenceCreate);
};

/// Name of an algorithm from the attributes of its configuration, such as
/// "algo66_tile20_stages35_splitk2_reduction2_cluster3", with the suffix behind. Algorithms with
/// equal names are equal. The first four attributes are always there, the others where they are not
/// 0. `reduction` says how the parts of a split sum are added: 1 in the result's memory and type, 2
/// in f32, 4 in the result's type (cublasLtReductionScheme_t).
[[nodiscard]] inline std::string text(const cublasLtMatmulAlgo_t& algorithm,
                                      bool fast_accumulation) {
  const auto number = [&]<class Number = std::uint32_t>(cublasLtMatmulAlgoConfigAttributes_t name,
                                                        Number value = 0) {
    std::size_t written = 0;
    cuda::check(
        cublasLtMatmulAlgoConfigGetAttribute(&algorithm, name, &value, sizeof value, &written),
        "cublasLtMatmulAlgoConfigGetAttribute");
    return value;
  };
  std::string result =
      fmt::format("algo{}_tile{}_stages{}_splitk{}", number(CUBLASLT_ALGO_CONFIG_ID),
                  number(CUBLASLT_ALGO_CONFIG_TILE_ID), number(CUBLASLT_ALGO_CONFIG_STAGES_ID),
                  number(CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
  const auto add = [&](const char* name, std::uint32_t value) {
    if (value != 0) result += fmt::format("_{}{}", name, value);
  };
  constexpr std::uint16_t narrow = 0;  // the type of these attributes
  add("reduction", number(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME));
  add("swizzle", number(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING));
  add("custom", number(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION));
  add("inner", number(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, narrow));
  add("cluster", number(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, narrow));
  return fast_accumulation ? result + std::string(gpu::fast_suffix) : result;
}

}  // namespace layerbench::cublas
