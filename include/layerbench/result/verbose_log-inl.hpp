// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <functional>
#include <numeric>
#include <span>
#include <system_error>
#include <unordered_map>
#include <utility>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/input_file.hpp>
#include <layerbench/base/split.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/result/verbose_log.hpp>

namespace layerbench::result {

LAYERBENCH_INLINE std::vector<verbose_tensor> verbose_primitive::tensors() const {
  std::vector<verbose_tensor> all;
  for (const std::string_view text : split(memory, ' ')) {
    // A name ends in '_' (older) or ':', and so may the "diff" before it.
    const std::size_t end = text.find_first_of("_:", text.starts_with("diff_") ? 5 : 0);
    if (end == std::string_view::npos) continue;
    const std::vector<std::string_view> parts = split(text.substr(end + 1), ':');
    constexpr std::size_t tag = 3;
    all.push_back({text.substr(0, end), parts[0],
                   parts.size() > tag && parts[2] == "blocked" ? parts[tag] : ""});
  }
  return all;
}

LAYERBENCH_INLINE verbose_tensor verbose_primitive::tensor(std::string_view name) const {
  const std::vector<verbose_tensor> all = tensors();
  const auto found = std::ranges::find(all, name, &verbose_tensor::name);
  return found == all.end() ? verbose_tensor{name, "undef", ""} : *found;
}

LAYERBENCH_INLINE std::string_view verbose_primitive::setting(std::string_view key) const {
  for (const std::string_view part : split(auxiliary, ' ')) {
    if (part.starts_with(key) && part.size() > key.size() && part[key.size()] == ':') {
      return part.substr(key.size() + 1);
    }
  }
  return {};
}

LAYERBENCH_INLINE bool verbose_primitive::is_reference() const {
  // Kernels in kernels stand behind a '+', those of products in convolutions behind "gemm:".
  return std::ranges::any_of(split(implementation, '+'), [](std::string_view part) {
    return part.starts_with("ref") || part.starts_with("simple") || part.starts_with("nspc_ref") ||
           part.ends_with("gemm:ref");
  });
}

LAYERBENCH_INLINE std::vector<std::size_t> verbose_log::calls() const {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].event == verbose_event::exec) all.push_back(i);
  }
  return all;
}

LAYERBENCH_INLINE std::optional<double> verbose_number(std::string_view text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = failed == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) && value >= 0 ? std::optional(value) : std::nullopt;
}

namespace detail {

/// Reads a log line by line. Lines of one primitive differ in times alone, so its description is
/// parsed once.
class verbose_reader {
 public:
  explicit verbose_reader(std::string file) { log_.file = std::move(file); }

  /// A line may have other text before the log's, and, if processes write at once, several cut
  /// ones.
  void add(std::string_view line) {
    ++log_.counts.lines;
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::size_t begin = marker(line, 0);
    if (begin != 0 && !line.empty()) ++log_.counts.foreign;
    while (begin < line.size()) {
      const std::size_t next = marker(line, begin + 1);
      read(line.substr(begin, next - begin));
      begin = next;
    }
  }

  [[nodiscard]] verbose_log take() { return std::move(log_); }

 private:
  /// Where the next record begins; the end of the line if none does.
  [[nodiscard]] static std::size_t marker(std::string_view line, std::size_t from) {
    std::size_t first = line.size();
    for (const char* name : {"onednn_verbose,", "dnnl_verbose,", "mkldnn_verbose,"}) {
      first = std::min(first, line.find(name, from));
    }
    return first;
  }

  void read(std::string_view text) {
    fields_.clear();
    for (const std::string_view field : split(text, ',')) fields_.push_back(field);
    std::span<const std::string_view> rest = std::span(fields_).subspan(1);
    const auto drop = [&] { rest = rest.subspan(1); };
    if (!rest.empty() && rest[0].starts_with('v') && verbose_number(rest[0].substr(1))) drop();
    std::optional<double> at;
    if (!rest.empty() && (at = verbose_number(rest[0]))) drop();
    if (!rest.empty() && rest[0] == "primitive") drop();
    if (rest.empty() || rest[0].empty()) return static_cast<void>(++log_.counts.damaged);
    const std::string_view operation = rest[0];
    if (operation == "graph" && rest.size() > 1 && rest[1] == "exec") {
      ++log_.counts.graphs;
    } else if (operation == "create:dispatch") {
      refuse(rest.subspan(1));
    } else if (operation == "exec") {
      timed(verbose_event::exec, rest.subspan(1), at);
    } else if (operation == "create:cache_hit") {
      timed(verbose_event::create_hit, rest.subspan(1), at);
    } else if (operation == "create" || operation == "create:cache_miss" ||
               operation == "create:from_cache_blob") {
      timed(verbose_event::create_miss, rest.subspan(1), at);
    } else {
      inform(rest);
    }
  }

