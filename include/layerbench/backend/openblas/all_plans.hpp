// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/cblas/conv.hpp>
#include <layerbench/backend/cblas/gemm.hpp>
#include <layerbench/backend/openblas/backend.hpp>

namespace layerbench {

template <>
class plan<openblas::backend, op::gemm> : public cblas::gemm {
  using gemm::gemm;
};

template <>
class plan<openblas::backend, op::conv> : public cblas::conv {
  using conv::conv;
};

static_assert(implements<openblas::backend, op::gemm>);
static_assert(implements<openblas::backend, op::conv>);

}  // namespace layerbench
