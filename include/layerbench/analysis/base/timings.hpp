// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/result/bootstrap_interval.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/name.hpp>
#include <layerbench/result/timing.hpp>

/// The timings of primitives, merged from the rows that share an identity.
namespace layerbench::analysis {

using result::estimated_seconds;
using result::round_id;
using result::term;
using result::timing;

/// Timings by identity (result::identity) and by the case of their rows.
class timings {
 public:
  /// Adds the rows of `file` that have a timing.
  void add(const result::results& file);

  /// The timing of that identity for a case: from the case's own rows if it has any, else from the
  /// rows of all other cases.
  [[nodiscard]] std::optional<timing> find(const std::string& identity,
                                           const result::case_name& model_case) const;

 private:
  using case_timing = std::pair<result::case_name, timing>;

  timing& of_case(const std::string& identity, const result::case_name& model_case);

  std::map<std::string, std::vector<case_timing>> by_identity_;
  std::size_t files_ = 0;
};

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/base/timings-inl.hpp>
#endif
