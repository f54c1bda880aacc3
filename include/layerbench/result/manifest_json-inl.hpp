// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <nlohmann/json.hpp>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/json_error.hpp>
#include <layerbench/result/manifest_json.hpp>

namespace layerbench::result {

LAYERBENCH_INLINE std::string write_manifest(const manifest& cases) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const auto& [model_case, step] : cases) {
    auto& list = out[model_case.text()] = nlohmann::ordered_json::array();
    for (const planned& primitive : step) {
      list.push_back(
          {primitive.layer, primitive.op, primitive.pass, primitive.key, primitive.count});
      nlohmann::ordered_json more = nlohmann::ordered_json::object();
      if (primitive.part != model::step_part::forward) more["part"] = name(primitive.part);
      if (!primitive.state.empty()) more["state"] = primitive.state;
      if (primitive.inserted) more["inserted"] = true;
      if (primitive.chain_seconds) more["chain_s"] = *primitive.chain_seconds;
      if (primitive.layers.size() > 1) more["layers"] = primitive.layers;
      if (primitive.left_out) more["left_out"] = *primitive.left_out;
      for (const operand_traffic& operand : primitive.traffic) {
        more["moves"].push_back({operand.bytes, operand.distance, operand.written ? 1 : 0});
      }
      if (!more.empty()) list.back().push_back(more);
    }
  }
  return out.dump();
}

namespace detail {

/// Throws bad_input unless the value is a list: others would be read member by member.
inline void require_list(const nlohmann::ordered_json& value, std::string_view file) {
  if (value.is_array()) return;
  throw bad_input(file, "/context/manifest", "not a list: " + value.dump());
}

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
  require_list(list, file);
  for (const auto& operand : list) {
    traffic.push_back({count_in(operand.at(0), 0, most, file),
                       count_in(operand.at(1), 0, most, file),
                       count_in(operand.at(2), 0, 1, file) == 1});
  }
  return traffic;
}

}  // namespace detail

LAYERBENCH_INLINE manifest read_manifest(std::string_view text, std::string_view file) {
  manifest cases;
  try {
    const auto parsed = nlohmann::ordered_json::parse(text);
    for (const auto& case_step : parsed.items()) {
      const auto model_case = parse_case(case_step.key());
      if (!model_case)
        throw bad_input(file, "/context/manifest", "unknown case " + case_step.key());
      std::vector<planned>& step = cases[*model_case];
      detail::require_list(case_step.value(), file);
      for (const auto& primitive : case_step.value()) {
        const std::int64_t count = detail::count_in(primitive.at(4), 1, max_size, file);
        const auto more = primitive.size() > 5 ? primitive.at(5) : nlohmann::ordered_json::object();
        const auto part = from_name<model::step_part>(more.value("part", "forward"));
        if (!part) throw bad_input(file, "/context/manifest", "unknown part of a step");
        step.push_back({primitive.at(0), primitive.at(1), primitive.at(2), primitive.at(3), count,
                        more.value("inserted", false), more.value("state", "")});
        step.back().part = *part;
        if (count == 1) step.back().layers = {step.back().layer};
        if (more.contains("layers")) {
          step.back().layers = more["layers"].get<std::vector<std::string>>();
          if (std::ssize(step.back().layers) != count) {
            throw bad_input(file, "/context/manifest", "layers are not as many as calls");
          }
        }
        if (more.contains("moves")) step.back().traffic = detail::read_traffic(more["moves"], file);
        if (more.contains("left_out")) {
          step.back().left_out = more["left_out"].get<double>();
          if (*step.back().left_out < 0 || *step.back().left_out > 1) {
            throw bad_input(file, "/context/manifest", "left_out is not a share");
          }
        }
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

}  // namespace layerbench::result
