// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <layerbench/analysis/compare/comparison.hpp>

/// The search for the release since which something is slower, by comparisons with the first one,
/// and the comparison of all releases, each with the one before it.
namespace layerbench::analysis {

/// Which changes are searched for.
enum class change_direction : std::uint8_t {
  slower,
  faster,
  either,
  all,  ///< those of every release to the one before it: all are compared, in their order
};

[[nodiscard]] constexpr std::array<std::string_view, 4> list_names(change_direction /*tag*/) {
  return {"slower", "faster", "either", "all"};
}

/// On which side of the change a release is.
enum class release_side : std::uint8_t {
  before,
  after,
  skipped,  ///< not known: it failed, lacks something, or its pairs do not say
};

[[nodiscard]] constexpr std::array<std::string_view, 3> list_names(release_side /*tag*/) {
  return {"before", "after", "skipped"};
}

/// What a search found.
enum class bisect_answer : std::uint8_t {
  change,      ///< between two releases, one behind the other
  gap,         ///< the change is there, but skipped releases hide since which one
  none,        ///< the last release is as the first
  all,         ///< every release was compared with the one before it
  failed,      ///< fewer than two releases can be compared
  unfinished,  ///< there is more to compare
};

[[nodiscard]] constexpr std::array<std::string_view, 6> list_names(bisect_answer /*tag*/) {
  return {"change", "gap", "none", "all", "failed", "unfinished"};
}

/// A row and how it changed.
struct changed_row {
  std::string name;
  double ratio = 0;  ///< new / old
  double low = 0;    ///< 95 % interval
  double high = 0;
  analysis::verdict verdict = analysis::verdict::unclear;
};

/// What became of a release.
struct tried_release {
  std::size_t release = 0;
  release_side side = release_side::skipped;
  std::string reason = {};    ///< why it is skipped
  std::size_t pairs = 0;      ///< with the release that it is compared with
  changed_row followed = {};  ///< the row that the search follows, changed or not
  /// Changed ones, those that cost or save most time first; with change_direction::all every one.
  std::vector<changed_row> rows = {};
};

/// A search over `releases` numbered releases, the oldest first. The first one that is not skipped
/// is compared with the last one, then with the middle one between the last that is known to be
/// before the change and the first behind it, or with the closest one that is not skipped: at
/// most 1 + log2(releases - 1) comparisons, rounded up, if none is skipped. If one change makes up
/// more than half of the total, on a logarithmic scale, the search finds it; otherwise any one.
class bisection {
 public:
  bisection(std::size_t releases, change_direction direction)
      : releases_(releases), direction_(direction) {}

  /// The first release that is not skipped.
  [[nodiscard]] std::size_t first() const;
  /// The release that `release` is compared with: the first one, or with change_direction::all the
  /// last one before it that is not skipped.
  [[nodiscard]] std::size_t base(std::size_t release) const;
  /// The next one to compare with its base; nothing if the search is over.
  [[nodiscard]] std::optional<std::size_t> next() const;
  /// How many comparisons there may be from now on, if none is skipped.
  [[nodiscard]] std::size_t most_left() const;

  /// Whether `all`, of next() with its base, decides on which side it is, so that no further pair
  /// is needed. `most_pairs` as in pair_plan.
  [[nodiscard]] bool decides(const comparison& all, std::size_t most_pairs) const;
  /// Adds the comparison of next() with its base.
  void add(const comparison& all, std::size_t most_pairs);
  void add(tried_release one);
  /// Whether a search that is as far as this one can have tried `one` next.
  [[nodiscard]] bool can_add(const tried_release& one) const;
  void skip(std::size_t release, std::string reason) {
    add({.release = release, .reason = std::move(reason)});
  }

  [[nodiscard]] const std::vector<tried_release>& tried() const { return tried_; }
  /// The last release known to be before the change and the first one behind it; those between
  /// are skipped or not tried yet. Nothing without a change.
  [[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> change() const;
  /// The share of the total change, on a logarithmic scale, that is between the two of change().
  [[nodiscard]] double share() const;
  /// The release as it was tried; null if it was not.
  [[nodiscard]] const tried_release* of(std::size_t release) const;
  [[nodiscard]] bisect_answer answer() const;
  /// The comparisons that decided on which side a release is.
  [[nodiscard]] std::size_t decided() const;
  /// 1 - the sum of their false-alarm rates. It says nothing of changes that they miss.
  [[nodiscard]] double confidence() const;
  /// Without a change: the smallest one that 9 of 10 such comparisons of the first and the last
  /// release find.
  [[nodiscard]] std::optional<double> detectable() const { return detectable_; }
  void set_detectable(std::optional<double> change) { detectable_ = change; }

 private:
  [[nodiscard]] bool compares_all() const { return direction_ == change_direction::all; }
  [[nodiscard]] bool is_skipped(std::size_t release) const;
  [[nodiscard]] std::optional<std::size_t> last() const;
  [[nodiscard]] bool is_wanted(const compared& of) const;
  /// The row of next() that the search follows; null if there is none.
  [[nodiscard]] std::pair<std::string, const compared*> follow(const comparison& all) const;
  /// The side of next(); nothing if its pairs do not say.
  [[nodiscard]] std::optional<release_side> side(const comparison& all,
                                                 std::size_t most_pairs) const;

  std::size_t releases_;
  change_direction direction_;
  std::vector<tried_release> tried_;
  std::optional<double> detectable_;
};

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/compare/bisection-inl.hpp>
#endif
