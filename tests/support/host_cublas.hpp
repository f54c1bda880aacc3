// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <cublasLt.h>

#include <layerbench/backend/number_types.hpp>

#include "host_cuda.hpp"

/// Stands in for cuBLAS in a program that does not link it: computes on this program's processors
/// what the calls describe: which factors, how they lie, transposed or not. To be included in one
/// file of a program.

struct cublasLtContext {};

namespace {

/// What the opaque descriptors of the library are here.
struct layout_of_matrix {
  cudaDataType_t type;
  std::uint64_t rows, columns;
  std::int64_t leading;
  std::int32_t batch = 1;
  std::int64_t offset = 0;
};
struct product {
  cublasComputeType_t compute;
  cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
  cudaDataType_t bias_type = CUDA_R_32F;
  std::int8_t fast = 0;  ///< partial sums keep 14 bits
  const float* a_scale = nullptr;
  const float* b_scale = nullptr;
};

template <class Opaque, class Meant>
Meant& meant(Opaque* raw) {
  static_assert(sizeof(Meant) <= sizeof(Opaque));
  return *reinterpret_cast<Meant*>(raw);
}
layout_of_matrix& of(cublasLtMatrixLayout_t raw) {
  return meant<cublasLtMatrixLayoutOpaque_t, layout_of_matrix>(raw);
}
product& of(cublasLtMatmulDesc_t raw) { return meant<cublasLtMatmulDescOpaque_t, product>(raw); }

template <class Raw>
cublasStatus_t make(Raw** result) {
  *result = static_cast<Raw*>(std::calloc(1, sizeof(Raw)));
  return CUBLAS_STATUS_SUCCESS;
}
template <class T>
cublasStatus_t store(T& to, const void* from, std::size_t bytes) {
  if (bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&to, from, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

/// Element `i` of memory of that type.
struct elements {
  void* start;
  cudaDataType_t type;

  [[nodiscard]] double get(std::int64_t i) const {
    if (type == CUDA_R_16BF) return float(static_cast<layerbench::bf16*>(start)[i]);
    if (type == CUDA_R_16F) return double(static_cast<layerbench::f16*>(start)[i]);
    if (type == CUDA_R_8F_E4M3) return float(static_cast<layerbench::f8_e4m3*>(start)[i]);
    return static_cast<float*>(start)[i];
  }
  void set(std::int64_t i, double value) const {
    const auto number = static_cast<float>(value);
    if (type == CUDA_R_16BF) {
      static_cast<layerbench::bf16*>(start)[i] = layerbench::bf16(number);
    } else if (type == CUDA_R_16F) {
      static_cast<layerbench::f16*>(start)[i] = static_cast<layerbench::f16>(number);
    } else if (type == CUDA_R_8F_E4M3) {
      static_cast<layerbench::f8_e4m3*>(start)[i] = layerbench::f8_e4m3(number);
    } else {
      static_cast<float*>(start)[i] = number;
    }
  }
};

/// One of a batch of matrices, as it enters a product.
struct factor {
  elements in;
  layout_of_matrix how;
  bool transposed;
  std::int64_t batch;

  [[nodiscard]] std::int64_t rows() const { return size(transposed ? how.columns : how.rows); }
  [[nodiscard]] std::int64_t columns() const { return size(transposed ? how.rows : how.columns); }
  [[nodiscard]] std::int64_t place(std::int64_t row, std::int64_t column) const {
    const std::int64_t first = batch * how.offset;
    return first + (transposed ? row * how.leading + column : column * how.leading + row);
  }
  [[nodiscard]] double at(std::int64_t row, std::int64_t column) const {
    return in.get(place(row, column));
  }
  static std::int64_t size(std::uint64_t count) { return static_cast<std::int64_t>(count); }
};

/// Whether sizes fit, and of products in 8 bits all that the library demands.
bool is_possible(const product& call, const factor& a, const factor& b,
                 const layout_of_matrix& added, const factor& result) {
  const bool fits =
      a.columns() == b.rows() && a.rows() == result.rows() && b.columns() == result.columns();
  if (a.how.type != CUDA_R_8F_E4M3) return fits;
  const auto is_narrow = [](const factor* item) {
    return item->how.type == CUDA_R_8F_E4M3 && item->how.leading % 16 == 0;
  };
  const bool biased = call.bias == nullptr || call.bias_type == CUDA_R_16BF;
  return fits && biased && call.compute == CUBLAS_COMPUTE_32F && call.a == CUBLAS_OP_T &&
         call.b == CUBLAS_OP_N && added.type == CUDA_R_16BF && result.how.type == CUDA_R_16BF &&
         std::ranges::all_of(std::array{&a, &b}, is_narrow);
}

/// Sums along the products' own sums, of the factor on one side.
void sum_gradient(const product& call, const factor& a, const factor& b) {
  const elements sums{call.bias, call.bias_type};
  const bool of_a = call.epilogue == CUBLASLT_EPILOGUE_BGRADA;
  for (std::int64_t i = 0; i < (of_a ? a.rows() : b.columns()); ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < a.columns(); ++j) sum += of_a ? a.at(i, j) : b.at(j, i);
    sums.set(i, sum);
  }
}

/// Whether products have fast accumulation also where they are not to have it.
bool always_fast = false;

/// Cuts off what is behind the first 14 bits of the significand.
double with_14_bits(double x) {
  int exponent = 0;
  const double significand = std::frexp(x, &exponent);
  return std::ldexp(std::trunc(std::ldexp(significand, 14)), exponent - 14);
}

void multiply(const product& call, const factor& a, const factor& b, const factor& result) {
  const bool adds =
      call.epilogue == CUBLASLT_EPILOGUE_BIAS || call.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
  const bool positive =
      call.epilogue == CUBLASLT_EPILOGUE_RELU || call.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
  const bool is_narrow = call.a_scale != nullptr;
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (std::int64_t j = 0; j < b.columns(); ++j) {
      double sum = 0;
      double part = 0;  // that the tensor cores add up; in 8 bits they keep 14 bits of it
      for (std::int64_t k = 0; k < a.columns(); ++k) {
        part += a.at(i, k) * b.at(k, j);
        const bool is_added = k % 32 == 31;  // to the sum of what came before
        if (is_added && is_narrow) part = with_14_bits(part);
        const bool is_promoted = k % 128 == 127 && call.fast == 0 && !always_fast;
        if (is_promoted) sum += std::exchange(part, 0.0);
      }
      sum += part;
      for (const float* scale : {call.a_scale, call.b_scale}) {
        if (scale != nullptr) sum *= *scale;
      }
      if (adds) sum += elements{call.bias, call.bias_type}.get(i);
      result.in.set(result.place(i, j), positive ? std::max(sum, 0.0) : sum);
    }
  }
  if (call.epilogue == CUBLASLT_EPILOGUE_BGRADA || call.epilogue == CUBLASLT_EPILOGUE_BGRADB) {
    sum_gradient(call, a, b);
  }
}

int algorithms_found = 1;
/// Whether algorithms differ in one attribute of their configuration each, not in their number.
bool algorithms_differ_in_attributes = false;
int broken_algorithm = -1;
std::uint64_t implementations = 0;      ///< that the last choice allowed
std::uint32_t reductions = 0;           ///< that the last choice allowed
std::vector<std::uint32_t> alignments;  ///< that choices asked for

}  // namespace

