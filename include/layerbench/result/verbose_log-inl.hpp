// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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
#include <layerbench/base/input_path.hpp>
#include <layerbench/base/parse_number.hpp>
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
  // Kernels in kernels stand behind a '+', those of products in convolutions behind "gemm:". Other
  // libraries' logs have names of layers behind a blank.
  const std::string_view kernel =
      std::string_view(implementation).substr(0, implementation.find(' '));
  return std::ranges::any_of(split(kernel, '+'), [](std::string_view part) {
    return part.starts_with("ref") || part.starts_with("simple") || part.starts_with("nspc_ref") ||
           part.starts_with("aten::_slow") || part.starts_with("aten::slow") ||
           part.ends_with("gemm:ref");
  });
}

LAYERBENCH_INLINE std::optional<double> verbose_number(std::string_view text) {
  const std::optional<double> value = parse_number<double>(text);
  return value && std::isfinite(*value) && *value >= 0 ? value : std::nullopt;
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
    if (line.ends_with('\r')) line.remove_suffix(1);
    for (std::size_t begin = marker(line, 0); begin < line.size();) {
      const std::size_t next = marker(line, begin + 1);
      read(line.substr(begin, next - begin));
      begin = next;
    }
  }

  [[nodiscard]] verbose_log take() { return std::move(log_); }

 private:
  /// Where the next record begins; the end of the line if none does.
  [[nodiscard]] static std::size_t marker(std::string_view line, std::size_t from) {
    constexpr std::string_view end = "_verbose,";
    for (std::size_t at = from; (at = line.find(end, at)) != std::string_view::npos; ++at) {
      for (const std::string_view name : {"onednn", "dnnl"}) {
        if (line.substr(from, at - from).ends_with(name)) return at - name.size();
      }
    }
    return line.size();
  }

  void read(std::string_view text) {
    fields_.clear();
    for (const std::string_view field : split(text, ',')) fields_.push_back(field);
    std::span<const std::string_view> rest = std::span(fields_).subspan(1);
    const auto drop = [&] { rest = rest.subspan(1); };
    if (!rest.empty() && rest[0].starts_with('v') && verbose_number(rest[0].substr(1))) drop();
    const auto at = rest.empty() ? std::nullopt : verbose_number(rest[0]);
    if (at) drop();
    if (!rest.empty() && rest[0] == "primitive") drop();
    if (rest.empty() || rest[0].empty()) return static_cast<void>(++log_.damaged);
    const std::string_view operation = rest[0];
    if (operation == "info") {
      inform(rest.subspan(1));
    } else if (operation == "create:dispatch") {
      refuse(rest.subspan(1));
    } else if (operation == "exec" || operation == "create" || operation == "create:cache_miss" ||
               operation == "create:cache_hit" || operation == "create:from_cache_blob") {
      timed(operation, rest.subspan(1), at);
    }
  }

  /// What the library says of itself.
  void inform(std::span<const std::string_view> rest) {
    if (rest.empty()) return;
    for (const std::string_view name : {"oneDNN v", "DNNL v"}) {
      if (!rest[0].starts_with(name)) continue;
      ++log_.processes;
      const std::string_view version = rest[0].substr(name.size());
      log_.version = version.substr(0, version.find(' '));
    }
    if (rest[0] != "cpu") return;
    for (const std::string_view field : rest.subspan(1)) {
      if (field.starts_with("nthr:")) {
        const double threads = verbose_number(field.substr(5)).value_or(0);
        log_.threads = threads < 1e6 ? static_cast<std::int64_t>(threads) : 0;
      }
      if (!field.starts_with("isa:")) continue;
      // The words for some instruction sets have commas.
      log_.isa = std::string(field.data() + 4, rest.back().data() + rest.back().size());
    }
  }

  void timed(std::string_view operation, std::span<const std::string_view> rest,
             std::optional<double> at) {
    const std::optional<double> ms = rest.empty() ? std::nullopt : verbose_number(rest.back());
    if (rest.size() != fields_of_primitive + 1 || !ms || rest[1].empty() || rest[2].empty()) {
      ++log_.damaged;
      return;
    }
    const std::size_t primitive = known(rest.first(fields_of_primitive));
    if (operation != "exec") {
      std::vector<std::string>& refused = refused_[std::string(rest[1])];
      std::vector<std::string>& reasons = log_.primitives[primitive].refusals;
      if (reasons.empty()) reasons = std::move(refused);
      refused.clear();
      next_.creation += *ms / 1e3;
      ++next_.created;
      if (operation != "create:cache_hit") ++next_.anew;
      return;
    }
    next_.primitive = primitive;
    next_.seconds = *ms / 1e3;
    if (at) next_.at_seconds = *at / 1e3;
    log_.records.push_back(std::exchange(next_, {}));
  }

  /// The text of neighbouring fields.
  [[nodiscard]] static std::string_view text_of(std::span<const std::string_view> fields) {
    return {fields.front().begin(), fields.back().end()};
  }

  [[nodiscard]] std::size_t known(std::span<const std::string_view> f) {
    const std::string_view text = text_of(f);
    const auto found = positions_.find(text);
    if (found != positions_.end()) return found->second;
    log_.primitives.push_back({std::string(f[0]), std::string(f[1]), std::string(f[2]),
                               std::string(f[3]), std::string(f[4]), std::string(f[5]),
                               std::string(f[6]), std::string(f[7])});
    return positions_.emplace(text, log_.primitives.size() - 1).first->second;
  }

  /// Why an implementation was refused: in the long form with the primitive, in the short without.
  void refuse(std::span<const std::string_view> rest) {
    constexpr std::size_t kind = 1;  // of primitive, and the end of its fields
    if (rest.size() < 3) return;
    const bool is_long = rest.size() > kind + fields_of_primitive + 1;
    const auto reason = rest.subspan(is_long ? kind + fields_of_primitive : kind);
    std::string text = is_long ? std::string(rest[kind + 2]) + ": " : "";
    // The last field is a line of the library's source.
    text += text_of(reason.first(reason.size() - 1));
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
  verbose_record next_;  ///< what was created since the last call
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
  if (!log.records.empty()) return log;
  throw bad_input(path.string(), "",
                  "has no timed call of oneDNN; make the log with ONEDNN_VERBOSE=2");
}

