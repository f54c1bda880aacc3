// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/base/stats.hpp>
#include <layerbench/result/measurement.hpp>

namespace layerbench::analysis {

/// A round of measuring: which pass over the rounds of a row, and the round in it. Files that
/// hold the same row, and rows of one file that share an identity, are passes of their own.
using round_id = std::pair<std::size_t, std::int64_t>;

/// Timings of one primitive, or of a chain.
struct timing {
  std::map<round_id, double> rounds;        ///< seconds of one call
  std::set<round_id> disturbed = {};        ///< those in which something else used the processors
  std::vector<std::size_t> runs = {};       ///< of each pass: the number of the file that has it
  std::optional<double> flops = {};         ///< FLOPs that one call really does, where a row says
  std::optional<double> padded_flops = {};  ///< those on padding counted, too
  bool own = false;                         ///< made for the case that asked

  /// The rounds that count. Disturbed ones do where fewer than three others are left; those far
  /// above the others do where they are not rare.
  [[nodiscard]] std::map<round_id, double> counted() const {
    std::map<round_id, double> all = undisturbed();
    const double limit = stats::far_limit(values_of(all));
    std::erase_if(all, [&](const auto& item) { return item.second > limit; });
    return all;
  }

  [[nodiscard]] double seconds() const { return stats::usual(values_of(undisturbed())); }

  /// What was timed in the run of that number.
  [[nodiscard]] timing of_run(std::size_t run) const {
    timing result = *this;
    std::erase_if(result.rounds,
                  [&](const auto& item) { return runs.at(item.first.first) != run; });
    std::erase_if(result.disturbed, [&](const round_id& id) { return runs.at(id.first) != run; });
    return result;
  }

  /// Takes over the rounds of `other` as further passes.
  void append(const timing& other) {
    for (const auto& [round, value] : other.rounds) {
      rounds.emplace(round_id{runs.size() + round.first, round.second}, value);
    }
    for (const round_id& round : other.disturbed) {
      disturbed.emplace(runs.size() + round.first, round.second);
    }
    runs.insert(runs.end(), other.runs.begin(), other.runs.end());
    if (!flops) flops = other.flops;
    if (!padded_flops) padded_flops = other.padded_flops;
  }

 private:
  /// Or all rounds, where fewer than three are.
  [[nodiscard]] std::map<round_id, double> undisturbed() const {
    constexpr std::size_t enough = 3;
    std::map<round_id, double> all = rounds;
    if (rounds.size() - disturbed.size() >= enough) {
      std::erase_if(all, [&](const auto& item) { return disturbed.contains(item.first); });
    }
    return all;
  }
  [[nodiscard]] static std::vector<double> values_of(const std::map<round_id, double>& all) {
    const auto values = std::views::values(all);
    return {values.begin(), values.end()};
  }
};

/// The time of one call of a row that adds up to the time of a step: the mean without stalls where
/// the row has it. Hot timings are added up as everybody does, by their medians; but waiting for a
/// processor, which contended rows are about, shows in means alone.
[[nodiscard]] inline double additive_seconds(const result::measurement& row) {
  const bool naive = row.name.cache == "hot" && !row.name.configuration.contended();
  return naive ? row.seconds : row.mean_seconds();
}

namespace detail {

/// Whether two rows are rounds of the same one.
[[nodiscard]] inline bool alike(const result::measurement& a, const result::measurement& b) {
  return a.label.key == b.label.key && a.label.state == b.label.state && a.name == b.name;
}

inline void add_round(const result::measurement& row, const round_id& round, timing& to) {
  to.rounds.emplace(round, additive_seconds(row));
  if (row.disturbed()) to.disturbed.insert(round);
  const auto take = [&](std::string_view counter, std::optional<double>& into) {
    const auto found = row.counters.find(counter);
    if (found != row.counters.end()) into = found->second;
  };
  take("flops_exact", to.flops);
  take("flops", to.padded_flops);
}

}  // namespace detail

/// Timings by identity (result::identity), and by the case that they were made for.
class timings {
 public:
  /// Takes over the rows of `file` that have a timing.
  void add(const result::results& file) {
    std::map<std::pair<std::string, result::row_name>, std::size_t> passes;
    const result::measurement* before = nullptr;
    timing* same = nullptr;
    std::size_t* pass = nullptr;
    for (const result::measurement& row : file.rows) {
      if (!row.error.empty()) continue;
      bool fresh = false;
      if (before == nullptr || !detail::alike(*before, row)) {  // rounds of a row mostly follow it
        std::string identity = result::identity(row);
        same = &of_case(identity, row.name.configuration);
        const auto known = passes.try_emplace({std::move(identity), row.name}, 0);
        pass = &known.first->second;
        fresh = known.second;
      }
      before = &row;
      // A file put together from several has a row's rounds more than once.
      if (fresh || same->rounds.contains({*pass, row.round})) {
        *pass = same->runs.size();
        same->runs.push_back(files_);
      }
      detail::add_round(row, {*pass, row.round}, *same);
    }
    ++files_;
  }

  /// The timing of that identity for `owner`: from its own rows where it has any, else from all
  /// rows of other cases.
  [[nodiscard]] std::optional<timing> find(const std::string& identity,
                                           const result::configuration_name& configuration) const {
    const auto found = by_identity_.find(identity);
    if (found == by_identity_.end()) return std::nullopt;
    const auto own = std::ranges::find(found->second, configuration, &owned::first);
    if (own != found->second.end()) {
      timing its = own->second;
      its.own = true;
      return its;
    }
    timing others;
    for (const auto& [other, item] : found->second) others.append(item);
    return others;
  }

 private:
  using owned = std::pair<result::configuration_name, timing>;

  timing& of_case(const std::string& identity, const result::configuration_name& configuration) {
    std::vector<owned>& all = by_identity_[identity];
    const auto found = std::ranges::find(all, configuration, &owned::first);
    return found != all.end() ? found->second : all.emplace_back(configuration, timing{}).second;
  }

  std::map<std::string, std::vector<owned>> by_identity_;
  std::size_t files_ = 0;
};

}  // namespace layerbench::analysis
