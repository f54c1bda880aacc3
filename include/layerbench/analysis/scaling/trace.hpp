// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <layerbench/analysis/scaling/scaling.hpp>
#include <layerbench/shape/json.hpp>

/// The timeline of a step in Chrome's trace format, which Perfetto reads too.
namespace layerbench::analysis {

namespace detail {

enum class track { computing = 0, sending = 1 };

}  // namespace detail

/// The i-th step of `of` on one of its devices: every call, and with several devices every bucket
/// while it is sent. The framework's time that belongs to no call comes last.
[[nodiscard]] json::value trace(const data_parallel& of, std::size_t i);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/scaling/trace-inl.hpp>
#endif