  /// What the library says of itself, and lines that no time comes from.
  void inform(std::span<const std::string_view> rest) {
    ++log_.counts.others;
    if (rest[0] != "info" || rest.size() < 2) return;
    for (const std::string_view name : {"oneDNN v", "DNNL v"}) {
      if (!rest[1].starts_with(name)) continue;
      ++log_.counts.headers;
      const std::string_view version = rest[1].substr(name.size());
      log_.version = version.substr(0, version.find(' '));
    }
    if (rest[1] != "cpu") return;
    for (std::size_t i = 2; i < rest.size(); ++i) {
      if (rest[i].starts_with("nthr:")) {
        const double threads = verbose_number(rest[i].substr(5)).value_or(0);
        log_.threads = threads < 1e6 ? static_cast<std::int64_t>(threads) : 0;
      }
      if (!rest[i].starts_with("isa:")) continue;
      // The words for some instruction sets have commas.
      log_.isa = std::string(rest[i].data() + 4, rest.back().data() + rest.back().size());
    }
  }

  void timed(verbose_event event, std::span<const std::string_view> rest,
             std::optional<double> at) {
    const std::optional<double> ms = rest.empty() ? std::nullopt : verbose_number(rest.back());
    if (rest.size() != fields_of_primitive + 1 || !ms || rest[1].empty() || rest[2].empty()) {
      ++log_.counts.damaged;
      return;
    }
    const std::size_t primitive = known(rest.first(fields_of_primitive));
    if (event != verbose_event::exec) {
      std::vector<std::string>& refused = refused_[std::string(rest[1])];
      std::vector<std::string>& reasons = log_.primitives[primitive].refusals;
      if (reasons.empty()) reasons = std::move(refused);
      refused.clear();
    }
    log_.records.push_back(
        {event, primitive, *ms / 1e3, at ? std::optional(*at / 1e3) : std::nullopt});
  }

  [[nodiscard]] std::size_t known(std::span<const std::string_view> f) {
    const std::string_view text(f.front().data(), f.back().data() + f.back().size());
    const auto found = positions_.find(text);
    if (found != positions_.end()) return found->second;
    log_.primitives.push_back({std::string(f[0]), std::string(f[1]), std::string(f[2]),
                               std::string(f[3]), std::string(f[4]), std::string(f[5]),
                               std::string(f[6]), std::string(f[7])});
    return positions_.emplace(text, log_.primitives.size() - 1).first->second;
  }

  /// Why an implementation was refused: in the long form with the primitive, in the short without.
  void refuse(std::span<const std::string_view> rest) {
    ++log_.counts.others;
    constexpr std::size_t kind = 1;  // of primitive, and the end of its fields
    if (rest.size() < 3) return;
    const bool is_long = rest.size() > kind + fields_of_primitive + 1;
    const auto reason = rest.subspan(is_long ? kind + fields_of_primitive : kind);
    std::string text = is_long ? std::string(rest[kind + 2]) + ": " : "";
    // The last field is a line of the library's source.
    text += std::string(reason.front().data(),
                        reason[reason.size() - 2].data() + reason[reason.size() - 2].size());
    std::vector<std::string>& all = refused_[std::string(rest[0])];
    constexpr std::size_t most = 12;
    if (all.size() < most && std::ranges::find(all, text) == all.end()) {
      all.push_back(std::move(text));
    }
  }

  struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  static constexpr std::size_t fields_of_primitive = 8;

  verbose_log log_;
  std::vector<std::string_view> fields_;
  std::unordered_map<std::string, std::size_t, text_hash, std::equal_to<>> positions_;
  std::map<std::string, std::vector<std::string>> refused_;  ///< by kind, since its last creation
};

}  // namespace detail

LAYERBENCH_INLINE verbose_log read_verbose(std::istream& text, std::string file) {
  detail::verbose_reader reader(std::move(file));
  for (std::string line; std::getline(text, line);) reader.add(line);
  return reader.take();
}

