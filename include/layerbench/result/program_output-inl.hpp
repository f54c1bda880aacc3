// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/base/parse_number.hpp>
#include <layerbench/base/split.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/result/google_json_reader.hpp>
#include <layerbench/result/non_finite_json.hpp>
#include <layerbench/result/program_output.hpp>

namespace layerbench::result {

namespace detail {

/// The values of each row so far, in the order of the output.
class metric_rows {
 public:
  explicit metric_rows(std::string file) : file_(std::move(file)) {}

  [[nodiscard]] const std::string& file() const { return file_; }

  /// Adds a value of the row `row.name`. Throws bad_input, naming `place`, if it is not above 0.
  void add(metric row, std::string_view place) {
    if (!std::isfinite(row.value) || row.value <= 0) {
      throw bad_input(file_, place, "is not a number above 0");
    }
    const auto [found, is_new] = row_numbers_.emplace(row.name, rows_.size());
    if (is_new) values_.emplace_back();
    values_[found->second].push_back(row.value);
    if (is_new) rows_.push_back(std::move(row));
  }

  /// Each row with the median of its values.
  [[nodiscard]] std::vector<metric> medians() const {
    std::vector<metric> all = rows_;
    for (std::size_t i = 0; i < all.size(); ++i) all[i].value = stats::median(values_[i]);
    return all;
  }

 private:
  std::string file_;
  std::vector<metric> rows_;
  std::vector<std::vector<double>> values_;
  std::map<std::string, std::size_t> row_numbers_;  // by name
};

[[nodiscard]] inline std::optional<double> number_in(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == text.npos) return std::nullopt;
  return parse_number<double>(text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin));
}

/// A file of JSON that has a list of benchmarks, or is one.
using json_reader = void (*)(const json::cursor& whole, metric_rows& into);

/// Adds the time `key` of `of`, in a unit of which a second has `per_second`.
inline void add_time(const json::cursor& of, std::string_view key, double per_second,
                     std::string name, metric_rows& into) {
  of.require_keys({key});
  const double value = of[key].number() / per_second;
  if (!std::isfinite(value) || value <= 0) of[key].fail("is not a time above 0");
  into.add({std::move(name), value}, "");
}

[[nodiscard]] inline bool is_true(const json::cursor& of, std::string_view key) {
  return of.has(key) && of[key].boolean();
}

template <class Function>
void for_each(const json::cursor& list, const Function& function) {
  list.require_array();
  for (std::size_t i = 0; i < list.get().size(); ++i) function(list[i]);
}

/// How many of the unit that a text names a second has.
[[nodiscard]] inline double units_per_second(const json::cursor& unit) {
  try {
    return units_per_second(unit.text());
  } catch (const bad_field& e) {
    unit.fail(e.what());
  }
}

/// Rows of Google Benchmark that are measurements, or, in a file of aggregates, medians (means
/// without any).
inline void read_google(const json::cursor& whole, metric_rows& into) {
  const auto add = [&](const std::string& kind, const std::string& aggregate) {
    bool found = false;
    for_each(whole["benchmarks"], [&](const json::cursor& row) {
      row.require_keys({"name"});
      const bool skipped = is_true(row, "error_occurred") || row.has("skipped");
      const std::string type = row.has("run_type") ? row["run_type"].text() : "iteration";
      const std::string of = row.has("aggregate_name") ? row["aggregate_name"].text() : "";
      if (skipped || type != kind || of != aggregate) return;
      const double per_second = row.has("time_unit") ? units_per_second(row["time_unit"]) : 1e9;
      add_time(row, "real_time", per_second,
               row.has("run_name") ? row["run_name"].text() : row["name"].text(), into);
      found = true;
    });
    return found;
  };
  if (!add("iteration", "") && !add("aggregate", "median")) add("aggregate", "mean");
}

