// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <ranges>
#include <string>
#include <tuple>
#include <utility>

#include <layerbench/analysis/base/timings.hpp>
#include <layerbench/analysis/curve/curve.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/stats.hpp>

namespace layerbench::analysis {

namespace detail {

/// The calls of a step by their place in it: part, name, and number among those of that name.
using call_place = std::tuple<model::step_part, std::string, int>;

struct call_cost {
  double seconds;
  double flops;
};

/// A measured step, call by call.
struct step_costs {
  double size;
  double seconds;
  double half_width;  ///< of its interval, relative
  double sampling;    ///< standard deviation by the rounds, relative
  bool has_interval;
  std::map<call_place, call_cost> calls;
};

[[nodiscard]] inline step_costs step_costs_of(const prediction& p, std::int64_t size) {
  const step_time& step = *p.step;
  step_costs result{static_cast<double>(size),
                    step.seconds,
                    (step.high() - step.low()) / 2 / step.seconds,
                    (step.sampling_high - step.sampling_low) / 4 / step.seconds,
                    step.interval().has_value(),
                    {}};
  for (const layer_time& layer : p.layers) {
    // Older files do not name the layers of all calls.
    const bool named = std::ssize(layer.layers) == layer.count;
    const double calls = named ? 1 : static_cast<double>(layer.count);
    const call_cost cost{calls * layer.seconds, calls * layer.flops.value_or(0)};
    for (std::size_t i = 0; i < (named ? layer.layers.size() : 1); ++i) {
      const std::string name =
          model::call_name(named ? layer.layers[i] : layer.name, layer.pass) + ' ' + layer.op;
      int number = 0;
      while (!result.calls.try_emplace({layer.part, name, number}, cost).second) ++number;
    }
  }
  return result;
}

/// Two measured steps, and lines through the calls that both have. What only one of them has, such
/// as a reorder of a library, is one call together with the time of the framework.
class line {
 public:
  line(const step_costs& a, const step_costs& b) : a_(a), b_(b) {
    call_cost only_a{a.seconds, 0};
    call_cost only_b{b.seconds, 0};
    for (const auto& [place, from] : a.calls) {
      only_a.seconds -= from.seconds;
      const auto other = b.calls.find(place);
      if (other == b.calls.end()) {
        only_a = {only_a.seconds + from.seconds, only_a.flops + from.flops};
      } else {
        add(from, other->second);
      }
    }
    for (const auto& [place, to] : b.calls) {
      only_b.seconds -= to.seconds;
      if (a.calls.contains(place)) continue;
      only_b = {only_b.seconds + to.seconds, only_b.flops + to.flops};
    }
    add(only_a, only_b);
    from_a_ = work_at(a.size);
    from_b_ = work_at(b.size);
  }

  /// The step of that size. Beyond b no call takes less time than in b.
  [[nodiscard]] call_cost at(double size) const {
    call_cost sum{0, 0};
    for (const auto& [power, calls] : both_) {
      const double part = share(size, power);
      sum.seconds += calls.from.seconds + std::min(part, 1.0) * calls.more.seconds +
                     std::max(part - 1, 0.0) * calls.longer;
      sum.flops += calls.from.flops + part * calls.more.flops;
    }
    return sum;
  }

  /// The interval's half width at that size as far as it is the neighbours'. Their errors may have
  /// the same cause, so the widths add up.
  [[nodiscard]] double half_width(double size) const {
    const double part = std::clamp(share(size, 1), 0.0, 1.0);
    return a_.half_width + part * (b_.half_width - a_.half_width);
  }
  [[nodiscard]] double sampling(double size) const {
    const double part = std::clamp(share(size, 1), 0.0, 1.0);
    return stats::root_of_squares((1 - part) * a_.sampling, part * b_.sampling);
  }

  [[nodiscard]] bool has_interval() const { return a_.has_interval && b_.has_interval; }

  /// Octaves of work from a and to b.
  [[nodiscard]] std::pair<double, double> octaves(double size) const {
    const double work = work_at(size);
    return {std::abs(work - from_a_), std::abs(from_b_ - work)};
  }
  /// Their variance of a random walk between both, and beyond b.
  [[nodiscard]] double bridge(double size) const {
    const auto [before, after] = octaves(size);
    if (size > b_.size) return after;
    return before + after > 0 ? before * after / (before + after) : 0;
  }

 private:
  /// Calls whose FLOPs grow by the same power of the size, together.
  struct call_sum {
    call_cost from{};   ///< in a
    call_cost more{};   ///< in b than in a
    double longer = 0;  ///< seconds, of the calls that take longer in b
  };