LAYERBENCH_INLINE verbose_log read_verbose(const std::filesystem::path& path) {
  std::ifstream text(input_path(path));
  std::error_code unknown;
  if (!text || std::filesystem::is_directory(path, unknown)) {
    throw bad_input(path.string(), "", "cannot be read");
  }
  verbose_log log = read_verbose(text, path.string());
  if (!log.calls().empty()) return log;
  throw bad_input(path.string(), "",
                  "has no timed call of oneDNN; make the log with ONEDNN_VERBOSE=2");
}

LAYERBENCH_INLINE repeated_step find_step(const std::vector<std::size_t>& sequence) {
  const std::size_t count = sequence.size();
  if (count == 0) return {};
  std::vector<std::vector<std::size_t>> positions(std::ranges::max(sequence) + 1);
  for (std::size_t i = 0; i < count; ++i) positions[sequence[i]].push_back(i);
  repeated_step best{0, count, 1};
  std::size_t covered = 0;
  const auto extend = [&](std::size_t anchor, std::size_t period) {
    std::size_t end = anchor;
    while (end + period < count && sequence[end] == sequence[end + period]) ++end;
    if (end < anchor + period) return;  // not even one repetition from here on
    std::size_t first = anchor;
    while (first > 0 && sequence[first - 1] == sequence[first - 1 + period]) --first;
    const std::size_t length = end + period - first;
    if (length < covered || (length == covered && period >= best.period)) return;
    covered = length;
    // Behind a warm-up the repetition may begin within a step, so the last step is whole.
    const std::size_t rest = length % period;
    best = {first > 0 && end + period == count ? first + rest : first, period, length / period};
  };
  // In steady state a call comes back one period later. Calls that are rare have few such places.
  constexpr std::size_t anchors = 8;
  constexpr std::size_t most_candidates = 512;
  for (std::size_t part = 0; part < anchors && count > 1; ++part) {
    const std::size_t begin = part * count / anchors;
    const std::size_t end = std::max(begin + 1, (part + 1) * count / anchors);
    std::size_t anchor = begin;
    for (std::size_t i = begin; i < std::min(end, begin + 4096); ++i) {
      const auto uses = [&](std::size_t at) { return positions[sequence[at]].size(); };
      if (uses(i) > 1 && (uses(anchor) < 2 || uses(i) < uses(anchor))) anchor = i;
    }
    const std::vector<std::size_t>& all = positions[sequence[anchor]];
    auto later = std::ranges::upper_bound(all, anchor);
    for (std::size_t i = 0; later != all.end() && i < most_candidates; ++later, ++i) {
      const std::size_t period = *later - anchor;
      const bool is_covered = anchor >= best.first && anchor < best.first + covered;
      if (!is_covered || period % best.period != 0) extend(anchor, period);
    }
  }
  return covered * 2 >= count ? best : repeated_step{0, count, 1};
}

LAYERBENCH_INLINE std::map<std::string, std::int64_t, std::less<>> sizes_of(
    std::string_view problem) {
  std::map<std::string, std::int64_t, std::less<>> sizes;
  constexpr std::string_view digits = "0123456789";
  while (!problem.empty()) {
    const std::size_t number = problem.find_first_of(digits);
    if (number == std::string_view::npos) break;
    const std::size_t letters =
        problem.substr(0, number).find_last_not_of("abcdefghijklmnopqrstuvwxyz");
    const std::size_t begin = letters == std::string_view::npos ? 0 : letters + 1;
    const std::size_t end = std::min(problem.find_first_not_of(digits, number), problem.size());
    std::int64_t size = 0;
    const auto [rest, failed] = std::from_chars(&problem[number], problem.data() + end, size);
    if (failed == std::errc()) sizes.emplace(problem.substr(begin, number - begin), size);
    problem.remove_prefix(end);
  }
  return sizes;
}

LAYERBENCH_INLINE std::optional<std::vector<dims>> extents_of(std::string_view problem) {
  std::vector<dims> all;
  for (const std::string_view tensor : split(problem, ':')) {
    dims& extents = all.emplace_back();
    for (const std::string_view text : split(tensor, 'x')) {
      const std::optional<double> size = verbose_number(text);
      if (!size || *size < 1 || *size > static_cast<double>(max_size)) return std::nullopt;
      extents.push_back(static_cast<std::int64_t>(*size));
    }
  }
  return all;
}

