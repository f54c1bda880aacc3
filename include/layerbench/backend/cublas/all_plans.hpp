// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/cublas/gemm.hpp>
#include <layerbench/backend/kernels/gpu/plans/stream.hpp>

namespace layerbench {

/// Memory streams by layerbench kernels.
template <>
class plan<cublas::backend, op::stream> : public gpu::own_plan<op::stream> {
  using own_plan::own_plan;
};

static_assert(implements<cublas::backend, op::stream>);

}  // namespace layerbench
