// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <layerbench/result/measurement.hpp>

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
[[nodiscard]] bool has_word(std::string_view list, std::string_view word);

/// A field of a row that is not what it should be.
class bad_field : public std::runtime_error {
 public:
  bad_field(std::string_view name, const std::string& what)
      : std::runtime_error(what), name_(name) {}
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// The value as a message shows it.
[[nodiscard]] std::string shown(const nlohmann::json& value);

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
                                 const std::optional<std::string>& otherwise = {}) const;
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] std::int64_t count(std::string_view name) const;
  [[nodiscard]] bool boolean(std::string_view name) const;
  [[nodiscard]] counters other_numbers() const;

 private:
  [[nodiscard]] const nlohmann::json* find(std::string_view name) const;
  template <class T>
  [[nodiscard]] static T default_of(std::string_view name, const std::optional<T>& otherwise) {
    if (!otherwise) throw std::out_of_range(fmt::format("key '{}' not found", name));
    return *otherwise;
  }
  [[noreturn]] static void wrong(std::string_view name, std::string_view expected,
                                 const nlohmann::json& found);

  using field = std::pair<std::string, nlohmann::json>;
  std::vector<field> all_;
};

[[nodiscard]] double unit_seconds(std::string_view unit);

/// Receives the events of nlohmann::json::sax_parse (its `json_sax`). It adds rows to `into` one by
/// one, keeps the context and what the file has of engines, and ignores all else. Throws bad_input.
class file_reader {
 public:
  explicit file_reader(results& into) : into_(into) {}

  /// The context. Throws bad_input if the text was not a result file.
  [[nodiscard]] const nlohmann::json& context() const;

  /// Of engines (docs/formats.md); null if the file has none.
  [[nodiscard]] const nlohmann::json& engine_layers() const { return kept(section::engine_layers); }
  [[nodiscard]] const nlohmann::json& engine_overheads() const;

  bool null() { return take(nullptr); }
  bool boolean(bool value) { return take(value); }
  bool number_integer(std::int64_t value) { return take(value); }
  bool number_unsigned(std::uint64_t value) { return take(value); }
  bool number_float(double value, const std::string& /*text*/) { return take(value); }
  bool string(const std::string& value);
  static bool binary(const nlohmann::json::binary_t& /*value*/) { return true; }
  bool start_object(std::size_t /*size*/) { return open(nlohmann::json::value_t::object); }
  bool start_array(std::size_t /*size*/) { return open(nlohmann::json::value_t::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(const std::string& name);

  [[noreturn]] bool parse_error(std::size_t /*place*/, const std::string& /*token*/,
                                const nlohmann::json::exception& e) const;

 private:
  enum class section : std::uint8_t { context, engine_layers, engine_overheads, rows, other };
  static constexpr std::size_t kept_sections = 3;  ///< the first ones
  static constexpr std::size_t row_depth = 3;      ///< in the file's object, in its list

  static section section_of(std::string_view name);
  [[nodiscard]] bool is_kept() const { return static_cast<std::size_t>(in_) < kept_sections; }
  [[nodiscard]] const nlohmann::json& kept(section of) const;

  bool take(nlohmann::json value);

  bool open(nlohmann::json::value_t kind);

  bool close();

  /// Throws bad_input for a file of another version of the format. Files of Google Benchmark's own
  /// programs say none.
  void check_schema() const;

  /// Inserts a value into the section. Returns where it is.
  nlohmann::json* put(nlohmann::json value);

  void take_row();

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

#ifndef LAYERBENCH_COMPILED
#include <layerbench/result/google_json_reader-inl.hpp>
#endif
