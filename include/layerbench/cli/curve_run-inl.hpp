// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/analysis/curve/curve.hpp>
#include <layerbench/analysis/curve/text.hpp>
#include <layerbench/backend/device.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/plain_text.hpp>
#include <layerbench/base/program_path.hpp>
#include <layerbench/base/quiet.hpp>
#include <layerbench/base/terminal.hpp>
#include <layerbench/cli/curve_run.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/result/read_results.hpp>
#include <layerbench/session/suite.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/shape/record.hpp>
#include <layerbench/timing/clock.hpp>

namespace layerbench::run {

namespace detail {

/// The sizes of an axis in the options.
[[nodiscard]] inline std::vector<std::int64_t>& sizes_in(options& o, analysis::size_axis over) {
  switch (over) {
    case analysis::size_axis::batch: return o.batches;
    case analysis::size_axis::tokens: return o.tokens;
    case analysis::size_axis::context: break;
  }
  return o.context;
}

/// The axis of which the options have several sizes. Throws usage_error where that is not one, or
/// where the options do not go with --curve.
[[nodiscard]] inline analysis::size_axis axis_of(options o) {
  if (o.out.empty() || o.out_format != "json" || o.file_aggregates_only) {
    throw usage_error("--curve: the steps go to a result file; add --benchmark_out=FILE");
  }
  if (o.data_parallel || !o.filter.empty() || o.dry_run || o.format != "console") {
    throw usage_error(
        "--curve: not with --ranks, --benchmark_filter, --benchmark_dry_run or another "
        "--benchmark_format");
  }
  std::vector<analysis::size_axis> several;
  for (const auto over :
       {analysis::size_axis::batch, analysis::size_axis::tokens, analysis::size_axis::context}) {
    if (sizes_in(o, over).size() > 1) several.push_back(over);
  }
  if (several.size() == 1) return several.front();
  throw usage_error(
      "--curve: give a range to one of --batch, --tokens and --context, such as --batch=1..64");
}

/// Chooses and measures the steps of a model with one number of threads and of streams.
class curve_run {
 public:
  using measurer = std::function<exit_code(const options&)>;

  curve_run(options o, const program& what, const registry& known, const measurer& measure)
      : o_(std::move(o)),
        what_(what),
        known_(known),
        measure_(measure),
        over_(axis_of(o_)),
        name_(model::load(model::find(o_.models.front(), o_.shapes)).name),
        budget_(o_.budget.empty() ? usual_budget : std::stod(o_.budget)) {
    wanted_ = sizes_in(o_, over_);
    std::ranges::sort(wanted_);
    most_ = wanted_.back();
    o_.curve = false;
    o_.in_curve = true;
    o_.budget.clear();
    o_.repetitions = std::min(o_.repetitions, most_rounds);
    o_.most_time = fmt::format("{}", std::min(std::stod(o_.most_time), budget_ / 12));
    read();
  }

  /// Measures until all is known or the budget is spent. The result is `incomplete` where a step
  /// could not be measured, or where there is no curve.
  [[nodiscard]] exit_code run() {
    exit_code code = exit_code::done;
    while (const auto size = next()) {
      const double begin = stopwatch::now();
      const exit_code latest = measure_(with_chain(sized(*size), *size));
      if (latest != exit_code::done && latest != exit_code::incomplete) return latest;
      o_.resume = o_.out;
      o_.variables.erase("--threads");  // was said
      read();
      tried_.insert(*size);
      const auto step = steps_.find(*size);
      if (latest == exit_code::incomplete || step == steps_.end()) code = exit_code::incomplete;
      if (step != steps_.end()) {
        taken_[step->second] = stopwatch::now() - begin;
      } else if (steps_.empty()) {
        break;
      } else if (*size > steps_.rbegin()->first) {  // too large for the memory, say
        most_ = *size - 1;
      }
    }
    return curves_.empty() ? exit_code::incomplete : code;
  }

  [[nodiscard]] const std::vector<analysis::curve>& curves() const { return curves_; }

