// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <istream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/description.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/input_file.hpp>
#include <layerbench/result/field_dimensions.hpp>
#include <layerbench/result/google_json_reader.hpp>
#include <layerbench/result/lenient_json.hpp>
#include <layerbench/result/manifest_json.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/plan_candidates.hpp>
#include <layerbench/result/read_results.hpp>
#include <layerbench/shape/json.hpp>
#include <layerbench/shape/record_json.hpp>

namespace layerbench::result {

namespace detail {

/// Reads the profiles of engines. Throws bad_input.
[[nodiscard]] inline decltype(results::engine_layers) read_engine_layers(const nlohmann::json& from,
                                                                         const std::string& file) {
  decltype(results::engine_layers) all;
  if (from.is_null()) return all;
  const json::value whole(from);
  const json::cursor cases(whole, file, "/engine_layers");
  cases.require_object();
  for (const auto& [name, nodes] : whole.items()) {
    const json::cursor list = cases[name];
    list.require_array();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const json::cursor node = list[i];
      node.require_keys({"type", "layers", "seconds"});
      all[name].push_back({node["type"].text(), node["layers"].texts(), node["seconds"].number()});
    }
  }
  return all;
}

/// Reads an engine's factors by kind of kernel. Throws bad_input.
[[nodiscard]] inline decltype(engine_overhead::kernel_factors) read_kernel_factors(
    const json::cursor& from) {
  from.require_object();
  decltype(engine_overhead::kernel_factors) all;
  for (const auto& [kernel, value] : from.get().items()) {
    const double factor = from[kernel].number();
    if (factor <= 0) from[kernel].fail("must be above 0");
    all.emplace(kernel, factor);
  }
  return all;
}

/// Reads the overheads of engines. Throws bad_input.
[[nodiscard]] inline std::vector<engine_overhead> read_engine_overheads(const nlohmann::json& from,
                                                                        const std::string& file) {
  std::vector<engine_overhead> all;
  if (from.is_null()) return all;
  const json::value whole(from);
  const json::cursor list(whole, file, "/engine_overheads");
  list.require_array();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const json::cursor one = list[i];
    one.require_keys({"engine", "backend", "dtype", "threads", "parameters", "cache",
                      "call_seconds", "step_seconds"});
    const json::cursor parameters = one["parameters"];
    parameters.require_object();
    name_parameters known;
    for (const auto& [name, value] : parameters.get().items()) {
      const json::cursor at = parameters[name];
      if (std::ranges::find(parameter_order, name) == parameter_order.end()) {
        at.fail("is no parameter of a case");
      }
      known[name] = at.text();
    }
    all.push_back({one["engine"].text(), one["backend"].text(), one["dtype"].text(),
                   json::read_size(one["threads"], {}), std::move(known), one["cache"].text(),
                   one["call_seconds"].number(), one["step_seconds"].number()});
    if (one.has("large_bytes")) {
      one.require_keys({"large_byte_seconds"});
      all.back().large_bytes = json::read_size(one["large_bytes"], {});
      all.back().large_byte_seconds = one["large_byte_seconds"].number();
    }
    if (one.has("kernel_factors")) {
      all.back().kernel_factors = read_kernel_factors(one["kernel_factors"]);
    }
  }
  return all;
}

/// The type that a field of the context must have: Google Benchmark's own ones, and texts. Empty
/// for unknown fields.
[[nodiscard]] inline std::string_view type_of(const std::string& field,
                                              const field_dimensions& of_file) {
  if (field == "num_cpus" || field == "mhz_per_cpu") return "a number";
  if (field == "caches" || field == "load_avg") return "a list";
  if (field == "cpu_scaling_enabled" || field == "aslr_enabled") return "true or false";
  if (field == "json_schema_version") return "";
  return of_file.contains(field) || known_dimensions().contains(field) ? "a text" : "";
}