/// Mean times on the GPU of states of nvbench, or on the CPU in benchmarks without a GPU.
inline void read_nvbench(const json::cursor& whole, metric_rows& into) {
  const auto value_of = [](const json::cursor& state, std::string_view tag) {
    std::optional<json::cursor> value;
    for_each(state["summaries"], [&](const json::cursor& summary) {
      if (!summary.has("tag") || !summary.has("data") || summary["tag"].text() != tag) return;
      for_each(summary["data"], [&](const json::cursor& one) {
        one.require_keys({"name", "value"});
        if (one["name"].text() == "value") value = one["value"];
      });
    });
    return value;
  };
  for_each(whole["benchmarks"], [&](const json::cursor& benchmark) {
    benchmark.require_keys({"name", "states"});
    if (benchmark["states"].get().is_null()) return;
    for_each(benchmark["states"], [&](const json::cursor& state) {
      state.require_keys({"name", "summaries"});
      if (is_true(state, "is_skipped") || state["summaries"].get().is_null()) return;
      std::optional<json::cursor> time = value_of(state, "nv/cold/time/gpu/mean");
      if (!time) time = value_of(state, "nv/cold/time/cpu/mean");
      if (!time) return;
      const std::optional<double> seconds = number_in(time->text());
      if (!seconds || !(*seconds > 0)) time->fail("is not a time above 0");
      into.add({fmt::format("{}/{}", benchmark["name"].text(), state["name"].text()), *seconds},
               "");
    });
  });
}

inline void read_pytest(const json::cursor& whole, metric_rows& into) {
  for_each(whole["benchmarks"], [&](const json::cursor& row) {
    row.require_keys({"fullname", "stats"});
    add_time(row["stats"], "median", 1, row["fullname"].text(), into);
  });
}

inline void read_hyperfine(const json::cursor& whole, metric_rows& into) {
  for_each(whole["results"], [&](const json::cursor& row) {
    row.require_keys({"command"});
    add_time(row, "median", 1, row["command"].text(), into);
  });
}

/// What llama-bench writes of a test that is no parameter of it, or is in its name anyway.
[[nodiscard]] inline bool is_llama_parameter(std::string_view key) {
  constexpr std::array<std::string_view, 11> others{
      "model_type", "n_prompt", "n_gen",     "n_depth",    "test_time", "avg_ns",
      "stddev_ns",  "avg_ts",   "stddev_ts", "samples_ns", "samples_ts"};
  return std::ranges::find(others, key) == others.end();
}

/// The names of tests of llama-bench: "llama 7B Q4_0 pp512". Behind them are usual parameters that
/// differ between any tests, and others that differ between tests of one name.
[[nodiscard]] inline std::vector<std::string> llama_names(const json::cursor& whole) {
  constexpr std::array<std::string_view, 12> usual{
      "n_batch",    "n_ubatch",   "n_threads",     "type_k",     "type_v",   "n_gpu_layers",
      "split_mode", "flash_attn", "no_kv_offload", "embeddings", "use_mmap", "tensor_split"};
  std::vector<std::string> names;
  std::vector<std::string> keys(usual.begin(), usual.end());
  for_each(whole, [&](const json::cursor& row) {
    row.require_keys({"model_type", "n_prompt", "n_gen"});
    names.push_back(row["model_type"].text());
    for (const auto& [key, letters] :
         {std::pair("n_prompt", " pp"), {"n_gen", " tg"}, {"n_depth", " @ d"}}) {
      const double tokens = row.has(key) ? row[key].number() : 0;
      if (tokens > 0) names.back() += fmt::format("{}{:.0f}", letters, tokens);
    }
    for (const auto& [key, value] : row.get().items()) {
      const bool is_known = std::ranges::find(keys, key) != keys.end();
      if (!is_known && is_llama_parameter(key)) keys.push_back(key);
    }
  });
  const json::value& rows = whole.get();
  const std::vector<std::string> tests = names;
  for (std::size_t k = 0; k < keys.size(); ++k) {
    const auto text_of = [&](std::size_t i) {
      const auto found = rows[i].find(keys[k]);
      return found == rows[i].end() ? "" : found->dump();
    };
    std::map<std::string, std::set<std::string>> values;  // by test
    for (std::size_t i = 0; i < tests.size(); ++i) {
      values[k < usual.size() ? "" : tests[i]].insert(text_of(i));
    }
    for (std::size_t i = 0; i < tests.size(); ++i) {
      const bool differs = values[k < usual.size() ? "" : tests[i]].size() > 1;
      if (differs && rows[i].contains(keys[k])) {
        names[i] += fmt::format(" {}={}", keys[k], text_of(i));
      }
    }
  }
  return names;
}