  /// Prints the curves, or why there is none, and says so if much was disturbed.
  void print() const {
    if (curves_.empty()) {
      const auto measured = steps_ | std::views::keys;
      print_message(fmt::format("{}: no curve, which needs steps of two sizes; measured: {}", name_,
                                steps_.empty() ? "none"
                                               : fmt::format("{} {}", layerbench::name(over_),
                                                             fmt::join(measured, ", "))));
      return;
    }
    print_plain(stdout, fitted('\n' + analysis::text(curves_), terminal_columns()));
    const auto disturbed = std::ranges::count_if(results_.rows, &result::measurement::disturbed);
    const auto all = std::ssize(results_.rows);
    if (static_cast<double>(disturbed) <= result::much_disturbed * static_cast<double>(all)) return;
    note(
        fmt::format("{} of {} timings were disturbed; measure again when the machine is idle "
                    "(--check-machine)",
                    disturbed, all));
  }

 private:
  static constexpr double usual_budget = 60;  ///< seconds
  static constexpr std::size_t most_chains = 3;
  static constexpr int most_rounds = 5;  ///< the fewest that give a 95 % interval

  [[nodiscard]] double left() const { return budget_ - (stopwatch::now() - started_); }

  [[nodiscard]] options sized(std::int64_t size) const {
    options one = o_;
    sizes_in(one, over_) = {size};
    return one;
  }

  /// With an end-to-end run, which anchors the curve, if the step is the first one or takes no more
  /// than a sixth of the time left, and there are fewer than three such runs.
  [[nodiscard]] options with_chain(options one, std::int64_t size) const {
    constexpr double calls = 60;  // five rounds of three passes
    const std::size_t anchors = curves_.empty() ? steps_.size() : curves_.front().anchors.size();
    const bool has_chains = std::ranges::find(one.dtypes, name(dtype::f8_e4m3)) == one.dtypes.end();
    const bool is_short = steps_.empty() || calls * step_seconds(size) <= left() / 6;
    if (!has_chains || !is_short || anchors >= most_chains) {
      one.chain.clear();
    } else if (one.chain.empty()) {
      one.chain = "steps";
    }
    return one;
  }

  /// Seconds of a step as far as known: by the curves, else in proportion to the size.
  [[nodiscard]] double step_seconds(std::int64_t size) const {
    double longest = 0;
    for (const analysis::curve& of : curves_) {
      if (const analysis::curve_point* one = of.at(size)) longest = std::max(longest, one->seconds);
    }
    if (longest > 0) return longest;
    const auto& [largest, seconds] = *steps_.rbegin();
    if (over_ == analysis::size_axis::context || size <= largest) return seconds;
    return seconds * static_cast<double>(size) / static_cast<double>(largest);
  }

  /// Takes the steps of the result file.
  void read() {
    const std::string& file = o_.resume;
    std::error_code unknown;
    if (file.empty() || !std::filesystem::exists(file, unknown)) return;
    results_ = result::read(file);
    predictions_ = analysis::predict(std::span(&results_, 1), {.models = {}, .shapes = o_.shapes});
    std::erase_if(predictions_, [&](const analysis::prediction& p) {
      return p.model_case.model != name_ || p.model_case.phase() != o_.phase || !p.step ||
             p.threads != o_.threads.front() || p.model_case.streams() != o_.streams.front();
    });
    steps_.clear();
    for (const analysis::prediction& p : predictions_) {
      if (const auto size = analysis::size_of(p, over_)) {
        double& seconds = steps_[*size];
        seconds = std::max(seconds, p.step->seconds);
      }
    }
    curves_ = analysis::curves_of(
        predictions_,
        {.over = over_, .sizes = wanted_, .chains = analysis::chains_in(std::span(&results_, 1))});
  }

  /// Seconds that it takes to measure a step of `step` seconds, by the next shorter one.
  [[nodiscard]] double expected(double step) const {
    constexpr double calls = 25;  // five rounds of samples and their warm-ups, and verification
    if (taken_.empty()) return calls * step;
    const auto above = taken_.lower_bound(step);
    if (above == taken_.begin()) return above->second;
    const auto& [known, seconds] = *std::prev(above);
    const double longer = seconds + calls * (step - known);
    return above == taken_.end() ? longer : std::min(longer, above->second);
  }

  [[nodiscard]] bool may_measure(std::int64_t size) const {
    return size <= most_ && !tried_.contains(size);
  }

