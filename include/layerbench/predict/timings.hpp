// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/base/stats.hpp>
#include <layerbench/result/measurement.hpp>

namespace layerbench::predict {

/// A round of measuring: which pass over the rounds of a row, and the round in it. Files that
/// hold the same row, and rows of one file that share an identity, are passes of their own.
using round_id = std::pair<std::size_t, std::int64_t>;

/// Every timing of one primitive.
struct timing {
  std::map<round_id, double> rounds;  ///< seconds of one call
  std::size_t passes = 0;
  std::size_t disturbed = 0;    ///< rounds in which something else used the processors
  std::optional<double> flops;  ///< FLOPs of one call, where a row says

  /// Median over all rounds.
  [[nodiscard]] double seconds() const {
    std::vector<double> values;
    for (const auto& [round, value] : rounds) values.push_back(value);
    return stats::median(std::move(values));
  }
};

/// Timings by identity (result::identity), so that it does not matter which file, model or layer a
/// timing was made for.
class timings {
 public:
  /// Takes over the rows of `file` that have a timing.
  void add(const result::results& file) {
    std::map<std::pair<std::string, result::row_name>, std::size_t> passes;
    for (const result::measurement& row : file.rows) {
      if (!row.error.empty()) continue;
      std::string identity = result::identity(row.name.owner, row.name.op, row.name.pass,
                                              row.label.key, row.name.cache, row.label.state);
      timing& same = by_identity_[identity];
      const auto [pass, fresh] = passes.try_emplace({std::move(identity), row.name}, same.passes);
      // A file put together from several has a row's rounds more than once.
      if (fresh || same.rounds.contains({pass->second, row.round})) pass->second = same.passes++;
      same.rounds.emplace(round_id{pass->second, row.round}, row.seconds);
      const auto disturbed = row.counters.find("disturbed");
      if (disturbed != row.counters.end() && disturbed->second != 0) ++same.disturbed;
      const auto flops = row.counters.find("flops");
      if (flops != row.counters.end()) same.flops = flops->second;
    }
  }

  /// The timing of that identity, or null.
  [[nodiscard]] const timing* find(const std::string& identity) const {
    const auto found = by_identity_.find(identity);
    return found == by_identity_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, timing, std::less<>> by_identity_;
};

}  // namespace layerbench::predict
