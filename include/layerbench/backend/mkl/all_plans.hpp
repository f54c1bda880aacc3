// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/cblas/gemm.hpp>
#include <layerbench/backend/mkl/backend.hpp>

namespace layerbench {

template <>
class plan<mkl::backend, op::gemm> : public cblas::gemm {
  using gemm::gemm;
};

static_assert(implements<mkl::backend, op::gemm>);

}  // namespace layerbench
