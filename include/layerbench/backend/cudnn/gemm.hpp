// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/cublas/gemm.hpp>
#include <layerbench/backend/cudnn/backend.hpp>

namespace layerbench {

/// Matrix product by cuBLASLt.
template <>
class plan<cudnn::backend, op::gemm> : public plan<cublas::backend, op::gemm> {
  using plan<cublas::backend, op::gemm>::plan;
};

static_assert(implements<cudnn::backend, op::gemm>);

}  // namespace layerbench
