// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/cblas/gemm.hpp>
#include <layerbench/backend/openblas/backend.hpp>

namespace layerbench {

template <>
class plan<openblas::backend, op::gemm> : public cblas::gemm {
  using gemm::gemm;
};

static_assert(implements<openblas::backend, op::gemm>);

}  // namespace layerbench
