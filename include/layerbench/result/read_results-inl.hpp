// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <istream>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/input_path.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/result/field_dimensions.hpp>
#include <layerbench/result/google_json_reader.hpp>
#include <layerbench/result/manifest_json.hpp>
#include <layerbench/result/non_finite_json.hpp>
#include <layerbench/result/plan_candidates.hpp>
#include <layerbench/result/read_results.hpp>
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
  non_finite_json buffer(from);
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

}  // namespace layerbench::result
