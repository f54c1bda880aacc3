// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include <layerbench/result/measurement.hpp>

/// Reads result files: Google Benchmark's JSON with our names, counters and context
/// (docs/formats.md).
namespace layerbench::result {

/// Reads a result file row by row, without holding all of its JSON. Throws bad_input naming file
/// and place.
[[nodiscard]] results read(const std::filesystem::path& path);

/// Reads the text of a result file. Errors name `file`.
[[nodiscard]] results parse(const std::string& text, const std::string& file);

}  // namespace layerbench::result

#ifndef LAYERBENCH_COMPILED
#include <layerbench/result/read_results-inl.hpp>
#endif
