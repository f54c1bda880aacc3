// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include <layerbench/analysis/compare/bisection.hpp>
#include <layerbench/analysis/compare/pair_verdicts.hpp>
#include <layerbench/base/compiled.hpp>

namespace layerbench::analysis {

namespace detail {

using named_ratio = std::pair<std::string, const compared*>;

/// Steps of models, or the sum of the rows of another program.
[[nodiscard]] inline std::vector<named_ratio> steps_of(const comparison& all) {
  std::vector<named_ratio> found;
  for (const compared_model& one : all.models) found.emplace_back(one.model_case.text(), &one);
  for (const compared& one : all.sum) found.emplace_back("the sum of the rows", &one);
  return found;
}

/// The layers or rows, those whose times differ most first.
[[nodiscard]] inline std::vector<named_ratio> rows_of(const comparison& all) {
  std::vector<named_ratio> found;
  for (const compared_layer& one : all.layers) found.emplace_back(one.row.name, &one);
  std::ranges::stable_sort(found, std::ranges::greater{}, [](const named_ratio& one) {
    return std::abs(one.second->ratio.new_seconds - one.second->ratio.old_seconds);
  });
  return found;
}

[[nodiscard]] inline changed_row row_of(const named_ratio& from) {
  const time_ratio& ratio = from.second->ratio;
  return {from.first, ratio.value(), ratio.low, ratio.high, from.second->verdict};
}

/// What the newer side lacks of the older one's rows and steps; empty if nothing.
[[nodiscard]] inline std::string lacking(const comparison& all) {
  for (const uncompared& step : all.left_out) {
    if (step.incomplete) return fmt::format("{}: {}", step.model_case.text(), step.reason);
  }
  if (all.only_old.empty()) return {};
  const std::size_t others = all.only_old.size() - 1;
  return fmt::format("lacks {}{}", all.only_old.front().name,
                     others > 0 ? fmt::format(" and {} more", others) : "");
}

}  // namespace detail

LAYERBENCH_INLINE const tried_release* bisection::of(std::size_t release) const {
  const auto found = std::ranges::find(tried_, release, &tried_release::release);
  return found == tried_.end() ? nullptr : &*found;
}

LAYERBENCH_INLINE bool bisection::is_skipped(std::size_t release) const {
  const tried_release* const one = of(release);
  return one != nullptr && one->side == release_side::skipped;
}

LAYERBENCH_INLINE std::size_t bisection::first() const {
  std::size_t release = 0;
  while (is_skipped(release)) ++release;
  return release;
}

LAYERBENCH_INLINE std::size_t bisection::base(std::size_t release) const {
  if (!compares_all()) return first();
  for (std::size_t before = release; before-- > first();) {
    if (!is_skipped(before)) return before;
  }
  return first();
}

LAYERBENCH_INLINE std::optional<std::size_t> bisection::last() const {
  for (std::size_t release = releases_; release-- > first() + 1;) {
    if (!is_skipped(release)) return release;
  }
  return std::nullopt;
}

LAYERBENCH_INLINE std::optional<std::pair<std::size_t, std::size_t>> bisection::change() const {
  if (compares_all()) return std::nullopt;
  std::size_t before = first();
  std::optional<std::size_t> after;
  for (const tried_release& one : tried_) {
    if (one.side == release_side::before) before = std::max(before, one.release);
    if (one.side == release_side::after) after = std::min(after.value_or(releases_), one.release);
  }
  if (!after) return std::nullopt;
  return std::pair(before, *after);
}

LAYERBENCH_INLINE double bisection::share() const {
  const auto [before, after] = change().value();
  const auto log_ratio = [&](std::size_t release) {
    return release == first() ? 0 : std::log(of(release)->followed.ratio);
  };
  return (log_ratio(after) - log_ratio(before)) / log_ratio(*last());
}

LAYERBENCH_INLINE std::optional<std::size_t> bisection::next() const {
  const std::optional<std::size_t> end = last();
  if (compares_all()) {
    for (std::size_t release = first() + 1; end && release <= *end; ++release) {
      if (of(release) == nullptr) return release;
    }
    return std::nullopt;
  }
  if (!end || of(*end) == nullptr) return end;
  const auto found = change();
  if (!found) return std::nullopt;
  std::optional<std::size_t> closest;
  const auto away = [&](std::size_t release) {  // from the middle, doubled
    const std::size_t sum = found->first + found->second;
    return std::max(2 * release, sum) - std::min(2 * release, sum);
  };
  for (std::size_t release = found->first + 1; release < found->second; ++release) {
    if (of(release) == nullptr && (!closest || away(release) < away(*closest))) closest = release;
  }
  return closest;
}

LAYERBENCH_INLINE std::size_t bisection::most_left() const {
  if (!next()) return 0;
  if (compares_all()) return releases_ - *next();
  const auto found = change();
  const std::size_t between = (found ? found->second - found->first : *last() - first()) - 1;
  return static_cast<std::size_t>(std::bit_width(between)) + (found ? 0 : 1);
}

LAYERBENCH_INLINE bool bisection::is_wanted(const compared& of) const {
  return direction_ == change_direction::slower   ? of.verdict == verdict::slower
         : direction_ == change_direction::faster ? of.verdict == verdict::faster
                                                  : of.changed();
}

LAYERBENCH_INLINE detail::named_ratio bisection::follow(const comparison& all) const {
  std::vector<detail::named_ratio> steps = detail::steps_of(all);
  std::ranges::stable_sort(steps, std::ranges::greater{}, [](const detail::named_ratio& one) {
    return std::abs(std::log(one.second->ratio.value()));
  });
  std::vector<detail::named_ratio> rows = detail::rows_of(all);
  const auto found = change();
  const auto fits = [&](const detail::named_ratio& one) {
    return found ? one.first == of(*last())->followed.name : is_wanted(*one.second);
  };
  for (const auto* list : {&steps, &rows}) {
    const auto fitting = std::ranges::find_if(*list, fits);
    if (fitting != list->end()) return *fitting;
  }
  if (found) return {};
  return steps.empty() ? rows.front() : steps.front();
}

LAYERBENCH_INLINE std::optional<release_side> bisection::side(const comparison& all,
                                                              std::size_t most_pairs) const {
  const compared* of_row = follow(all).second;
  if (!change()) return is_wanted(*of_row) ? release_side::after : release_side::before;
  if (of_row == nullptr) return std::nullopt;
  // Which of the two speeds a release has is a test against their geometric mean: the ratios of the
  // pairs, as if the old times were as far from the new ones as that.
  const double whole = std::log(of(*last())->followed.ratio);
  detail::pair_times times;
  for (const std::optional<double>& one : of_row->pairs) {
    if (one) times.add(1, std::exp(*one - whole / 2));
    if (!one) times.add({}, {});
  }
  std::vector<compared> moved{{.ratio = detail::ratio_of(times), .pairs = std::move(times.ratios)}};
  static_cast<void>(set_pair_verdicts({moved[0].pairs.size(), most_pairs, 0}, moved));
  if (!moved[0].changed()) return std::nullopt;
  return (moved[0].verdict == verdict::slower) == (whole > 0) ? release_side::after
                                                              : release_side::before;
}

LAYERBENCH_INLINE bool bisection::decides(const comparison& all, std::size_t most_pairs) const {
  if (!detail::lacking(all).empty()) return true;
  if (change()) return side(all, most_pairs).has_value();
  if (all.sure) return true;
  const std::vector<detail::named_ratio> steps = detail::steps_of(all);
  return !compares_all() &&
         std::ranges::any_of(steps, [&](const auto& one) { return is_wanted(*one.second); });
}

LAYERBENCH_INLINE void bisection::add(const comparison& all, std::size_t most_pairs) {
  tried_release one{.release = next().value(), .reason = detail::lacking(all)};
  if (!one.reason.empty()) return add(std::move(one));
  const detail::named_ratio row = follow(all);
  if (row.second == nullptr) return skip(one.release, "has no time of what changed");
  one.pairs = row.second->pairs.size();
  one.followed = detail::row_of(row);
  const auto side_of = side(all, most_pairs);
  one.side = side_of.value_or(release_side::skipped);
  if (!side_of) one.reason = fmt::format("unclear after {} pairs", one.pairs);
  for (const detail::named_ratio& other : detail::rows_of(all)) {
    if (compares_all() || other.second->changed()) one.rows.push_back(detail::row_of(other));
  }
  if (!compares_all() && !change() && one.side == release_side::before) {
    const std::vector<detail::named_ratio> steps = detail::steps_of(all);
    for (const auto& [name, ratio] : steps.empty() ? detail::rows_of(all) : steps) {
      if (ratio->detectable) detectable_ = std::max(detectable_.value_or(0), *ratio->detectable);
    }
  }
  add(std::move(one));
}

LAYERBENCH_INLINE void bisection::add(tried_release one) { tried_.push_back(std::move(one)); }

LAYERBENCH_INLINE bool bisection::can_add(const tried_release& one) const {
  const bool without_ratio = one.side == release_side::skipped;
  const bool has_ratio = one.followed.ratio > 0 && std::isfinite(one.followed.ratio);
  if (!without_ratio && !has_ratio) return false;
  if (compares_all()) return one.release < releases_ && of(one.release) == nullptr;
  if (const auto found = change()) {  // not always next(): some releases are to be tried again
    return one.release > found->first && one.release < found->second && of(one.release) == nullptr;
  }
  return next() && (one.release == *next() || (one.release == first() && without_ratio));
}

LAYERBENCH_INLINE bisect_answer bisection::answer() const {
  if (next()) return bisect_answer::unfinished;
  const auto found = change();
  if (compares_all() && decided() > 0) return bisect_answer::all;
  if (!found) return decided() > 0 ? bisect_answer::none : bisect_answer::failed;
  return found->second - found->first == 1 ? bisect_answer::change : bisect_answer::gap;
}

LAYERBENCH_INLINE std::size_t bisection::decided() const {
  const auto is_decided = [](const tried_release& one) {
    return one.side != release_side::skipped;
  };
  return static_cast<std::size_t>(std::ranges::count_if(tried_, is_decided));
}

LAYERBENCH_INLINE double bisection::confidence() const {
  return 1 - pair_significance * static_cast<double>(decided());
}

}  // namespace layerbench::analysis
