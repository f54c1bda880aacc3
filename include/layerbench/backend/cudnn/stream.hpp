// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/cublas/stream.hpp>
#include <layerbench/backend/cudnn/backend.hpp>

namespace layerbench {

/// Memory stream by a layerbench kernel.
template <>
class plan<cudnn::backend, op::stream> : public plan<cublas::backend, op::stream> {
  using plan<cublas::backend, op::stream>::plan;
};

static_assert(implements<cudnn::backend, op::stream>);

}  // namespace layerbench