namespace detail {

/// For each position of a sequence, how many elements from there on are those of its begin (the Z
/// function; D. Gusfield, Algorithms on Strings, Trees, and Sequences, 1997, section 1.4).
[[nodiscard]] inline std::vector<std::size_t> common_begins(const std::vector<std::size_t>& of) {
  std::vector<std::size_t> lengths(of.size());
  std::size_t first = 0;  // the known part that reaches farthest
  std::size_t end = 0;
  for (std::size_t i = 1; i < of.size(); ++i) {
    std::size_t length = i < end ? std::min(end - i, lengths[i - first]) : 0;
    while (i + length < of.size() && of[length] == of[i + length]) ++length;
    if (i + length > end) {
      first = i;
      end = i + length;
    }
    lengths[i] = length;
  }
  return lengths;
}

}  // namespace detail

LAYERBENCH_INLINE repeated_step find_step(const std::vector<std::size_t>& sequence) {
  const std::size_t count = sequence.size();
  if (count == 0) return {};
  // A repetition over half of the sequence has its middle in it, or ends there. So it is found by
  // how far the parts behind and before the middle agree with those one period away.
  const std::size_t middle = count / 2;
  std::vector<std::size_t> text(sequence.begin() + static_cast<std::ptrdiff_t>(middle),
                                sequence.end());
  text.push_back(SIZE_MAX);
  text.insert(text.end(), sequence.begin(), sequence.end());
  const std::vector<std::size_t> behind = detail::common_begins(text);
  text.assign(sequence.rbegin() + static_cast<std::ptrdiff_t>(count - middle), sequence.rend());
  text.push_back(SIZE_MAX);
  text.insert(text.end(), sequence.rbegin(), sequence.rend());
  const std::vector<std::size_t> before = detail::common_begins(text);
  repeated_step best{0, count, 1};
  std::size_t covered = 0;
  const auto consider = [&](std::size_t first, std::size_t end, std::size_t period) {
    const std::size_t length = end - first;
    if (length < 2 * period || length <= covered) return;
    covered = length;
    // Behind a warm-up the repetition may begin within a step, so the last step is whole.
    const std::size_t rest = length % period;
    best = {first > 0 && end == count ? first + rest : first, period, length / period};
  };
  for (std::size_t period = 1; 2 * period <= count; ++period) {
    const std::size_t away = count + 1 - period;  // of the middle, in the other half of the texts
    if (middle + period < count) {
      consider(middle - before[away], middle + period + behind[period], period);
    }
    if (period <= middle) {
      consider(middle - period - before[period], middle + behind[away], period);
    }
  }
  return covered * 2 >= count ? best : repeated_step{0, count, 1};
}

LAYERBENCH_INLINE problem_sizes::problem_sizes(std::string_view problem) {
  constexpr std::string_view digits = "0123456789";
  for (std::size_t number = 0;
       (number = problem.find_first_of(digits)) != std::string_view::npos;) {
    const std::size_t letters =
        problem.substr(0, number).find_last_not_of("abcdefghijklmnopqrstuvwxyz");
    const std::size_t begin = letters == std::string_view::npos ? 0 : letters + 1;
    const std::string_view name = problem.substr(begin, number - begin);
    problem.remove_prefix(number);
    const std::optional<std::int64_t> size = take_number<std::int64_t>(problem);
    if (!size) problem.remove_prefix(std::min(problem.find_first_not_of(digits), problem.size()));
    sizes_.emplace(name, std::min(size.value_or(max_size), max_size));
  }
}

LAYERBENCH_INLINE std::int64_t problem_sizes::of(std::string_view name,
                                                 std::int64_t otherwise) const {
  const auto found = sizes_.find(name);
  return found == sizes_.end() ? otherwise : found->second;
}

LAYERBENCH_INLINE std::optional<std::vector<dims>> extents_of(std::string_view problem) {
  std::vector<dims> all;
  for (const std::string_view tensor : split(problem, ':')) {
    dims& extents = all.emplace_back();
    for (const std::string_view text : split(tensor, 'x')) {
      const std::optional<std::int64_t> size = parse_number<std::int64_t>(text);
      if (!size || *size < 1 || *size > max_size) return std::nullopt;
      extents.push_back(*size);
    }
  }
  return all;
}

LAYERBENCH_INLINE verbose_step step_of(const verbose_log& log, bool whole) {
  std::vector<std::size_t> sequence;
  for (const verbose_record& call : log.records) sequence.push_back(call.primitive);
  verbose_step step;
  step.place = whole ? repeated_step{0, sequence.size(), 1} : find_step(sequence);
  if (step.place.steps > 2) {  // memory is new in the first one
    step.place.first += step.place.period;
    --step.place.steps;
  }
  for (std::size_t i = 0; i < step.place.period; ++i) {
    std::vector<double> seconds;
    for (std::size_t j = 0; j < step.place.steps; ++j) {
      seconds.push_back(log.records[step.place.first + j * step.place.period + i].seconds);
    }
    step.seconds += std::accumulate(seconds.begin(), seconds.end(), 0.0) /
                    static_cast<double>(step.place.steps);
    step.calls.push_back({sequence[step.place.first + i], stats::median(std::move(seconds))});
  }
  return step;
}

}  // namespace layerbench::result