inline void read_llama(const json::cursor& whole, metric_rows& into) {
  const std::vector<std::string> names = llama_names(whole);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const json::cursor row = whole[i];
    if (!row.has("samples_ns")) {
      add_time(row, "avg_ns", 1e9, names[i], into);
      continue;
    }
    for_each(row["samples_ns"], [&](const json::cursor& sample) {
      into.add({names[i], sample.number() / 1e9}, "/samples_ns");
    });
  }
}

/// A format of JSON: the keys by which it is known.
struct json_format {
  std::string_view name;
  std::vector<std::string_view> keys;
  json_reader read;
};

[[nodiscard]] inline const std::vector<json_format>& json_formats() {
  static const std::vector<json_format> all{
      {"nvbench JSON", {"benchmarks", "devices"}, read_nvbench},
      {"pytest-benchmark JSON", {"benchmarks", "machine_info"}, read_pytest},
      {google_format, {"benchmarks", "context"}, read_google},
      {"hyperfine JSON", {"results"}, read_hyperfine},
      {"llama-bench JSON", {"n_prompt"}, read_llama}};
  return all;
}

inline constexpr std::string_view benchdnn_name = "benchdnn's performance lines";
inline constexpr std::string_view benchdnn_template = "Output template: ";

[[nodiscard]] inline bool is_json(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && (text[first] == '{' || text[first] == '[');
}

/// Reads a text of JSON. Google Benchmark writes counters that are no numbers of JSON.
inline std::string_view read_json(const std::string& text, metric_rows& into) {
  std::istringstream stream(text);
  non_finite_json buffer(stream);
  const std::string whole{std::istreambuf_iterator<char>(&buffer), {}};
  const json::value parsed = json::parse_text(whole, into.file());
  const json::value& object = parsed.is_array() && !parsed.empty() ? parsed.front() : parsed;
  for (const json_format& format : json_formats()) {
    const bool fits = object.is_object() && std::ranges::all_of(format.keys, [&](const auto& key) {
                        return object.contains(key);
                      });
    if (!fits || parsed.is_array() != (format.read == read_llama)) continue;
    format.read(json::cursor(parsed, into.file()), into);
    return format.name;
  }
  throw bad_input(into.file(), "", "is JSON of an unknown format; known are: " + metric_formats());
}

/// Smallest times of benchdnn's problems, by the template that it prints before them. A problem may
/// have commas.
inline std::string_view read_benchdnn(const std::string& text, metric_rows& into) {
  std::vector<std::string_view> columns;
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with(benchdnn_template)) {
      columns = split(line.substr(benchdnn_template.size()), ',');
    }
    if (columns.empty() || !line.starts_with("perf,")) continue;
    const std::vector<std::string_view> fields = split(line, ',');
    const auto at = [&](std::string_view name) {
      return static_cast<std::size_t>(std::ranges::find(columns, name) - columns.begin());
    };
    const std::size_t problem = at("%prb%");
    const std::size_t time = at("%-time%");
    const std::string place = fmt::format("line {}", number);
    if (problem == columns.size() || time == columns.size()) {
      throw bad_input(into.file(), place, "the template of benchdnn has no %prb% or no %-time%");
    }
    if (fields.size() < columns.size()) throw bad_input(into.file(), place, "is not whole");
    const std::size_t more = fields.size() - columns.size();  // commas in the problem
    const auto field = [&](std::size_t i) { return fields[i > problem ? i + more : i]; };
    std::vector<std::string_view> words(
        fields.begin() + static_cast<std::ptrdiff_t>(problem),
        fields.begin() + static_cast<std::ptrdiff_t>(problem + more + 1));
    const std::optional<double> milliseconds = number_in(field(time));
    if (milliseconds == 0) continue;  // a problem that was skipped
    into.add({fmt::format("{}", fmt::join(words, ",")), milliseconds.value_or(-1) / 1e3}, place);
  }
  return benchdnn_name;
}