  /// The largest wanted size above the measured ones that takes at most a third of the time left,
  /// or half of it once there is a curve.
  [[nodiscard]] std::optional<std::int64_t> largest_affordable() const {
    for (const std::int64_t size : wanted_ | std::views::reverse) {
      if (size <= steps_.rbegin()->first) break;
      const double share = left() / (curves_.empty() ? 3 : 2);
      if (may_measure(size) && expected(step_seconds(size)) <= share) return size;
    }
    return std::nullopt;
  }

  /// The second size, which a curve needs whatever the budget is: the largest one that takes at
  /// most twice the time of the first, and at least twice the first size. The longest context costs
  /// little.
  [[nodiscard]] std::optional<std::int64_t> second() const {
    const double first = expected(steps_.begin()->second);
    const auto twice = std::ranges::lower_bound(wanted_, 2 * wanted_.front());
    const std::int64_t least = twice == wanted_.end() ? wanted_.back() : *twice;
    const auto found = std::ranges::find_if(wanted_ | std::views::reverse, [&](std::int64_t size) {
      return over_ == analysis::size_axis::context || size <= least ||
             expected(step_seconds(size)) <= 2 * first;
    });
    const bool is_new = *found > steps_.rbegin()->first && may_measure(*found);
    return is_new ? std::optional(*found) : std::nullopt;
  }

  /// The size to measure next; nothing if all is known, or no time is left.
  [[nodiscard]] std::optional<std::int64_t> next() {
    const std::int64_t least = wanted_.front();
    if (!steps_.contains(least) && !tried_.contains(least)) return least;
    const std::optional<std::int64_t> top = largest_affordable();
    if (curves_.empty()) return top ? top : second();
    const std::int64_t most = top.value_or(steps_.rbegin()->first);
    std::optional<std::int64_t> widest;
    double width = 0;
    for (const analysis::curve& of : curves_) {
      for (const std::int64_t size : switch_sizes(of)) {
        const analysis::curve_point& one = *of.at(size);
        const bool is_new = one.from != analysis::point_source::measured && !tried_.contains(size);
        if (is_new && fits(one)) return size;
      }
      std::int64_t affordable = 0;
      for (const analysis::curve_point& one : of.points) {
        if (one.size <= most && fits(one)) affordable = one.size;
      }
      const auto size = analysis::next_size(of, goal(of), affordable, tried_);
      if (!size || of.at(*size)->width() <= width) continue;
      widest = size;
      width = of.at(*size)->width();
    }
    return widest;
  }

  [[nodiscard]] bool fits(const analysis::curve_point& one) const {
    return expected(one.seconds) <= left();
  }

  /// The width at which an interval is narrow enough: not much more than a measured step's.
  [[nodiscard]] static double goal(const analysis::curve& of) {
    constexpr double more = 1.5;
    constexpr double least = 0.02;
    double widest = least;
    for (const analysis::curve_point& one : of.points) {
      if (one.from == analysis::point_source::measured) {
        widest = std::max(widest, more * one.width());
      }
    }
    return widest;
  }

  /// Wanted sizes on both sides of switches between measured sizes.
  [[nodiscard]] std::vector<std::int64_t> switch_sizes(const analysis::curve& of) {
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i + 1 < of.sizes.size(); ++i) {
      const std::pair gap(of.sizes[i], of.sizes[i + 1]);
      const std::pair key(of.measured[i].model_case, gap);
      if (!switches_.contains(key)) {
        switches_[key] = switch_between(of.measured[i], of.measured[i + 1], gap);
      }
      const std::vector<std::int64_t>& found = switches_.at(key);
      sizes.insert(sizes.end(), found.begin(), found.end());
    }
    return sizes;
  }

