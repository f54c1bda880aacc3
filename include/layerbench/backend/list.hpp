// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

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

/// A backend that the suite knows, whether or not this build has it.
struct known_backend {
  std::string_view name;
  std::string_view option;  ///< the CMake option that builds it; empty for those always built
};

inline constexpr std::array known_backends{known_backend{"onednn", "LAYERBENCH_ONEDNN"},
                                           known_backend{"reference", ""}};

}  // namespace layerbench