/// The context as texts. Throws bad_input for a known field of another type.
[[nodiscard]] inline decltype(results::context) read_context(const nlohmann::json& from,
                                                             const field_dimensions& dimensions,
                                                             const std::string& file) {
  decltype(results::context) all;
  for (const auto& member : from.items()) {
    const nlohmann::json& value = member.value();
    const std::string_view expected = type_of(member.key(), dimensions);
    const std::string_view found = value.is_string()    ? "a text"
                                   : value.is_number()  ? "a number"
                                   : value.is_array()   ? "a list"
                                   : value.is_boolean() ? "true or false"
                                                        : "null or an object";
    if (!expected.empty() && found != expected) {
      throw bad_input(file, "/context/" + json::detail::token(member.key()),
                      fmt::format("expected {}, found {}", expected, shown(value)));
    }
    all[member.key()] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return all;
}

/// Reads the JSON of `from`.
[[nodiscard]] inline results read_from(std::istream& from, results result) {
  file_reader reader(result);
  lenient_json buffer(from);
  std::istream text(&buffer);
  static_cast<void>(nlohmann::json::sax_parse(text, &reader));
  const auto dimensions = reader.context().find("field_dimensions");
  if (dimensions != reader.context().end() && dimensions->is_string()) {
    result.dimensions = read_dimensions(dimensions->get<std::string>(), result.file);
  }
  result.context = read_context(reader.context(), result.dimensions, result.file);
  result.context.erase("field_dimensions");
  result.engine_layers = read_engine_layers(reader.engine_layers(), result.file);
  result.engine_overheads = read_engine_overheads(reader.engine_overheads(), result.file);
  const auto planned = result.context.find("manifest");
  if (planned != result.context.end()) {
    result.manifest = read_manifest(planned->second, result.file);
    result.context.erase(planned);
  }
  const auto compared = result.context.find("candidates");
  if (compared != result.context.end()) {
    result.candidates = read_candidates(compared->second, result.file);
    result.context.erase(compared);
  }
  return result;
}

}  // namespace detail

LAYERBENCH_INLINE results read(const std::filesystem::path& path) {
  results result;
  result.file = path.string();
  std::ifstream stream(input_path(path), std::ios::binary);
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown) || !stream) {
    throw bad_input(result.file, "",
                    "cannot be read; give a result file (--benchmark_out writes one)");
  }
  if (stream.peek() == 'n') {  // Google Benchmark's CSV begins with "name,"
    throw bad_input(result.file, "",
                    "is CSV, not JSON, and lacks what predictions need; measure again with "
                    "--benchmark_out_format=json, which is the default");
  }
  return detail::read_from(stream, std::move(result));
}

LAYERBENCH_INLINE results parse(const std::string& text, const std::string& file) {
  results result;
  result.file = file;
  std::istringstream stream(text);
  return detail::read_from(stream, std::move(result));
}

namespace detail {

/// What identifies a machine in the text of its topology (machine::text): packages, nodes, caches,
/// cores and processors. Virtual machines and containers change the bytes of their memory while
/// they run, and what was guessed depends on what a container shows.
[[nodiscard]] inline std::string identifying_topology(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find(", ", at);
    if (text.find('(', at) < end) end = text.find(", ", text.find(')', at));  // sizes have commas
    std::string_view part = text.substr(at, end == text.npos ? end : end - at);
    at = end == text.npos ? text.size() : end + 2;
    if (part.starts_with("at most ")) continue;
    if (part.find(" node") != part.npos) part = part.substr(0, part.find(" ("));
    parts.push_back(part);
    if (part.find(" processor") != part.npos) break;  // notes follow
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace detail

LAYERBENCH_INLINE std::string comparable_value(std::string_view field, const std::string& value) {
  if (field == "topology") return detail::identifying_topology(value);
  if (field == "kernel") {  // "6.1.0-18-amd64": updates change all but the version
    const std::size_t dot = value.find('.');
    return value.substr(0, dot == std::string::npos ? dot : value.find_first_of(".-+", dot + 1));
  }
  return value;
}

LAYERBENCH_INLINE field_dimension dimension_of(std::string_view field, const results& a,
                                               const results& b) {
  for (const field_dimensions* known : {&a.dimensions, &b.dimensions, &known_dimensions()}) {
    const auto found = known->find(field);
    if (found != known->end()) return found->second;
  }
  if (field.ends_with("_version")) return field_dimension::version;
  return field.ends_with("_waiting") ? field_dimension::condition : field_dimension::setting;
}

LAYERBENCH_INLINE std::vector<std::string> differing_context(const results& a, const results& b) {
  // Files of earlier versions do not have these.
  static const std::set<std::string, std::less<>> newer{"topology", "places", "numa"};
  std::vector<std::string> names;
  const auto check = [&](const results& from, const results& to) {
    for (const auto& [name, value] : from.context) {
      if (dimension_of(name, a, b) == field_dimension::condition) continue;
      const auto other = to.context.find(name);
      const bool same = other == to.context.end()
                            ? newer.contains(name)
                            : other->second == value || comparable_value(name, other->second) ==
                                                            comparable_value(name, value);
      if (!same && std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  };
  check(a, b);
  check(b, a);
  return names;
}

LAYERBENCH_INLINE std::string both_values(const results& a, const results& b,
                                          const std::vector<std::string>& fields) {
  const auto value = [](const results& of, const std::string& field) {
    const auto found = of.context.find(field);
    if (found == of.context.end()) return std::string("absent");
    return nlohmann::json(found->second)
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  std::vector<std::string> texts;
  for (const std::string& field : fields) {
    texts.push_back(fmt::format("{} ({}, {})", field, value(a, field), value(b, field)));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace layerbench::result
