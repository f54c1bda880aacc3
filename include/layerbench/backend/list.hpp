// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include <layerbench/backend/reference/list.hpp>

// The only place where what is built depends on macros.
#ifndef LAYERBENCH_ONEDNN
#define LAYERBENCH_ONEDNN 0
#endif
#if LAYERBENCH_ONEDNN
#include <layerbench/backend/onednn/list.hpp>
#endif

namespace layerbench {

template <backend... Backends>
struct backend_list {};

/// The backends of this build, the preferred one first.
using built_backends = backend_list<
#if LAYERBENCH_ONEDNN
    onednn::backend,
#endif
    reference::backend>;

/// A backend that the suite has and this build has not, and the CMake option that builds it.
struct unbuilt_backend {
  std::string_view name;
  std::string_view option;
};

inline const std::vector<unbuilt_backend> unbuilt_backends{
#if !LAYERBENCH_ONEDNN
    {"onednn", "LAYERBENCH_ONEDNN"},
#endif
};

}  // namespace layerbench
