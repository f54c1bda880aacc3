// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/result/measurement.hpp>

/// What an engine's steps take beside the predicted calls, and how its kernels compare with those
/// that were timed: measured once per machine on synthetic models (tools/engines.py --overhead).
namespace layerbench::analysis {

namespace detail {

/// The kind of kernel that a call of a layer needs; empty for calls that the fusion plan makes as
/// the engine does: with a backend, which is taken to be the library that the engine calls, and
/// convolutions that reorder their tensors, as PyTorch's calls of oneDNN do.
[[nodiscard]] std::string kernel_of(const layer_time& layer);

}  // namespace detail

/// Adds the overhead of an engine, from one of `overheads`, to a step that was predicted from
/// `files`. Returns why it cannot; empty: it could.
[[nodiscard]] std::string add_engine_overhead(prediction& p, std::span<const result::results> files,
                                              std::string_view engine,
                                              std::span<const result::results> overheads);

/// What a user should know of an engine of `measured`, files of tools/engines.py: that it computes
/// with another oneDNN than the calls of `files`.
[[nodiscard]] std::vector<std::string> notes_on_engine(std::string_view engine,
                                                       std::span<const result::results> files,
                                                       std::span<const result::results> measured);

/// The overheads that files have, one a line, and how to measure others.
[[nodiscard]] std::string known_overheads(std::span<const result::results> files);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/base/engine_overhead-inl.hpp>
#endif
