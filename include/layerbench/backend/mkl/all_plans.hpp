// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/cblas/conv.hpp>
#include <layerbench/backend/cblas/gemm.hpp>
#include <layerbench/backend/mkl/backend.hpp>

namespace layerbench {

template <>
class plan<mkl::backend, op::gemm> : public cblas::gemm {
  using gemm::gemm;
};

template <>
class plan<mkl::backend, op::conv> : public cblas::conv {
  using conv::conv;
};

static_assert(implements<mkl::backend, op::gemm>);
static_assert(implements<mkl::backend, op::conv>);

}  // namespace layerbench
