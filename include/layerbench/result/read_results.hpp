// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/result/measurement.hpp>

/// Reads result files: Google Benchmark's JSON with our names, counters and context
/// (docs/formats.md).
namespace layerbench::result {

/// Reads a result file row by row, without holding all of its JSON. Throws bad_input naming file
/// and place.
[[nodiscard]] results read(const std::filesystem::path& path);

/// Reads the text of a result file. Errors name `file`.
[[nodiscard]] results parse(const std::string& text, const std::string& file);

/// The part of a field's value that says whether files are comparable: of the topology what
/// identifies the machine, of the kernel its version. Of other fields the whole value.
[[nodiscard]] std::string comparable_value(std::string_view field, const std::string& value);

/// What a field of two files belongs to: as either says; else as in files that do not say it. Of
/// unknown fields those that end in `_version` are versions, those in `_waiting` conditions, and
/// the rest settings, such as users' own.
[[nodiscard]] field_dimension dimension_of(std::string_view field, const results& a,
                                           const results& b);

/// Names of the context fields in which two files differ although their rows would only be
/// comparable if they agreed: machine, libraries, settings. What varies from run to run on one
/// machine (dates, load, clock readings, the command, the memory of a virtual machine) does not
/// count.
[[nodiscard]] std::vector<std::string> differing_context(const results& a, const results& b);

/// These fields of the contexts with the values of both files: `threads ("1", "2")`.
[[nodiscard]] std::string both_values(const results& a, const results& b,
                                      const std::vector<std::string>& fields);

}  // namespace layerbench::result

#ifndef LAYERBENCH_COMPILED
#include <layerbench/result/read_results-inl.hpp>
#endif
