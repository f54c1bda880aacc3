// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include <layerbench/analysis/compare/change_points.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/stats.hpp>

namespace layerbench::analysis {

namespace detail {

/// Adjacent times of a series.
struct stretch {
  double count;
  double mean;     ///< of the logarithms
  double squares;  ///< of their deviations from it
};

/// The logarithms of the times, relative to the first. What lies further than three standard
/// deviations from the median of seven neighbours is moved there, so that single disturbed times
/// count little (as in Hampel's filter: Pearson, Outliers in Process Modeling and Identification,
/// 2002; replaced by the median they would count too little, and make false alarms more frequent).
/// Seven neighbours are too few to hide a level. The deviation is that between consecutive times,
/// by their median distance.
[[nodiscard]] inline std::vector<double> filtered_logarithms(std::span<const timed_sum> times) {
  constexpr double far = 3;
  constexpr double of_normal = 1.0484;  // a standard deviation / the median of |x_i - x_(i + 1)|
  constexpr std::size_t width = 2 * min_level - 1;
  std::vector<double> raw;
  std::vector<double> steps;
  for (const timed_sum& time : times) {
    raw.push_back(std::log(time.seconds / times.front().seconds));
    if (raw.size() > 1) steps.push_back(std::abs(raw.back() - raw[raw.size() - 2]));
  }
  const double limit = far * of_normal * stats::median(std::move(steps));
  std::vector<double> filtered;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const std::size_t first = std::min(i < min_level ? 0 : i - (min_level - 1), raw.size() - width);
    const auto begin = raw.begin() + static_cast<std::ptrdiff_t>(first);
    const double middle = stats::median({begin, begin + width});
    filtered.push_back(std::clamp(raw[i], middle - limit, middle + limit));
  }
  return filtered;
}

/// A series whose stretches are known at once, from running sums.
class logarithms {
 public:
  explicit logarithms(std::span<const timed_sum> times) : sums_(1), squares_(1) {
    for (const double value : filtered_logarithms(times)) {
      sums_.push_back(sums_.back() + value);
      squares_.push_back(squares_.back() + value * value);
    }
  }

  [[nodiscard]] std::size_t size() const { return sums_.size() - 1; }

  [[nodiscard]] stretch between(std::size_t first, std::size_t end) const {
    const auto count = static_cast<double>(end - first);
    const double sum = sums_[end] - sums_[first];
    const double squares = squares_[end] - squares_[first] - sum * sum / count;
    return {count, sum / count, std::max(squares, 0.0)};
  }

 private:
  std::vector<double> sums_;
  std::vector<double> squares_;
};

/// The variance of the difference of two means, from the scatter in both stretches.
[[nodiscard]] inline variance between_times(const stretch& old, const stretch& now) {
  const double freedom = old.count + now.count - 2;
  return {(old.squares + now.squares) / freedom * (1 / old.count + 1 / now.count), freedom};
}

/// How likely a change is between two stretches: twice the logarithm of the likelihood ratio.
[[nodiscard]] inline double likelihood(const stretch& old, const stretch& now) {
  const double change = now.mean - old.mean;
  if (change == 0) return 0;
  const variance of = between_times(old, now);
  return (old.count + now.count) * std::log1p(change * change / of.value / of.degrees_of_freedom);
}

/// The number of pairs of stretches in which a change of `times` times is looked for.
[[nodiscard]] inline double pairs_of_stretches(std::size_t times) {
  const auto splits = static_cast<double>(times - min_history + 1);
  return splits * (splits + 1) / 2;
}

/// Finds the changes of one series, and tests them.
class change_search {
 public:
  change_search(std::span<const timed_sum> times, std::size_t tests, double margin)
      : times_(times),
        values_(times),
        tests_(static_cast<double>(tests) * pairs_of_stretches(times.size())),
        margin_(margin) {}

  [[nodiscard]] std::vector<change_point> find() const {
    std::vector<std::size_t> firsts;
    divide(0, values_.size(), firsts);
    while (true) {
      std::vector<change_point> changes = changes_at(firsts);
      const auto weakest = std::ranges::max_element(changes, {}, &change_search::weakness);
      if (weakest == changes.end() || weakest->changed()) return changes;
      std::erase(firsts, weakest->first);
    }
  }

 private:
  /// Appends the changes between `first` and `end`, in order.
  void divide(std::size_t first, std::size_t end, std::vector<std::size_t>& firsts) const {
    std::size_t most_likely = 0;
    std::size_t until = 0;
    double best = 0;
    for (std::size_t now = first + min_level; now + min_level <= end; ++now) {
      const stretch old = values_.between(first, now);
      for (std::size_t next = now + min_level; next <= end; ++next) {
        const double likely = likelihood(old, values_.between(now, next));
        if (likely <= best) continue;
        best = likely;
        most_likely = now;
        until = next;
      }
    }
    if (best == 0 || *scatter_ratio(first, most_likely, until).p * tests_ >= significance) return;
    divide(first, most_likely, firsts);
    firsts.push_back(most_likely);
    divide(most_likely, end, firsts);
  }

  /// The ratio of the stretch [now, end) to the one before, by the scatter of the times alone.
  [[nodiscard]] time_ratio scatter_ratio(std::size_t first, std::size_t now,
                                         std::size_t end) const {
    const stretch before = values_.between(first, now);
    const stretch after = values_.between(now, end);
    const double unit = times_.front().seconds;
    time_ratio ratio{unit * std::exp(before.mean), unit * std::exp(after.mean), now - first,
                     end - now};
    ratio.low = ratio.high = ratio.value();
    widen(between_times(before, after), ratio);
    return ratio;
  }

  /// The variance from the rounds of each time.
  [[nodiscard]] std::optional<variance> within_times(std::size_t first, std::size_t now,
                                                     std::size_t end) const {
    rounds_variance sum;
    for (std::size_t i = first; i < end; ++i) {
      const auto count = static_cast<double>(i < now ? now - first : end - now);
      sum.add(times_[i], 1 / (count * count));
    }
    return sum.total();
  }

  /// The changes at these times, each between its neighbours.
  [[nodiscard]] std::vector<change_point> changes_at(const std::vector<std::size_t>& firsts) const {
    std::vector<change_point> changes;
    for (std::size_t i = 0; i < firsts.size(); ++i) {
      const std::size_t first = i == 0 ? 0 : firsts[i - 1];
      const std::size_t end = i + 1 == firsts.size() ? values_.size() : firsts[i + 1];
      change_point change;
      change.first = firsts[i];
      change.ratio = scatter_ratio(first, change.first, end);
      if (const auto rounds = within_times(first, change.first, end)) widen(*rounds, change.ratio);
      change.p = std::min(1.0, *change.ratio.p * tests_);
      change.verdict = verdict_beyond_margin(change, margin_);
      changes.push_back(change);
    }
    return changes;
  }

  /// What is removed first: the largest p, and of what is significant the smallest change.
  [[nodiscard]] static std::pair<double, double> weakness(const change_point& of) {
    return {std::max(of.p, significance), -std::abs(std::log(of.ratio.value()))};
  }

  std::span<const timed_sum> times_;
  logarithms values_;
  double tests_;
  double margin_;
};

}  // namespace detail

LAYERBENCH_INLINE std::vector<change_point> change_points(std::span<const timed_sum> times,
                                                          std::size_t tests, double margin) {
  if (times.size() < min_history) return {};
  return detail::change_search(times, tests, margin).find();
}

}  // namespace layerbench::analysis
