// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include <layerbench/analysis/curve/curve.hpp>
#include <layerbench/base/table.hpp>

/// Curves as text and as CSV.
namespace layerbench::analysis {

/// "tokens/s" of models of texts, else "images/s".
[[nodiscard]] std::string rate_unit(const curve& of);

/// The conditions of a curve: "resnet50 inference, onednn f32, 2 threads, over batch".
[[nodiscard]] std::string headline(const curve& of);

/// The highest throughput, the knee, the best point within the limit, and how well left-out steps
/// are predicted; one line each.
[[nodiscard]] std::string summary_text(const curve& of);

/// The measured sizes, those of the summary, and those an octave apart, with `bars` of the
/// throughput.
[[nodiscard]] table to_table(const curve& of, bool bars = true);

/// The best point of each model that has several curves (best_of()).
[[nodiscard]] std::string best_text(std::span<const curve> curves);

/// Each curve with its summary and its table, then the best points.
[[nodiscard]] std::string text(std::span<const curve> curves);

/// One row per size of each curve.
[[nodiscard]] table records(std::span<const curve> curves);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/curve/text-inl.hpp>
#endif
