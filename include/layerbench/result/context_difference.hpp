// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <layerbench/result/measurement.hpp>

/// In what the contexts of two result files differ.
namespace layerbench::result {

/// The part of a field's value that says whether files are comparable: of the topology what
/// identifies the machine, of the kernel its version. Of other fields the whole value.
[[nodiscard]] std::string comparable_value(std::string_view field, const std::string& value);

/// The dimension of a context field: as `a` or else `b` declares it, else by known_dimensions(). Of
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
#include <layerbench/result/context_difference-inl.hpp>
#endif
