// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <layerbench/base/error.hpp>
#include <layerbench/result/google_json_reader.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/shape/dims.hpp>
#include <layerbench/shape/json_error.hpp>

/// Result files: Google Benchmark's JSON with our names, counters and context (docs/formats.md).
namespace layerbench::result {

/// The manifest as a context field: an object from case to a list of [layer, op, pass, key, count],
/// with an optional object as sixth element:
/// {"part": "backward", "state": signature, "inserted": true, "chain_s": seconds, "moves": list},
/// of [bytes, distance, 1 if they are written, else 0] each.
[[nodiscard]] inline std::string write_manifest(const manifest& cases) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const auto& [configuration, step] : cases) {
    auto& list = out[configuration.text()] = nlohmann::ordered_json::array();
    for (const planned& primitive : step) {
      list.push_back(
          {primitive.layer, primitive.op, primitive.pass, primitive.key, primitive.count});
      nlohmann::ordered_json more = nlohmann::ordered_json::object();
      if (primitive.part != model::step_part::forward) more["part"] = name(primitive.part);
      if (!primitive.state.empty()) more["state"] = primitive.state;
      if (primitive.inserted) more["inserted"] = true;
      if (primitive.chain_seconds) more["chain_s"] = *primitive.chain_seconds;
      for (const operand_traffic& operand : primitive.traffic) {
        more["moves"].push_back({operand.bytes, operand.distance, operand.written ? 1 : 0});
      }
      if (!more.empty()) list.back().push_back(more);
    }
  }
  return out.dump();
}

namespace detail {

/// A whole number from `least` on. Throws bad_input naming `file`.
[[nodiscard]] inline std::int64_t count_in(const nlohmann::ordered_json& value, std::int64_t least,
                                           std::int64_t most, std::string_view file) {
  if (value.is_number_integer() && value >= least && value <= most) return value;
  throw bad_input(file, "/context/manifest", "not a count: " + value.dump());
}

[[nodiscard]] inline std::vector<operand_traffic> read_traffic(const nlohmann::ordered_json& list,
                                                               std::string_view file) {
  constexpr std::int64_t most = std::int64_t{1} << 53;  // doubles hold no larger ones
  std::vector<operand_traffic> traffic;
  for (const auto& operand : list) {
    traffic.push_back({count_in(operand.at(0), 0, most, file),
                       count_in(operand.at(1), 0, most, file),
                       count_in(operand.at(2), 0, 1, file) == 1});
  }
  return traffic;
}

}  // namespace detail

/// The inverse of write_manifest. Throws bad_input naming `file`.
[[nodiscard]] inline manifest read_manifest(std::string_view text, std::string_view file) {
  manifest cases;
  try {
    const auto parsed = nlohmann::ordered_json::parse(text);
    for (const auto& case_step : parsed.items()) {
      const auto configuration = parse_configuration(case_step.key());
      if (!configuration)
        throw bad_input(file, "/context/manifest", "unknown case " + case_step.key());
      std::vector<planned>& step = cases[*configuration];
      for (const auto& primitive : case_step.value()) {
        const std::int64_t count = detail::count_in(primitive.at(4), 1, max_size, file);
        const auto more = primitive.size() > 5 ? primitive.at(5) : nlohmann::ordered_json::object();
        const auto part = from_name<model::step_part>(more.value("part", "forward"));
        if (!part) throw bad_input(file, "/context/manifest", "unknown part of a step");
        step.push_back({primitive.at(0), primitive.at(1), primitive.at(2), primitive.at(3), count,
                        more.value("inserted", false), more.value("state", "")});
        step.back().part = *part;
        if (more.contains("moves")) step.back().traffic = detail::read_traffic(more["moves"], file);
        if (more.contains("chain_s")) {
          step.back().chain_seconds = more["chain_s"].get<double>();
          if (!(*step.back().chain_seconds > 0)) {
            throw bad_input(file, "/context/manifest", "chain_s is not a positive time");
          }
        }
      }
      if (step.empty()) throw bad_input(file, "/context/manifest", "no step: " + case_step.key());
    }
  } catch (const nlohmann::json::exception& e) {
    throw bad_input(file, "/context/manifest", json::plain_words(e));
  }
  return cases;
}

namespace detail {

/// Reads the JSON of `from`, a stream or a text.
template <class Source>
[[nodiscard]] results read_from(Source& from, results result) {
  file_reader reader(result);
  static_cast<void>(nlohmann::json::sax_parse(from, &reader));
  for (const auto& member : reader.context().items()) {
    result.context[member.key()] =
        member.value().is_string() ? member.value().get<std::string>() : member.value().dump();
  }
  const auto planned = result.context.find("manifest");
  if (planned != result.context.end()) {
    result.manifest = read_manifest(planned->second, result.file);
    result.context.erase(planned);
  }
  return result;
}

}  // namespace detail

/// Reads a result file row by row, without holding all of its JSON. Throws bad_input naming file
/// and place.
[[nodiscard]] inline results read(const std::filesystem::path& path) {
  results result;
  result.file = path.string();
  std::ifstream stream(path, std::ios::binary);
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown) || !stream) {
    throw bad_input(result.file, "",
                    "cannot be read; give a result file (--benchmark_out writes one)");
  }
  return detail::read_from(stream, std::move(result));
}

/// Reads the text of a result file. Errors name `file`.
[[nodiscard]] inline results read_text(const std::string& text, const std::string& file) {
  results result;
  result.file = file;
  return detail::read_from(text, std::move(result));
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
