// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <layerbench/base/error.hpp>
#include <layerbench/base/json_error.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/name.hpp>
#include <layerbench/result/non_finite_json.hpp>

/// Reads a result file while it is parsed: 100,000 rows take 0.9 s, a tree of JSON values 2.4 s.
namespace layerbench::result::detail {

/// The fields of Google Benchmark. All other numbers of a row are counters.
inline constexpr std::array<std::string_view, 13> own_fields{
    "family_index", "per_family_instance_index",
    "repetitions",  "repetition_index",
    "threads",      "iterations",
    "real_time",    "cpu_time",
    "name",         "run_name",
    "run_type",     "time_unit",
    "label"};

/// Whether a list of words, each between two blanks, has this one.
[[nodiscard]] inline bool has_word(std::string_view list, std::string_view word) {
  return list.find(fmt::format(" {} ", word)) != list.npos;
}

/// Whether this is a counter of docs/formats.md, which must be a number.
[[nodiscard]] inline bool is_known_counter(std::string_view name) {
  constexpr std::string_view known =
      " low_s high_s mean_s min_s p95_s p99_s clock_s cpu_s wall_s flops flops_exact bytes "
      "algorithm_bandwidth bus_bandwidth ring_bytes touched_bytes turn_s displaced_bytes "
      "footprint_bytes workspace_bytes samples calls_a_sample count verified stalls slowed "
      "all_slowed retries "
      "disturbed spread reduction_alone_s reduction_s flops_of_peak bytes_of_peak sm_mhz mem_mhz "
      "power_w temperature_c throttled throttled_share throttle_reasons power_capped energy_j "
      "energy_gross_j energy_net_j energy_window_s energy_calls energy_disturbed idle_w ready_s "
      "waits waited_s watched_s slow_p10 slow_p50 slow_p90 slow_p95 slow_p99 latencies "
      "latency_p10_s latency_p50_s latency_p90_s latency_p95_s latency_p99_s ";
  return has_word(known, name);
}

/// The value as a message shows it.
[[nodiscard]] inline std::string shown(const nlohmann::json& value) {
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  if (value.is_string() && value.get_ref<const std::string&>().starts_with(no_number)) {
    return value.get_ref<const std::string&>().substr(1) + ", which is no number in JSON";
  }
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// A field of a row that is not what it should be.
class bad_field : public std::runtime_error {
 public:
  bad_field(std::string_view name, const std::string& what)
      : std::runtime_error(what), name_(name) {}
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// The fields of a row in the order of the file. Lists and objects are empty.
class row_fields {
 public:
  void clear() { all_.clear(); }
  void add(const std::string& name) { all_.emplace_back(name, nullptr); }
  /// Sets the value of the field that was added last.
  void set(nlohmann::json value) { all_.back().second = std::move(value); }

  // Each of these throws bad_field for a value of another type, and for a field that is missing and
  // has no default.

  [[nodiscard]] std::string text(std::string_view name,
                                 const std::optional<std::string>& otherwise = {}) const {
    const nlohmann::json* found = find(name);
    if (found == nullptr) return default_of(name, otherwise);
    if (!found->is_string() || found->get_ref<const std::string&>().starts_with(no_number)) {
      wrong(name, "a text", *found);
    }
    return found->get<std::string>();
  }
  [[nodiscard]] double number(std::string_view name) const {
    const nlohmann::json* found = find(name);
    if (found == nullptr) return default_of(name, std::optional<double>());
    if (!found->is_number()) wrong(name, "a number", *found);
    return found->get<double>();
  }
  [[nodiscard]] std::int64_t count(std::string_view name) const {
    const nlohmann::json* found = find(name);
    if (found == nullptr) return 0;
    constexpr double most = 0x1p53;  // larger doubles may have been rounded
    const double value = found->is_number() ? found->get<double>() : -1;
    if (value < 0 || value > most || value != std::floor(value)) wrong(name, "a count", *found);
    return static_cast<std::int64_t>(value);
  }
  [[nodiscard]] bool boolean(std::string_view name) const {
    const nlohmann::json* found = find(name);
    if (found == nullptr) return false;
    if (!found->is_boolean()) wrong(name, "true or false", *found);
    return found->get<bool>();
  }
  [[nodiscard]] counters other_numbers() const {
    counters found;
    for (const auto& [name, value] : all_) {
      if (std::ranges::find(own_fields, name) != own_fields.end()) continue;
      if (value.is_number()) {
        found.insert_or_assign(found.end(), name, value.get<double>());  // mostly in order
      } else if (is_known_counter(name)) {
        wrong(name, "a number", value);
      }
    }
    return found;
  }

 private:
  [[nodiscard]] const nlohmann::json* find(std::string_view name) const {
    const auto found = std::ranges::find(all_, name, &field::first);
    return found == all_.end() ? nullptr : &found->second;
  }
  template <class T>
  [[nodiscard]] static T default_of(std::string_view name, const std::optional<T>& otherwise) {
    if (!otherwise) throw std::out_of_range(fmt::format("key '{}' not found", name));
    return *otherwise;
  }
  [[noreturn]] static void wrong(std::string_view name, std::string_view expected,
                                 const nlohmann::json& found) {
    throw bad_field(name, fmt::format("expected {}, found {}", expected, shown(found)));
  }

  using field = std::pair<std::string, nlohmann::json>;
  std::vector<field> all_;
};

/// How many of the unit a second has. A time is divided by it, since 1e-3, 1e-6 and 1e-9 have no
/// exact double: multiplied by them, rows that are read and written often would drift.
[[nodiscard]] inline double units_per_second(std::string_view unit) {
  if (unit == "ns") return 1e9;
  if (unit == "us") return 1e6;
  if (unit == "ms") return 1e3;
  if (unit == "s") return 1;
  throw bad_field("time_unit", fmt::format("unknown unit '{}'", unit));
}

/// Throws if `seconds` is too small or not a number. Rates divide by it.
inline void require_time(double seconds, std::string_view field) {
  constexpr double least = 1e-15;
  if (std::isfinite(seconds) && seconds >= least) return;
  throw bad_field(field, "is not a positive time");
}

/// Throws if a row has some of an energy's counters, but not all.
inline void require_whole_energy(const counters& of) {
  constexpr std::array names{"energy_gross_j", "energy_net_j", "idle_w"};
  const auto has = [&](const char* name) { return of.contains(name); };
  if (std::ranges::none_of(names, has)) return;
  for (const char* name : names) {
    if (!has(name)) throw bad_field(name, "is missing, unlike other counters of the energy");
  }
}

/// The name of a row without that of its aggregate; nothing for a row of another program.
[[nodiscard]] inline std::optional<row_name> name_of(const row_fields& row) {
  const std::string name = row.text("name");
  try {
    return parse_row(row.text("run_name", name));
  } catch (const bad_field&) {
    if (parse_row(name)) throw;
    return std::nullopt;
  }
}

/// Adds the row to `into` if it is a round of layerbench. Rows of other programs are ignored, and
/// aggregates are counted.
inline void read_row(const row_fields& row, results& into) {
  const auto name = name_of(row);
  if (!name) return;
  if (row.text("run_type", "iteration") != "iteration") {
    if (!name->is_chain()) ++into.aggregates;
    return;
  }
  measurement read;
  read.name = *name;
  read.label = label::parse(row.text("label", ""));
  read.round = row.count("repetition_index");
  if (row.boolean("error_occurred")) {
    read.error = row.text("error_message", "failed");
  } else {
    const double per_second = units_per_second(row.text("time_unit", "ns"));
    read.seconds = row.number("real_time") / per_second;
    read.cpu_seconds = row.number("cpu_time") / per_second;
    read.calls = row.count("iterations");
  }
  read.counters = row.other_numbers();
  require_whole_energy(read.counters);
  if (read.error.empty()) {
    require_time(read.seconds, "real_time");
    require_time(read.mean_seconds(), read.counters.contains("mean_s") ? "mean_s" : "real_time");
  }
  (read.name.is_chain() ? into.chains : into.rows).push_back(std::move(read));
}

/// Receives the events of nlohmann::json::sax_parse (its `json_sax`). It adds rows to `into` one by
/// one, keeps the context and what the file has of engines, and ignores all else. Throws bad_input.
class file_reader {
 public:
  explicit file_reader(results& into) : into_(into) {}

  /// The context. Throws bad_input if the text was not a result file.
  [[nodiscard]] const nlohmann::json& context() const {
    if (kept(section::context).is_object() && has_rows_) return kept(section::context);
    throw bad_input(into_.file, "/",
                    "not a result file: no object \"context\" and list \"benchmarks\"");
  }

  /// Of engines (docs/formats.md); null if the file has none.
  [[nodiscard]] const nlohmann::json& engine_layers() const { return kept(section::engine_layers); }
  [[nodiscard]] const nlohmann::json& engine_overheads() const {
    return kept(section::engine_overheads);
  }

  bool null() { return take(nullptr); }
  bool boolean(bool value) { return take(value); }
  bool number_integer(std::int64_t value) { return take(value); }
  bool number_unsigned(std::uint64_t value) { return take(value); }
  bool number_float(double value, const std::string& /*text*/) { return take(value); }
  bool string(const std::string& value) {
    const bool is_text = in_row_ || !value.starts_with(no_number);
    return is_text ? take(value) : null();
  }
  static bool binary(const nlohmann::json::binary_t& /*value*/) { return true; }
  bool start_object(std::size_t /*size*/) { return open(nlohmann::json::value_t::object); }
  bool start_array(std::size_t /*size*/) { return open(nlohmann::json::value_t::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(const std::string& name) {
    if (depth_ == 1) in_ = section_of(name);
    if (in_row_ && depth_ == row_depth) row_.add(name);
    key_ = name;
    return true;
  }

  [[noreturn]] bool parse_error(std::size_t /*place*/, const std::string& /*token*/,
                                const nlohmann::json::exception& e) const {
    throw bad_input(into_.file, "", fmt::format("not a whole JSON file: {}", json::plain_words(e)));
  }

 private:
  enum class section : std::uint8_t { context, engine_layers, engine_overheads, rows, other };
  static constexpr std::size_t kept_sections = 3;  ///< the first ones
  static constexpr std::size_t row_depth = 3;      ///< in the file's object, in its list

  static section section_of(std::string_view name) {
    if (name == "context") return section::context;
    if (name == "engine_layers") return section::engine_layers;
    if (name == "engine_overheads") return section::engine_overheads;
    return name == "benchmarks" ? section::rows : section::other;
  }
  [[nodiscard]] bool is_kept() const { return static_cast<std::size_t>(in_) < kept_sections; }
  [[nodiscard]] const nlohmann::json& kept(section of) const {
    return kept_.at(static_cast<std::size_t>(of));
  }

  bool take(nlohmann::json value) {
    if (is_kept()) {
      put(std::move(value));
    } else if (in_row_ && depth_ == row_depth) {
      row_.set(std::move(value));
    }
    return true;
  }

  bool open(nlohmann::json::value_t kind) {
    constexpr std::size_t most_levels = 32;
    if (in_row_ && depth_ == row_depth) row_.set(kind);
    if (++depth_ > most_levels) {
      throw bad_input(into_.file, "", "nested too deeply for a result file");
    }
    if (is_kept()) open_.push_back(put(kind));
    if (in_ == section::rows && depth_ == row_depth - 1) {
      has_rows_ = kind == nlohmann::json::value_t::array;
    }
    if (in_ == section::rows && has_rows_ && depth_ == row_depth) {
      in_row_ = kind == nlohmann::json::value_t::object;
      row_.clear();
    }
    return true;
  }

  bool close() {
    if (in_row_ && depth_ == row_depth) take_row();
    if (!open_.empty()) open_.pop_back();
    if (--depth_ == 1) {
      if (in_ == section::context) check_schema();
      in_ = section::other;
    }
    return true;
  }

  /// Throws bad_input for a file of another version of the format. Files of Google Benchmark's own
  /// programs say none.
  void check_schema() const {
    const nlohmann::json& context = kept(section::context);
    const auto found = context.find("layerbench_schema");
    if (found == context.end() || *found == format_version) return;
    throw bad_input(into_.file, "/context/layerbench_schema",
                    fmt::format("is {}, this program reads \"{}\"; use the version that wrote the "
                                "file (layerbench_version: {})",
                                found->dump(), format_version,
                                context.value("layerbench_version", nlohmann::json()).dump()));
  }

  /// Inserts a value into the section. Returns where it is.
  nlohmann::json* put(nlohmann::json value) {
    nlohmann::json& whole = kept_.at(static_cast<std::size_t>(in_));
    if (open_.empty()) return &(whole = std::move(value));
    nlohmann::json& inside = *open_.back();
    if (inside.is_object()) return &(inside[key_] = std::move(value));
    inside.push_back(std::move(value));
    return &inside.back();
  }

  void take_row() {
    in_row_ = false;
    try {
      read_row(row_, into_);
    } catch (const bad_field& e) {
      throw bad_input(into_.file, fmt::format("/benchmarks/{}/{}", rows_, e.name()), e.what());
    } catch (const std::exception& e) {
      throw bad_input(into_.file, fmt::format("/benchmarks/{}", rows_), json::plain_words(e));
    }
    ++rows_;
  }

  results& into_;
  std::size_t depth_ = 0;  ///< lists and objects that are open
  section in_ = section::other;
  std::string key_;
  std::array<nlohmann::json, kept_sections> kept_;
  std::vector<nlohmann::json*> open_;  ///< of the section that is kept
  row_fields row_;
  bool in_row_ = false;
  bool has_rows_ = false;
  std::size_t rows_ = 0;
};

}  // namespace layerbench::result::detail