extern "C" {

std::size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
const char* cublasLtGetStatusName(cublasStatus_t /*status*/) { return ""; }
const char* cublasLtGetStatusString(cublasStatus_t /*status*/) { return ""; }
cublasStatus_t cublasLtCreate(cublasLtHandle_t* result) { return make(result); }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  std::free(handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* result, cudaDataType type,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t leading) {
  make(result);
  of(*result) = {type, rows, columns, leading};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  std::free(layout);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t name,
                                                const void* from, std::size_t bytes) {
  if (name == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) return store(of(layout).batch, from, bytes);
  if (name == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET) {
    return store(of(layout).offset, from, bytes);
  }
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* output, cublasComputeType_t compute,
                                        cudaDataType_t /*scale*/) {
  make(output);
  of(*output) = {compute};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t call) {
  std::free(call);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t call,
                                              cublasLtMatmulDescAttributes_t name, const void* from,
                                              std::size_t bytes) {
  if (name == CUBLASLT_MATMUL_DESC_TRANSA) return store(of(call).a, from, bytes);
  if (name == CUBLASLT_MATMUL_DESC_TRANSB) return store(of(call).b, from, bytes);
  if (name == CUBLASLT_MATMUL_DESC_EPILOGUE) return store(of(call).epilogue, from, bytes);
  if (name == CUBLASLT_MATMUL_DESC_BIAS_POINTER) return store(of(call).bias, from, bytes);
  if (name == CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE) return store(of(call).bias_type, from, bytes);
  if (name == CUBLASLT_MATMUL_DESC_FAST_ACCUM) return store(of(call).fast, from, bytes);
  if (name == CUBLASLT_MATMUL_DESC_A_SCALE_POINTER) return store(of(call).a_scale, from, bytes);
  if (name == CUBLASLT_MATMUL_DESC_B_SCALE_POINTER) return store(of(call).b_scale, from, bytes);
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* built) {
  implementations = ~std::uint64_t{0};
  return make(built);
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  std::free(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t /*preference*/,
                                                    cublasLtMatmulPreferenceAttributes_t name,
                                                    const void* from, std::size_t bytes) {
  if (name == CUBLASLT_MATMUL_PREF_IMPL_MASK) return store(implementations, from, bytes);
  if (name == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) return store(reductions, from, bytes);
  if (name >= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
      name <= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES) {
    return store(alignments.emplace_back(), from, bytes);
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t /*call*/, cublasLtMatrixLayout_t /*a*/,
    cublasLtMatrixLayout_t /*b*/, cublasLtMatrixLayout_t /*c*/, cublasLtMatrixLayout_t /*d*/,
    cublasLtMatmulPreference_t /*preference*/, int most, cublasLtMatmulHeuristicResult_t* created,
    int* found) {
  *found = std::min(most, algorithms_found);
  for (int i = 0; i < *found; ++i) {
    auto& [number, attribute] = reinterpret_cast<std::uint64_t(&)[2]>(created[i].algo.data);
    number = algorithms_differ_in_attributes ? 66 : static_cast<std::uint64_t>(i);
    attribute = algorithms_differ_in_attributes ? static_cast<std::uint64_t>(i) + 1 : 0;
    created[i].workspaceSize = 8;
    created[i].state = i == broken_algorithm ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t name,
                                                    void* to, std::size_t bytes,
                                                    std::size_t* written) {
  const bool narrow =
      name == CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID || name == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID;
  if (bytes != (narrow ? 2 : 4)) return CUBLAS_STATUS_INVALID_VALUE;
  auto number = static_cast<std::int32_t>(name);
  if (name == CUBLASLT_ALGO_CONFIG_ID) number = static_cast<std::int32_t>(algorithm->data[0]);
  constexpr auto attributes = std::uint64_t{CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID} + 1;
  const std::uint64_t differing = algorithm->data[1];  // counts on where all have differed
  if (differing > 0 && (differing - 1) % attributes == static_cast<std::uint64_t>(name)) {
    number += static_cast<std::int32_t>(((differing - 1) / attributes + 1) * 16);
  }
  std::memcpy(to, &number, bytes);
  *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t call,
                              const void* /*alpha*/, const void* a, cublasLtMatrixLayout_t a_how,
                              const void* b, cublasLtMatrixLayout_t b_how, const void* /*beta*/,
                              const void* c, cublasLtMatrixLayout_t c_how, void* d,
                              cublasLtMatrixLayout_t d_how, const cublasLtMatmulAlgo_t* /*algo*/,
                              void* workspace, std::size_t bytes, cudaStream_t /*stream*/) {
  const product described = of(call);
  const auto factor_of = [](const void* start, cublasLtMatrixLayout_t how, bool transposed,
                            std::int64_t batch) {
    return factor{{const_cast<void*>(start), of(how).type}, of(how), transposed, batch};
  };
  for (std::int64_t i = 0; i < of(d_how).batch; ++i) {
    const factor first = factor_of(a, a_how, described.a == CUBLAS_OP_T, i);
    const factor second = factor_of(b, b_how, described.b == CUBLAS_OP_T, i);
    const factor result = factor_of(d, d_how, false, i);
    if (c != d || !is_possible(described, first, second, of(c_how), result)) {
      return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    host_enqueue([=] {
      std::memset(workspace, 0xFF, bytes);
      multiply(described, first, second, result);
    });
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
