// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <nlohmann/json.hpp>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/json_error.hpp>
#include <layerbench/result/plan_candidates.hpp>

namespace layerbench::result {

LAYERBENCH_INLINE std::string write_candidates(const plan_candidates& all) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const auto& [work, candidates] : all) {
    auto& list = out[work] = nlohmann::ordered_json::array();
    for (const plan_candidate& candidate : candidates) {
      nlohmann::ordered_json& item = list.emplace_back();
      item["algo"] = candidate.algorithm;
      const auto add = [&](const char* field, const std::optional<double>& seconds) {
        if (seconds) item[field] = *seconds;
      };
      add("first_s", candidate.first_seconds);
      add("hot_s", candidate.hot_seconds);
      add("cold_s", candidate.cold_seconds);
      if (candidate.workspace_bytes > 0) item["workspace_bytes"] = candidate.workspace_bytes;
      if (!candidate.note.empty()) item["note"] = candidate.note;
      if (candidate.forbidden) item["forbidden"] = true;
    }
  }
  // Libraries' messages need not be UTF-8.
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

LAYERBENCH_INLINE plan_candidates read_candidates(std::string_view text, std::string_view file) {
  plan_candidates all;
  try {
    const auto parsed = nlohmann::ordered_json::parse(text);
    for (const auto& work : parsed.items()) {
      std::vector<plan_candidate>& candidates = all[work.key()];
      if (!work.value().is_array()) {
        throw bad_input(file, "/context/candidates", "not a list: " + work.value().dump());
      }
      for (const auto& item : work.value()) {
        const auto seconds = [&](const char* field) -> std::optional<double> {
          if (!item.contains(field)) return std::nullopt;
          const auto value = item[field].template get<double>();
          if (value > 0) return value;
          throw bad_input(file, "/context/candidates", "not a positive time: " + item.dump());
        };
        candidates.push_back({item.at("algo").template get<std::string>(), seconds("first_s"),
                              seconds("hot_s"), seconds("cold_s"),
                              item.value("workspace_bytes", std::int64_t{0}),
                              item.value("note", ""), item.value("forbidden", false)});
      }
    }
  } catch (const nlohmann::json::exception& e) {
    throw bad_input(file, "/context/candidates", json::plain_words(e));
  }
  return all;
}

}  // namespace layerbench::result