namespace detail {

/// Whether a tensor of a call, other than a reorder, has this type, order and number of elements.
[[nodiscard]] inline bool has_tensor(const verbose_primitive& call, std::string_view name,
                                     const verbose_tensor& wanted, const dims& extents) {
  const verbose_tensor found = call.tensor(name);
  if (found.type != wanted.type || found.tag != wanted.tag || found.tag.empty()) return false;
  const auto sizes = sizes_of(call.problem);
  const auto size = [&](std::string_view key) {
    const auto at = sizes.find(key);
    return at == sizes.end() ? std::int64_t{1} : at->second;
  };
  const double elements_of = std::accumulate(extents.begin(), extents.end(), 1.0,
                                             [](double a, auto b) { return a * double(b); });
  if (const auto all = extents_of(call.problem)) {  // a product of matrices, or pointwise
    const std::size_t at = name == "wei" ? 1 : name == "dst" ? all->size() - 1 : 0;
    return at < all->size() && (*all)[at] == extents;
  }
  double count = name == "wei" ? 1.0 : double(size("mb"));
  const std::string_view inner = name == "dst" ? "o" : name == "wei" ? "k" : "i";
  for (const std::string_view axis : {"d", "h", "w"}) {
    // Fully connected layers have no windows: their weights are as large as an image.
    std::string key = std::string(inner) + std::string(axis);
    if (name == "wei" && !sizes.contains(key)) key[0] = 'i';
    if (name != "wei" || call.kind == "inner_product" || sizes.contains(key)) {
      count *= double(size(key));
    }
  }
  if (name != "dst") count *= double(size("ic"));
  if (name != "src") count *= double(size("oc"));
  if (name == "wei") count /= double(size("g"));
  return count == elements_of;
}

/// Finds the calls for which reorders work: the next one that reads the result, else the last one
/// that wrote the source in an order with blocks.
inline void find_readers_of_reorders(const verbose_log& log, std::vector<verbose_call>& calls) {
  const auto primitive = [&](std::size_t i) -> const verbose_primitive& {
    return log.primitives[calls[i].primitive];
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (primitive(i).kind != "reorder") continue;
    const auto extents = extents_of(primitive(i).problem);
    if (!extents) continue;
    const verbose_tensor src = primitive(i).tensor("src");
    const verbose_tensor dst = primitive(i).tensor("dst");
    const auto matches = [&](std::size_t other, std::string_view name) {
      if (!has_tensor(primitive(other), name, name == "dst" ? src : dst, extents->front())) {
        return false;
      }
      calls[i].reorders_for = other;
      calls[i].reordered = name;
      return true;
    };
    std::size_t before = i;
    while (before > 0 && primitive(before - 1).kind == "reorder") --before;
    const bool is_blocked = src.tag.find_first_of("0123456789") != std::string_view::npos;
    if (before > 0 && is_blocked && matches(before - 1, "dst")) continue;
    std::size_t after = i;
    while (after < calls.size() && primitive(after).kind == "reorder") ++after;
    if (after == calls.size()) continue;
    if (matches(after, "wei") || matches(after, "src")) continue;
    if (before > 0) static_cast<void>(matches(before - 1, "dst"));
  }
}

}  // namespace detail

LAYERBENCH_INLINE verbose_step step_of(const verbose_log& log, bool whole) {
  const std::vector<std::size_t> calls = log.calls();
  std::vector<std::size_t> sequence;
  for (const std::size_t i : calls) sequence.push_back(log.records[i].primitive);
  verbose_step step;
  step.place = whole ? repeated_step{0, sequence.size(), 1} : find_step(sequence);
  if (step.place.steps > 2) {  // memory is new in the first one
    step.place.first += step.place.period;
    --step.place.steps;
  }
  for (std::size_t i = 0; i < step.place.period; ++i) {
    std::vector<double> seconds;
    for (std::size_t j = 0; j < step.place.steps; ++j) {
      seconds.push_back(log.records[calls[step.place.first + j * step.place.period + i]].seconds);
    }
    step.seconds += std::accumulate(seconds.begin(), seconds.end(), 0.0) /
                    static_cast<double>(step.place.steps);
    step.calls.push_back({sequence[step.place.first + i], stats::median(std::move(seconds))});
  }
  detail::find_readers_of_reorders(log, step.calls);
  return step;
}

}  // namespace layerbench::result
