// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <layerbench/base/error.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/shape/dims.hpp>
#include <layerbench/shape/json_error.hpp>

/// Result files: Google Benchmark's JSON with our names, counters and context (docs/formats.md).
namespace layerbench::result {

/// The manifest as the text that stands in the context: an object from case to a list of
/// [layer, op, pass, key, count], with an object as sixth element where there is more to say:
/// {"state": signature, "inserted": true, "chain_s": seconds}.
[[nodiscard]] inline std::string write_manifest(const manifest& cases) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const auto& [owner, step] : cases) {
    auto& list = out[owner.text()] = nlohmann::ordered_json::array();
    for (const planned& each : step) {
      list.push_back({each.layer, each.op, each.pass, each.key, each.count});
      nlohmann::ordered_json more = nlohmann::ordered_json::object();
      if (!each.state.empty()) more["state"] = each.state;
      if (each.inserted) more["inserted"] = true;
      if (each.chain_seconds) more["chain_s"] = *each.chain_seconds;
      if (!more.empty()) list.back().push_back(more);
    }
  }
  return out.dump();
}

/// The inverse of write_manifest. Throws bad_input naming `file`.
[[nodiscard]] inline manifest read_manifest(std::string_view text, std::string_view file) {
  manifest cases;
  try {
    const auto parsed = nlohmann::ordered_json::parse(text);
    for (const auto& item : parsed.items()) {
      const auto owner = parse_case(item.key());
      if (!owner) throw bad_input(file, "/context/manifest", "unknown case " + item.key());
      std::vector<planned>& step = cases[*owner];
      for (const auto& each : item.value()) {
        const auto& count = each.at(4);
        if (!count.is_number_integer() || count < 1 || count > max_size) {
          throw bad_input(file, "/context/manifest", "not a count: " + count.dump());
        }
        const auto more = each.size() > 5 ? each.at(5) : nlohmann::ordered_json::object();
        step.push_back({each.at(0), each.at(1), each.at(2), each.at(3), count,
                        more.value("inserted", false), more.value("state", "")});
        if (more.contains("chain_s")) step.back().chain_seconds = more["chain_s"].get<double>();
      }
      if (step.empty()) throw bad_input(file, "/context/manifest", "no step: " + item.key());
    }
  } catch (const nlohmann::json::exception& slip) {
    throw bad_input(file, "/context/manifest", json::plain_words(slip));
  }
  return cases;
}

namespace detail {

/// Fields of Google Benchmark's own; whatever other number a row has is a counter.
inline constexpr std::array<std::string_view, 13> own_fields{
    "family_index", "per_family_instance_index",
    "repetitions",  "repetition_index",
    "threads",      "iterations",
    "real_time",    "cpu_time",
    "name",         "run_name",
    "run_type",     "time_unit",
    "label"};

[[nodiscard]] inline double unit_seconds(std::string_view unit) {
  if (unit == "ns") return 1e-9;
  if (unit == "us") return 1e-6;
  if (unit == "ms") return 1e-3;
  if (unit == "s") return 1;
  throw std::out_of_range(fmt::format("unknown time_unit '{}'", unit));
}

/// Adds the row to `into` when it is a round of ours; rows of other programs pass, and aggregates
/// are only counted.
inline void read_row(const nlohmann::json& row, results& into) {
  const auto name = parse_row(row.value("run_name", row.at("name").get<std::string>()));
  if (!name) return;
  if (row.value("run_type", "iteration") != "iteration") {
    if (!name->is_chain()) ++into.aggregates;
    return;
  }
  measurement read;
  read.name = *name;
  read.label = label::parse(row.value("label", ""));
  read.round = row.value("repetition_index", std::int64_t{0});
  if (row.value("error_occurred", false)) {
    read.error = row.value("error_message", "failed");
  } else {
    const double unit = unit_seconds(row.value("time_unit", "ns"));
    read.seconds = row.at("real_time").get<double>() * unit;
    read.cpu_seconds = row.at("cpu_time").get<double>() * unit;
    read.calls = row.value("iterations", std::int64_t{0});
    if (!std::isfinite(read.seconds) || read.seconds <= 0) {
      throw std::out_of_range("real_time is not a positive number");
    }
  }
  for (const auto& item : row.items()) {
    if (item.value().is_number() && std::ranges::find(own_fields, item.key()) == own_fields.end()) {
      read.counters[item.key()] = item.value().get<double>();
    }
  }
  (read.name.is_chain() ? into.chains : into.rows).push_back(std::move(read));
}

}  // namespace detail

/// Reads a result file. Rows are taken over one by one while the text is parsed, so that memory
/// does not grow with the JSON. Throws bad_input naming file and place.
[[nodiscard]] inline results read(const std::filesystem::path& path) {
  results made;
  made.file = path.string();
  std::ifstream stream(path, std::ios::binary);
  if (std::filesystem::is_directory(path) || !stream) {
    throw bad_input(made.file, "",
                    "cannot be read; give a result file (--benchmark_out writes one)");
  }
  constexpr int most_levels = 32;
  std::size_t index = 0;
  std::string section;
  const auto take_rows = [&](int depth, nlohmann::json::parse_event_t event,
                             nlohmann::json& parsed) {
    using enum nlohmann::json::parse_event_t;
    if (depth > most_levels) throw bad_input(made.file, "", "nested too deeply for a result file");
    if (event == key && depth == 1) section = parsed.get<std::string>();
    if (event != object_end || depth != 2 || section != "benchmarks") return true;
    try {
      detail::read_row(parsed, made);
    } catch (const std::exception& slip) {
      throw bad_input(made.file, fmt::format("/benchmarks/{}", index), json::plain_words(slip));
    }
    ++index;
    return false;
  };
  nlohmann::json file;
  try {
    file = nlohmann::json::parse(stream, take_rows);
  } catch (const nlohmann::json::exception& slip) {
    throw bad_input(made.file, "",
                    fmt::format("not a whole JSON file: {}", json::plain_words(slip)));
  }
  if (!file.is_object() || !file.contains("context") || !file["context"].is_object() ||
      !file.contains("benchmarks") || !file["benchmarks"].is_array()) {
    throw bad_input(made.file, "/",
                    "not a result file: no object \"context\" and list \"benchmarks\"");
  }
  for (const auto& item : file["context"].items()) {
    made.context[item.key()] =
        item.value().is_string() ? item.value().get<std::string>() : item.value().dump();
  }
  const auto planned = made.context.find("manifest");
  if (planned != made.context.end()) {
    made.manifest = read_manifest(planned->second, made.file);
    made.context.erase(planned);
  }
  return made;
}

/// Names of the context fields in which two files differ although their rows would only be
/// comparable if they agreed: machine, libraries, settings. What varies from run to run on one
/// machine (dates, load, clock readings, the command) does not count.
[[nodiscard]] inline std::vector<std::string> differing_context(const results& a,
                                                                const results& b) {
  static const std::set<std::string, std::less<>> varies{
      "date",    "executable",          "load_avg",          "mhz_per_cpu",
      "command", "load_at_start",       "machine_check",     "interrupted",
      "stopped", "cpu_scaling_enabled", "library_build_type"};
  std::vector<std::string> names;
  const auto check = [&](const results& from, const results& to) {
    for (const auto& [name, value] : from.context) {
      const auto other = to.context.find(name);
      const bool same = other != to.context.end() && other->second == value;
      if (same || varies.contains(name)) continue;
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  };
  check(a, b);
  check(b, a);
  return names;
}

}  // namespace layerbench::result