  void add(const call_cost& from, const call_cost& to) {
    call_sum& calls = both_[power(from, to)];
    const double more = to.seconds - from.seconds;
    calls.from = {calls.from.seconds + from.seconds, calls.from.flops + from.flops};
    calls.more = {calls.more.seconds + more, calls.more.flops + to.flops - from.flops};
    calls.longer += std::max(0.0, more);
  }
  /// The power of the size by which FLOPs grow: 2 of attention over the tokens of a prompt.
  [[nodiscard]] double power(const call_cost& from, const call_cost& to) const {
    if (!(from.flops > 0) || !(to.flops > from.flops) || !(a_.size > 0)) return 1;
    return std::clamp(std::log(to.flops / from.flops) / std::log(b_.size / a_.size), 1.0, 2.0);
  }
  [[nodiscard]] double share(double size, double power) const {
    const double from = std::pow(a_.size, power);
    return (std::pow(size, power) - from) / (std::pow(b_.size, power) - from);
  }
  /// The work of a step in octaves: its FLOPs, or its size where these are not known.
  [[nodiscard]] double work_at(double size) const {
    const double flops = at(size).flops;
    return flops > 0 ? std::log2(flops) : octave(static_cast<std::int64_t>(size));
  }

  const step_costs& a_;
  const step_costs& b_;
  std::map<double, call_sum> both_;  ///< by the power
  double from_a_ = 0;                ///< octaves of work
  double from_b_ = 0;
};

/// The line for a size from the least measured one on. Beyond the largest one it is continued from
/// one of at most half its size, if there is one, so that noise is not multiplied.
[[nodiscard]] inline line line_at(const std::vector<step_costs>& steps, double size) {
  const auto above = std::ranges::lower_bound(steps, size, {}, &step_costs::size);
  if (above != steps.end()) {
    return above == steps.begin() ? line(steps[0], steps[1]) : line(*std::prev(above), *above);
  }
  const auto far = std::ranges::upper_bound(steps, steps.back().size / 2, {}, &step_costs::size);
  return {far == steps.begin() ? steps.front() : *std::prev(far), steps.back()};
}

/// How far steps depart from the lines.
struct departure {
  double spread;  ///< see curve::spread
  double factor;  ///< of Student's distribution, for 95 %
};

/// Whether nothing lies between two steps that are much alike: a library may switch kernels there,
/// which says nothing of other places.
[[nodiscard]] inline bool is_beside(const step_costs& a, const step_costs& b) {
  constexpr double alike = 4;
  return b.size - a.size <= 1 && a.size >= alike;
}

/// Leaves out each step between two others. Two further residuals of `usual_spread`, of a sixteenth
/// of the curve's octaves each, stand for what is known of all models.
[[nodiscard]] inline departure departure_of(const std::vector<step_costs>& steps,
                                            std::vector<left_out_check>& checks) {
  constexpr double usual_spread = 0.05;
  constexpr double usual_residuals = 2;
  const line whole(steps.front(), steps.back());
  double octaves = usual_residuals * whole.octaves(steps.front().size).second / 16;
  double squares = usual_spread * usual_spread * octaves;
  for (std::size_t i = 1; i + 1 < steps.size(); ++i) {
    if (is_beside(steps[i - 1], steps[i]) || is_beside(steps[i], steps[i + 1])) continue;
    const line without(steps[i - 1], steps[i + 1]);
    const double size = steps[i].size;
    checks.push_back({static_cast<std::int64_t>(size), steps[i].seconds, without.at(size).seconds});
    const double noise = stats::root_of_squares(without.sampling(size), steps[i].sampling);
    squares += std::max(0.0, std::pow(checks.back().error(), 2) - noise * noise);
    octaves += without.bridge(size);
  }
  const double freedom = usual_residuals + static_cast<double>(checks.size());
  return {octaves > 0 ? std::sqrt(squares / octaves) : 0, stats::student_t_quantile(freedom)};
}

/// What the steps of a curve have in common: their names but for the size, and the file's context.
[[nodiscard]] inline std::pair<result::case_name, std::string> family_of(const prediction& p,
                                                                         size_axis over) {
  result::case_name common = p.model_case;
  if (over == size_axis::batch) {
    common.batch = 1;
  } else {
    common.parameters.erase(std::string(name(over)));
  }
  return {common, p.files.empty() ? "" : p.files.front()};
}

[[nodiscard]] inline double items_of(const curve& of, std::int64_t size) {
  const prediction& first = of.measured.front();
  result::case_name at_size = first.model_case;
  if (of.over == size_axis::batch) at_size.batch = size;
  const auto images = static_cast<double>(at_size.images());
  if (!first.text) return images;
  return images * static_cast<double>(of.over == size_axis::tokens ? size : first.text->tokens);
}

/// How much longer than the mean the slowest step of a hundred takes at a size: as at the nearest
/// measured size; 0 where that is not known.
[[nodiscard]] inline double slowest_over_mean(const curve& of, std::int64_t size) {
  double ratio = 0;
  double nearest = HUGE_VAL;
  for (std::size_t i = 0; i < of.measured.size(); ++i) {
    const prediction& p = of.measured[i];
    const double distance = std::abs(octave(of.sizes[i]) - octave(size));
    if (!p.latencies || distance >= nearest) continue;
    nearest = distance;
    ratio = p.latencies->back() / p.step->seconds;
  }
  return ratio;
}

/// The ratios of chains and sums.
[[nodiscard]] inline std::vector<anchor> anchors_of(const curve& of, const chain_seconds& chains) {
  std::vector<anchor> anchors;
  for (std::size_t i = 0; i < of.measured.size(); ++i) {
    const prediction& p = of.measured[i];
    for (const std::string& file : p.files) {
      const auto whole = chains.find({p.model_case, file});
      if (whole == chains.end()) continue;
      anchors.push_back({of.sizes[i], whole->second / p.step->seconds});
      break;
    }
  }
  return anchors;
}

/// Their ratio at a size: that of the nearest one at the ends.
[[nodiscard]] inline double ratio_at(const std::vector<anchor>& anchors, std::int64_t size) {
  if (anchors.empty()) return 1;
  const auto above = std::ranges::lower_bound(anchors, size, {}, &anchor::size);
  if (above == anchors.end()) return anchors.back().ratio;
  if (above == anchors.begin()) return anchors.front().ratio;
  const anchor& below = *std::prev(above);
  const double part =
      (octave(size) - octave(below.size)) / (octave(above->size) - octave(below.size));
  return below.ratio + part * (above->ratio - below.ratio);
}

inline void add_points(curve& to, const curve_options& wanted) {
  std::vector<step_costs> steps;
  for (std::size_t i = 0; i < to.measured.size(); ++i) {
    steps.push_back(step_costs_of(to.measured[i], to.sizes[i]));
  }
  to.anchors = anchors_of(to, wanted.chains);
  const departure from_lines = departure_of(steps, to.checks);
  to.spread = from_lines.spread;
  std::vector<std::int64_t> sizes = wanted.sizes;
  if (sizes.empty()) {
    sizes.resize(static_cast<std::size_t>(to.sizes.back() - to.sizes.front() + 1));
    std::iota(sizes.begin(), sizes.end(), to.sizes.front());
  }
  std::ranges::sort(sizes);
  auto end = steps.cend();  // of the gap that `of_gap` goes through
  std::optional<line> of_gap;
  for (const std::int64_t size : sizes) {
    if (size < to.sizes.front()) continue;  // nothing is known below the least one
    const auto at = static_cast<double>(size);
    const auto known = std::ranges::lower_bound(std::as_const(steps), at, {}, &step_costs::size);
    const double ratio = ratio_at(to.anchors, size);
    if (known != steps.end() && known->size == at) {
      const step_time& step = *to.measured[static_cast<std::size_t>(known - steps.cbegin())].step;
      to.points.push_back({size, ratio * step.seconds, ratio * step.low(), ratio * step.high(),
                           items_of(to, size), point_source::measured, known->has_interval});
      continue;
    }
    if (!of_gap || known != end) of_gap.emplace(line_at(steps, at));
    end = known;
    const line& through = *of_gap;
    const double seconds = ratio * through.at(at).seconds;
    const double departs = from_lines.factor * to.spread * std::sqrt(through.bridge(at));
    const double width = seconds * stats::root_of_squares(through.half_width(at), departs);
    to.points.push_back(
        {size, seconds, std::max(0.0, seconds - width), seconds + width, items_of(to, size),
         size > to.sizes.back() ? point_source::extrapolated : point_source::interpolated,
         through.has_interval()});
  }
  for (curve_point& one : to.points) one.slowest = slowest_over_mean(to, one.size) * one.seconds;
}

}  // namespace detail

LAYERBENCH_INLINE std::optional<std::int64_t> size_of(const prediction& p, size_axis over) {
  if (over == size_axis::batch) return p.model_case.batch;
  if (!p.text) return std::nullopt;
  return over == size_axis::tokens ? p.text->tokens : p.text->context;
}

LAYERBENCH_INLINE int curve::digits() const {
  return std::ranges::min(measured | std::views::transform(&prediction::digits));
}

LAYERBENCH_INLINE const curve_point* curve::fastest() const {
  const auto found = std::ranges::max_element(points, {}, &curve_point::per_second);
  return found == points.end() ? nullptr : &*found;
}

LAYERBENCH_INLINE const curve_point* curve::knee() const {
  if (points.empty()) return nullptr;
  const double least = knee_share * fastest()->per_second();
  const auto found = std::ranges::find_if(
      points, [&](const curve_point& one) { return one.per_second() >= least; });
  return found == points.end() ? nullptr : &*found;
}

LAYERBENCH_INLINE const curve_point* curve::best_within_limit() const {
  const curve_point* best = nullptr;
  for (const curve_point& one : points) {
    if (!most_seconds || !one.has_interval || one.latency() > *most_seconds) continue;
    const bool is_better =
        best == nullptr || over == size_axis::context || one.per_second() > best->per_second();
    if (is_better) best = &one;
  }
  return best;
}

LAYERBENCH_INLINE const curve_point* curve::at(std::int64_t size) const {
  const auto found = std::ranges::lower_bound(points, size, {}, &curve_point::size);
  return found == points.end() || found->size != size ? nullptr : &*found;
}

LAYERBENCH_INLINE chain_seconds chains_in(std::span<const result::results> files) {
  chain_seconds all;
  for (const result::results& file : files) {
    std::map<result::case_name, timing> steps;
    for (const result::measurement& row : file.chains) {
      timing& step = steps[row.name.model_case];
      if (!row.error.empty()) continue;
      step.add({0, std::ssize(step.rounds)}, row);
    }
    for (const auto& [model_case, step] : steps) {
      if (!step.rounds.empty()) all[{model_case, file.file}] = step.seconds();
    }
  }
  return all;
}

LAYERBENCH_INLINE std::vector<curve> curves_of(std::span<const prediction> predictions,
                                               const curve_options& wanted) {
  std::vector<curve> curves;
  for (const size_axis over : {size_axis::batch, size_axis::tokens, size_axis::context}) {
    if (wanted.over && over != *wanted.over) continue;
    std::map<std::pair<result::case_name, std::string>, std::map<std::int64_t, const prediction*>>
        families;
    for (const prediction& p : predictions) {
      const auto size = size_of(p, over);
      if (p.step && size) families[detail::family_of(p, over)].try_emplace(*size, &p);
    }
    for (const auto& [family, steps] : families) {
      if (steps.size() < std::max<std::size_t>(wanted.least_sizes, 2)) continue;
      curve& added = curves.emplace_back(curve{over, {}, {}, {}, {}, {}});
      added.most_seconds = wanted.most_seconds;
      for (const auto& [size, p] : steps) {
        added.sizes.push_back(size);
        added.measured.push_back(*p);
      }
      detail::add_points(added, wanted);
    }
  }
  return curves;
}

LAYERBENCH_INLINE std::vector<const curve*> best_of(std::span<const curve> curves) {
  using lengths = std::vector<std::optional<std::int64_t>>;  // of texts
  std::map<std::tuple<std::string, std::string, size_axis, lengths>, std::vector<const curve*>>
      by_model;
  for (const curve& of : curves) {
    if (of.over == size_axis::context && !of.most_seconds) continue;  // the shortest would be best
    const prediction& first = of.measured.front();
    lengths others;
    for (const size_axis axis : {size_axis::tokens, size_axis::context}) {
      if (axis != of.over) others.push_back(size_of(first, axis));
    }
    by_model[{first.model_case.model, first.model_case.phase(), of.over, others}].push_back(&of);
  }
  std::vector<const curve*> best;
  for (const std::vector<const curve*>& all : std::views::values(by_model)) {
    const auto rate = [](const curve* of) {
      const curve_point* one = of->best();
      return one == nullptr ? 0 : one->per_second();
    };
    if (all.size() > 1) best.push_back(*std::ranges::max_element(all, {}, rate));
  }
  return best;
}

LAYERBENCH_INLINE std::optional<std::int64_t> next_size(const curve& of, double goal,
                                                        std::int64_t most,
                                                        const std::set<std::int64_t>& tried) {
  constexpr double nearly = 0.98;
  const auto is_open = [&](const curve_point& one) {
    return one.from != point_source::measured && one.size <= most && one.width() > goal &&
           !tried.contains(one.size);
  };
  double widest = 0;
  for (const curve_point& one : of.points) {
    if (is_open(one)) widest = std::max(widest, one.width());
  }
  const curve_point* next = nullptr;
  const auto rank = [&](const curve_point& one) {
    const auto before = std::prev(std::ranges::upper_bound(of.sizes, one.size));
    return std::pair((one.size - *before) % 2 != 0, one.width());
  };
  for (const curve_point& one : of.points) {
    if (!is_open(one) || one.width() < nearly * widest) continue;
    if (next == nullptr || rank(one) > rank(*next)) next = &one;
  }
  return next == nullptr ? std::nullopt : std::optional(next->size);
}

}  // namespace layerbench::analysis
