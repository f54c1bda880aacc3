// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/cudnn/engine.hpp>

namespace layerbench::cudnn {

/// A graph ready to run on an engine. Throws unsupported where the engine cannot.
class execution_plan {
 public:
  /// `found_by` is the mode of the heuristics that proposed it.
  execution_plan(engine_config config, const descriptor& gpu, std::string found_by)
      : config_(std::move(config)), found_by_(std::move(found_by)) {
    self_.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config_.self());
    self_.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, gpu);
    self_.finalize();
    workspace_bytes_ =
        static_cast<std::size_t>(self_.get<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  }

  [[nodiscard]] const descriptor& self() const { return self_; }
  [[nodiscard]] const engine_choice& choice() const { return config_.choice(); }
  [[nodiscard]] const numerical_notes& notes() const { return config_.notes(); }
  [[nodiscard]] std::size_t workspace_bytes() const { return workspace_bytes_; }
  /// Engine, knobs, notes and who found it: "eng67_k2:1[tensor_core][mode_a]".
  [[nodiscard]] std::string text() const {
    std::string result = choice().text();
    for (const cudnnBackendNumericalNote_t note : notes())
      result += fmt::format("[{}]", name(note));
    return found_by_.empty() ? result : fmt::format("{}[{}]", result, found_by_);
  }

 private:
  engine_config config_;
  std::string found_by_;
  descriptor self_{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR};
  std::size_t workspace_bytes_ = 0;
};

/// What a plan must keep to.
struct plan_limits {
  dtype type;
  std::size_t workspace_bytes;
};

/// The library's heuristics, by the names that plans are told by: what it expects to be fast, and
/// what works for sure.
inline constexpr std::array<std::pair<cudnnBackendHeurMode_t, std::string_view>, 2> heuristics{
    {{CUDNN_HEUR_MODE_A, "mode_a"}, {CUDNN_HEUR_MODE_FALLBACK, "fallback"}}};

namespace detail {

/// The plan, unless the library has none for these or it breaks the limits.
[[nodiscard]] inline std::optional<execution_plan> plan_within(const plan_limits& limits,
                                                               engine_config config,
                                                               const descriptor& gpu,
                                                               std::string found_by) {
  if (!computes_in(limits.type, config.notes())) return std::nullopt;
  try {
    execution_plan result(std::move(config), gpu, std::move(found_by));
    if (result.workspace_bytes() > limits.workspace_bytes) return std::nullopt;
    return result;
  } catch (const unsupported&) {  // heuristics promise nothing
    return std::nullopt;
  }
}

/// Calls `take` with each plan within the limits, until it returns false.
template <class Take>
void for_each_plan(const descriptor& graph, const descriptor& gpu, const plan_limits& limits,
                   const Take& take) {
  std::vector<engine_choice> seen;
  for (const auto& [mode, mode_name] : heuristics) {
    for (engine_config& proposal : proposals(graph, gpu, mode)) {
      if (std::ranges::find(seen, proposal.choice()) != seen.end()) continue;
      seen.push_back(proposal.choice());
      auto result = plan_within(limits, std::move(proposal), gpu, std::string(mode_name));
      if (result && !take(*std::move(result))) return;
    }
  }
}

}  // namespace detail

/// All plans within the limits that the library proposes, the fastest in its opinion first.
[[nodiscard]] inline std::vector<execution_plan> all_plans(const descriptor& graph,
                                                           const descriptor& gpu,
                                                           const plan_limits& limits) {
  std::vector<execution_plan> all;
  detail::for_each_plan(graph, gpu, limits, [&](execution_plan result) {
    all.push_back(std::move(result));
    return true;
  });
  return all;
}

/// The first of them. Throws unsupported when there is none.
[[nodiscard]] inline execution_plan first_plan(const descriptor& graph, const descriptor& gpu,
                                               const plan_limits& limits) {
  std::optional<execution_plan> first;
  detail::for_each_plan(graph, gpu, limits, [&](execution_plan result) {
    first = std::move(result);
    return false;
  });
  if (first) return *std::move(first);
  throw unsupported(fmt::format("cuDNN has no plan in {} with up to {} bytes of workspace",
                                name(limits.type), limits.workspace_bytes));
}

/// The plan that was chosen before, by its text. Throws unsupported where it breaks the limits, or
/// the library does not have it.
[[nodiscard]] inline execution_plan replayed_plan(const descriptor& graph, const descriptor& gpu,
                                                  const plan_limits& limits,
                                                  const std::string& text) {
  const auto choice = engine_choice::parse(text);
  if (!choice) throw unsupported(fmt::format("'{}' is no plan of cuDNN", text));
  const auto finds = [&](const auto& item) {
    return text.ends_with(fmt::format("[{}]", item.second));
  };
  const auto* const finder = std::ranges::find_if(heuristics, finds);
  auto result = detail::plan_within(limits, engine_config(graph, gpu, *choice), gpu,
                                    std::string(finder == heuristics.end() ? "" : finder->second));
  if (result) return *std::move(result);
  throw unsupported(
      fmt::format("the chosen plan {} cannot be used in {} with up to {} bytes of workspace", text,
                  name(limits.type), limits.workspace_bytes));
}

}  // namespace layerbench::cudnn
