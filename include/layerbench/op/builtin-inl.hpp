// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/base/compiled.hpp>
#include <layerbench/op/builtin.hpp>
#include <layerbench/op/list.hpp>

namespace layerbench::op {

LAYERBENCH_INLINE catalog builtin_catalog() { return catalog_of(builtin{}); }

}  // namespace layerbench::op
