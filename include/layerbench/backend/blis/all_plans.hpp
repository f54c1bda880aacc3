// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/blis/backend.hpp>
#include <layerbench/backend/cblas/conv.hpp>
#include <layerbench/backend/cblas/gemm.hpp>

namespace layerbench {

template <>
class plan<blis::backend, op::gemm> : public cblas::gemm {
  using gemm::gemm;
};

template <>
class plan<blis::backend, op::conv> : public cblas::conv {
  using conv::conv;
};

static_assert(implements<blis::backend, op::gemm>);
static_assert(implements<blis::backend, op::conv>);

}  // namespace layerbench
