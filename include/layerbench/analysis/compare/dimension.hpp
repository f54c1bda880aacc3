// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/analysis/base/cases.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/shape/record.hpp>

/// The dimension in which two sets of files differ, and whether they differ in anything else.
namespace layerbench::analysis {

/// The dimension that a comparison varies.
enum class compared_dimension : std::uint8_t {
  version,   ///< version of the libraries or of layerbench
  device,    ///< device, with its caches, instruction set, driver and number of threads
  driver,    ///< driver or operating system
  settings,  ///< environment, options and all other fields of the contexts
  node,      ///< name of the machine, of otherwise equal machines
  gpu,       ///< GPU, of equal ones in one machine or several equal ones
  date,      ///< date of the run, of equal ones on one machine
  backend,   ///< backend of a row, in files of one machine
};

[[nodiscard]] constexpr std::array<std::string_view, 8> list_names(compared_dimension /*tag*/) {
  return {"version", "device", "driver", "settings", "node", "gpu", "date", "backend"};
}

/// How the contexts of two sides differ.
struct difference {
  std::optional<compared_dimension> dimension;  ///< nothing: neither given nor inferable
  bool inferred = false;                        ///< the dimension follows from the fields
  std::vector<std::string> fields;              ///< context fields in which the sides differ
  std::vector<std::string> forced;  ///< fields that should not differ between or within sides
};

/// Whether several things are compared with each other, in place of two sides.
[[nodiscard]] constexpr bool compares_equals(compared_dimension across) {
  return across == compared_dimension::node || across == compared_dimension::gpu ||
         across == compared_dimension::date || across == compared_dimension::backend;
}
/// What one of them is called.
[[nodiscard]] constexpr std::string_view unit(compared_dimension across) {
  return across == compared_dimension::gpu ? "GPU" : "node";
}

namespace detail {

/// The thread count in all row names of a side, as written there; empty if the names have none.
/// Nothing if the names differ in it.
[[nodiscard]] std::optional<std::string> named_threads(const group& side);

/// Copies of the files of a side with the thread count moved from the row names to the contexts.
[[nodiscard]] std::vector<result::results> with_threads_in_context(const group& side,
                                                                   const std::string& threads);

/// Fields in which files of a side differ from its first file. Throws bad_input unless forced.
[[nodiscard]] std::vector<std::string> differing_within(const group& side, bool force);

}  // namespace detail

/// Fields of a context with their values.
using context_fields = std::map<std::string, std::string, std::less<>>;

/// The fields on the program that wrote `file` and on the libraries that it loaded.
[[nodiscard]] context_fields loaded(const result::results& file);

/// The difference between two sides, neither of them empty. The compared dimension is the `given`
/// one, else it is inferred from the fields that differ. Throws bad_input naming the fields that
/// must not differ, unless forced.
[[nodiscard]] difference difference_between(const group& old, const group& now,
                                            std::optional<compared_dimension> given, bool force);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/compare/dimension-inl.hpp>
#endif