/// The fields of a line of CSV (RFC 4180).
[[nodiscard]] inline std::vector<std::string> csv_fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool twice = quoted && line[i] == '"' && i + 1 < line.size() && line[i + 1] == '"';
    if (twice) {
      fields.back() += line[i++];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else if (line[i] != '\r') {
      fields.back() += line[i];
    }
  }
  return fields;
}

/// The chosen columns of CSV: of each line after the one that names them, up to one with another
/// number of fields or an empty one.
inline std::string_view read_csv(const std::string& text, const metric_choice& choice,
                                 metric_rows& into) {
  std::vector<std::size_t> chosen;
  std::size_t width = 0;
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    const std::vector<std::string> fields = csv_fields(line);
    if (chosen.empty()) {
      for (const std::string& name : choice.columns) {
        const auto found = std::ranges::find(fields, name);
        if (found != fields.end())
          chosen.push_back(static_cast<std::size_t>(found - fields.begin()));
      }
      if (chosen.size() != choice.columns.size()) chosen.clear();
      width = fields.size();
      continue;
    }
    if (line.empty() || line == "\r" || fields.size() != width) break;
    std::vector<std::string> name;
    for (std::size_t i = 0; i + 1 < chosen.size(); ++i) name.push_back(fields[chosen[i]]);
    into.add({fmt::format("{}", fmt::join(name, " ")),
              number_in(fields[chosen.back()]).value_or(-1), "", choice.higher_is_better},
             fmt::format("line {}, column {}", number, choice.columns.back()));
  }
  if (chosen.empty()) {
    throw bad_input(into.file(), "",
                    fmt::format("no line names the columns {}", fmt::join(choice.columns, ", ")));
  }
  return "CSV";
}

/// The numbers that the pattern finds, at most one in a line. Long lines are refused: a std::regex
/// recurses by character, and overflows the stack at 16000, or at 6000 with sanitizers.
inline std::string_view read_pattern(const std::string& text, const metric_choice& choice,
                                     metric_rows& into) {
  constexpr std::size_t longest = 4096;
  const std::regex pattern(choice.pattern);
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (line.size() > longest) {
      throw bad_input(into.file(), fmt::format("line {}", number),
                      fmt::format("is longer than {} characters, too long for --metric; have the "
                                  "command print shorter lines, or a known format",
                                  longest));
    }
    std::match_results<std::string_view::const_iterator> match;
    if (!std::regex_search(line.begin(), line.end(), match, pattern)) continue;
    into.add({choice.pattern, number_in(match[1].str()).value_or(-1), "", choice.higher_is_better},
             fmt::format("line {}: '{}'", number, match[1].str()));
  }
  return "regular expression";
}

}  // namespace detail

LAYERBENCH_INLINE metrics read_metrics(const std::string& text, const std::string& file,
                                       const metric_choice& choice) {
  detail::metric_rows rows(file);
  std::string_view format;
  if (!choice.columns.empty()) {
    format = detail::read_csv(text, choice, rows);
  } else if (!choice.pattern.empty()) {
    format = detail::read_pattern(text, choice, rows);
  } else if (detail::is_json(text)) {
    format = detail::read_json(text, rows);
  } else if (text.find(detail::benchdnn_template) != text.npos) {
    format = detail::read_benchdnn(text, rows);
  } else {
    throw bad_input(
        file, "",
        fmt::format("is in no known format: {}; --csv and --metric read others", metric_formats()));
  }
  metrics result{file, std::string(format), rows.medians()};
  if (result.rows.empty()) {
    throw bad_input(file, "", fmt::format("has no result of {}", result.format));
  }
  return result;
}

LAYERBENCH_INLINE std::string metric_formats() {
  std::vector<std::string_view> names;
  for (const detail::json_format& format : detail::json_formats()) names.push_back(format.name);
  names.push_back(detail::benchdnn_name);
  return fmt::format("{}", fmt::join(names, ", "));
}

LAYERBENCH_INLINE std::map<std::string, double, std::less<>> read_weights(const std::string& text,
                                                                          const std::string& file) {
  std::map<std::string, double, std::less<>> weights;
  for (const metric& row : read_metrics(text, file, {.columns = {"name", "weight"}}).rows) {
    weights.emplace(row.name, row.value);
  }
  return weights;
}

}  // namespace layerbench::result
