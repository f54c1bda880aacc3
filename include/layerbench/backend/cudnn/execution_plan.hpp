// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/cudnn/engine_config.hpp>
#include <layerbench/backend/plan.hpp>

namespace layerbench::cudnn {

/// An execution plan: a graph compiled for an engine. Throws unsupported if the engine does not
/// support the graph.
class execution_plan {
 public:
  /// `heuristic` is the name of the heuristic mode that proposed the plan, or empty.
  execution_plan(engine_config config, const descriptor& gpu, std::string heuristic)
      : config_(std::move(config)), heuristic_(std::move(heuristic)) {
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
  /// Whether it comes from cuDNN's fallback list.
  [[nodiscard]] bool is_fallback() const { return heuristic_ == "fallback"; }
  /// Engine, knobs, notes and heuristic mode, such as "eng67_k2:1[tensor_core][mode_a]".
  [[nodiscard]] std::string text() const {
    std::string result = choice().text();
    for (const cudnnBackendNumericalNote_t note : notes())
      result += fmt::format("[{}]", name(note));
    return heuristic_.empty() ? result : fmt::format("{}[{}]", result, heuristic_);
  }

 private:
  engine_config config_;
  std::string heuristic_;
  descriptor self_{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR};
  std::size_t workspace_bytes_ = 0;
};

/// Constraints on a plan: its arithmetic (computes_in()), its workspace, and engines to avoid.
struct plan_limits {
  dtype type;
  std::size_t workspace_bytes;
  std::vector<std::int64_t> wrong_engines = {};
};

/// cuDNN's heuristic modes and their names in execution_plan::text(): the plans that it expects to
/// be fast, and plans for when these fail.
inline constexpr std::array<std::pair<cudnnBackendHeurMode_t, std::string_view>, 2> heuristics{
    {{CUDNN_HEUR_MODE_A, "mode_a"}, {CUDNN_HEUR_MODE_FALLBACK, "fallback"}}};

/// The proposals that a search has looked at, and how many of them it finalized, which takes cuDNN
/// about 20 ms each. The workspace of a plan is known only then.
struct tried_plans {
  std::vector<engine_choice> choices = {};
  std::size_t finalized = 0;
};

namespace detail {

[[nodiscard]] inline bool fits(const execution_plan& plan, const plan_limits& limits) {
  return plan.workspace_bytes() <= limits.workspace_bytes;
}

/// The plan of a configuration, which may need too much workspace; nullopt if cuDNN does not
/// support it or its arithmetic or engine is outside the limits.
[[nodiscard]] inline std::optional<execution_plan> finalized_plan(const plan_limits& limits,
                                                                  engine_config config,
                                                                  const descriptor& gpu,
                                                                  std::string heuristic) {
  if (!computes_in(limits.type, config.notes())) return std::nullopt;
  if (std::ranges::find(limits.wrong_engines, config.choice().engine) !=
      limits.wrong_engines.end()) {
    return std::nullopt;
  }
  try {
    return execution_plan(std::move(config), gpu, std::move(heuristic));
  } catch (const unsupported&) {  // the heuristics may propose configurations that do not work
    return std::nullopt;
  }
}

/// Calls `visit` with each plan within the limits but for those of `tried`, until it returns false
/// or `most` plans are finalized. Adds the plans to `tried`.
template <class Visit>
void for_each_plan(const descriptor& graph, const descriptor& gpu, const plan_limits& limits,
                   tried_plans& tried, std::size_t most, const Visit& visit) {
  for (const auto& [mode, mode_name] : heuristics) {
    for (engine_config& proposal : proposals(graph, gpu, mode)) {
      if (tried.finalized >= most) return;
      if (std::ranges::find(tried.choices, proposal.choice()) != tried.choices.end()) continue;
      tried.choices.push_back(proposal.choice());
      auto result = finalized_plan(limits, std::move(proposal), gpu, std::string(mode_name));
      if (!result) continue;
      ++tried.finalized;
      if (fits(*result, limits) && !visit(*std::move(result))) return;
    }
  }
}

inline constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();

}  // namespace detail

/// The plans within the limits that cuDNN proposes, by estimated speed, but for those of `tried`.
/// No more than `most` plans are finalized, those of `tried` and those that need too much workspace
/// included.
[[nodiscard]] inline std::vector<execution_plan> proposed_plans(
    const descriptor& graph, const descriptor& gpu, const plan_limits& limits,
    tried_plans tried = {}, std::size_t most = detail::any_number) {
  std::vector<execution_plan> plans;
  detail::for_each_plan(graph, gpu, limits, tried, most, [&](execution_plan result) {
    plans.push_back(std::move(result));
    return true;
  });
  return plans;
}

/// The first of proposed_plans(); adds to `tried`, unless null, what was looked at. Throws
/// unsupported if there is none.
[[nodiscard]] inline execution_plan first_plan(const descriptor& graph, const descriptor& gpu,
                                               const plan_limits& limits,
                                               tried_plans* tried = nullptr) {
  std::optional<execution_plan> first;
  tried_plans unwanted;
  detail::for_each_plan(graph, gpu, limits, tried == nullptr ? unwanted : *tried,
                        detail::any_number, [&](execution_plan result) {
                          first = std::move(result);
                          return false;
                        });
  if (first) return *std::move(first);
  throw unsupported(fmt::format("cuDNN has no plan in {} with up to {} bytes of workspace",
                                name(limits.type), limits.workspace_bytes));
}

/// Rebuilds a plan from its text(). Throws unsupported if cuDNN does not have the plan or it
/// violates the limits.
[[nodiscard]] inline execution_plan replayed_plan(const descriptor& graph, const descriptor& gpu,
                                                  const plan_limits& limits,
                                                  const std::string& text) {
  const auto choice = engine_choice::parse(text);
  if (!choice) throw unsupported(fmt::format("'{}' is not a plan of cuDNN", text));
  const auto proposed = [&](const auto& item) {
    return text.ends_with(fmt::format("[{}]", item.second));
  };
  const auto* const heuristic = std::ranges::find_if(heuristics, proposed);
  auto result =
      detail::finalized_plan(limits, engine_config(graph, gpu, *choice), gpu,
                             std::string(heuristic == heuristics.end() ? "" : heuristic->second));
  if (result && detail::fits(*result, limits)) return *std::move(result);
  throw unsupported(
      fmt::format("the chosen plan {} cannot be used in {} with up to {} bytes of workspace", text,
                  name(limits.type), limits.workspace_bytes));
}

/// What alternatives() of a plan returns.
template <class Built>
[[nodiscard]] std::vector<run::alternative> as_alternatives(std::vector<Built> plans) {
  std::vector<run::alternative> all;
  for (Built& built : plans) all.push_back({.built = std::make_shared<Built>(std::move(built))});
  return all;
}
/// One of these that a request has; nothing if it has none.
template <class Built>
[[nodiscard]] std::optional<Built> built_plan(const plan_request& request) {
  if (!request.built) return std::nullopt;
  return std::move(*std::static_pointer_cast<Built>(request.built));
}

}  // namespace layerbench::cudnn
