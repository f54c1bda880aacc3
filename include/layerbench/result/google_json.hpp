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

/// The manifest as the text that stands in the context: an object from case to a list of
/// [layer, op, pass, key, count], with an object as sixth element where there is more to say:
/// {"part": "backward", "state": signature, "inserted": true, "chain_s": seconds, "moves": list},
/// of [bytes, distance, 1 if they are written, else 0] each.
[[nodiscard]] inline std::string write_manifest(const manifest& cases) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const auto& [configuration, step] : cases) {
    auto& list = out[configuration.text()] = nlohmann::ordered_json::array();
    for (const planned& item : step) {
      list.push_back({item.layer, item.op, item.pass, item.key, item.count});
      nlohmann::ordered_json more = nlohmann::ordered_json::object();
      if (item.part != model::step_part::forward) more["part"] = name(item.part);
      if (!item.state.empty()) more["state"] = item.state;
      if (item.inserted) more["inserted"] = true;
      if (item.chain_seconds) more["chain_s"] = *item.chain_seconds;
      for (const operand_traffic& operand : item.traffic) {
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
  for (const auto& item : list) {
    traffic.push_back({count_in(item.at(0), 0, most, file), count_in(item.at(1), 0, most, file),
                       count_in(item.at(2), 0, 1, file) == 1});
  }
  return traffic;
}

}  // namespace detail

/// The inverse of write_manifest. Throws bad_input naming `file`.
[[nodiscard]] inline manifest read_manifest(std::string_view text, std::string_view file) {
  manifest cases;
  try {
    const auto parsed = nlohmann::ordered_json::parse(text);
    for (const auto& item : parsed.items()) {
      const auto configuration = parse_configuration(item.key());
      if (!configuration) throw bad_input(file, "/context/manifest", "unknown case " + item.key());
      std::vector<planned>& step = cases[*configuration];
      for (const auto& element : item.value()) {
        const std::int64_t count = detail::count_in(element.at(4), 1, max_size, file);
        const auto more = element.size() > 5 ? element.at(5) : nlohmann::ordered_json::object();
        const auto part = from_name<model::step_part>(more.value("part", "forward"));
        if (!part) throw bad_input(file, "/context/manifest", "unknown part of a step");
        step.push_back({element.at(0), element.at(1), element.at(2), element.at(3), count,
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
      if (step.empty()) throw bad_input(file, "/context/manifest", "no step: " + item.key());
    }
  } catch (const nlohmann::json::exception& e) {
    throw bad_input(file, "/context/manifest", json::plain_words(e));
  }
  return cases;
}

namespace detail {

/// Takes over rows one by one while the JSON of `from` is parsed.
template <class Source>
[[nodiscard]] results read_from(Source& from, results created) {
  file_reader reader(created);
  static_cast<void>(nlohmann::json::sax_parse(from, &reader));
  for (const auto& item : reader.context().items()) {
    created.context[item.key()] =
        item.value().is_string() ? item.value().get<std::string>() : item.value().dump();
  }
  const auto planned = created.context.find("manifest");
  if (planned != created.context.end()) {
    created.manifest = read_manifest(planned->second, created.file);
    created.context.erase(planned);
  }
  return created;
}

}  // namespace detail

/// Reads a result file. Rows are taken over one by one while the text is parsed, so that memory
/// does not grow with the JSON. Throws bad_input naming file and place.
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

/// The same of its `text`.
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