  /// The last wanted size with the algorithm of `a`, and the first with another one, of the layer
  /// of most time that has another algorithm in `b`. Empty if there is none of much time, if the
  /// wanted sizes lack that of `a` or end before that of `b`, or where a size between has no plan.
  [[nodiscard]] std::vector<std::int64_t> switch_between(
      const analysis::prediction& a, const analysis::prediction& b,
      std::pair<std::int64_t, std::int64_t> gap) const {
    constexpr double much = 0.05;  // of the step
    const analysis::layer_time* layer = nullptr;
    const auto before = algorithms(a.model_case);
    const auto after = algorithms(b.model_case);
    for (const analysis::layer_time& one : a.layers) {
      const auto from = before.find(one.call_name());
      const auto to = after.find(one.call_name());
      if (from == before.end() || to == after.end() || from->second == to->second) continue;
      if (one.share >= much && (layer == nullptr || one.share > layer->share)) layer = &one;
    }
    auto low = std::ranges::lower_bound(wanted_, gap.first);
    auto high = std::ranges::lower_bound(wanted_, gap.second);
    if (layer == nullptr || high == wanted_.end() || *low != gap.first || high - low < 2) return {};
    while (high - low > 1) {
      const auto middle = low + (high - low) / 2;
      const auto found = planned_algorithm(*middle, a.model_case, *layer);
      if (!found) return {};
      (*found == before.at(layer->call_name()) ? low : high) = middle;
    }
    return {*low, *high};
  }

  /// The algorithms of a measured step by the name of the call.
  [[nodiscard]] std::map<std::string, std::string> algorithms(const result::case_name& of) const {
    std::map<std::string, std::string> all;
    for (const result::measurement& row : results_.rows) {
      if (row.name.model_case != of || !row.error.empty()) continue;
      all[model::call_name(row.name.layer, row.name.pass)] = row.label.algorithm;
    }
    return all;
  }

  /// The algorithm of a layer's plan at that size; nothing where it has no plan. Throws what
  /// make_suite() throws, and the backend's own errors.
  [[nodiscard]] std::optional<std::string> planned_algorithm(
      std::int64_t size, const result::case_name& like, const analysis::layer_time& layer) const {
    options one = sized(size);
    one.resume.clear();
    const suite all = make_suite(one, what_, known_);
    for (const auto& row : all.rows) {
      const result::row_name& name = row->name();
      const bool same = name.layer == layer.name && name.pass == layer.pass &&
                        name.model_case.backend == like.backend &&
                        name.model_case.dtype == like.dtype;
      if (!same) continue;
      const auto plan = plan_or_null(row->device(), row->spec().op, row->spec().request);
      return plan ? std::optional(plan->algorithm()) : std::nullopt;
    }
    return std::nullopt;
  }

  options o_;
  const program& what_;
  const registry& known_;
  const measurer& measure_;
  analysis::size_axis over_;
  std::string name_;  ///< of the model
  double budget_;
  double started_ = stopwatch::now();
  std::vector<std::int64_t> wanted_;
  std::int64_t most_;             ///< the largest that may be measured
  std::set<std::int64_t> tried_;  ///< sizes that were measured here, or failed
  result::results results_;
  std::vector<analysis::prediction> predictions_;
  std::map<std::int64_t, double> steps_;  ///< seconds of the measured steps
  std::vector<analysis::curve> curves_;
  std::map<double, double> taken_;  ///< seconds of measuring, by those of the step
  std::map<std::pair<result::case_name, std::pair<std::int64_t, std::int64_t>>,
           std::vector<std::int64_t>>
      switches_;
};

}  // namespace detail

LAYERBENCH_INLINE exit_code measure_curve(const options& o, const program& what,
                                          const registry& known,
                                          const std::function<exit_code(const options&)>& measure) {
  exit_code code = exit_code::done;
  options one = o;
  std::vector<analysis::curve> all;
  for (const std::string& model : o.models) {
    for (const int threads : o.threads) {
      for (const int streams : o.streams) {
        one.models = {model};
        one.threads = {threads};
        one.streams = {streams};
        detail::curve_run run(one, what, known, measure);
        const exit_code latest = run.run();
        one.resume = o.out;
        std::error_code unknown;
        if (!std::filesystem::exists(o.out, unknown)) one.resume = o.resume;
        run.print();
        std::ranges::copy(run.curves(), std::back_inserter(all));
        if (latest == exit_code::interrupted) return latest;
        if (latest != exit_code::done) code = latest;
      }
    }
  }
  print_plain(stdout, fitted(analysis::best_text(all), terminal_columns()));
  note(fmt::format("all sizes: {} curve {} --format=csv", program_path("layerbench"), o.out));
  return code;
}

}  // namespace layerbench::run
