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

#include <cudnn_graph.h>

#include <fmt/format.h>

#include <layerbench/backend/cudnn/backend_descriptor.hpp>
#include <layerbench/base/parse_number.hpp>
#include <layerbench/shape/dtype.hpp>

namespace layerbench::cudnn {

/// Device properties of the GPU of a cuDNN handle.
[[nodiscard]] inline descriptor gpu_of(cudnnHandle_t library) {
  descriptor result(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  result.set(CUDNN_ATTR_DEVICEPROP_HANDLE, library);
  result.finalize();
  return result;
}

/// A setting of an engine; `type` is a cudnnBackendKnobType_t.
struct knob {
  std::int64_t type;
  std::int64_t value;
  friend bool operator==(const knob&, const knob&) = default;
};

/// Identifies a plan of a graph: engine and knobs.
struct engine_choice {
  std::int64_t engine = 0;
  std::vector<knob> knobs;
  friend bool operator==(const engine_choice&, const engine_choice&) = default;

  /// The choice as text, such as "eng67_k2:1_k13:0".
  [[nodiscard]] std::string text() const {
    std::string result = fmt::format("eng{}", engine);
    for (const knob& item : knobs) result += fmt::format("_k{}:{}", item.type, item.value);
    return result;
  }
  /// Inverse of text(), which ignores everything from "[" on; nullopt for any other text.
  [[nodiscard]] static std::optional<engine_choice> parse(std::string_view text) {
    const auto number_after = [&](std::string_view prefix) -> std::optional<std::int64_t> {
      if (!text.starts_with(prefix)) return std::nullopt;
      text.remove_prefix(prefix.size());
      return take_number<std::int64_t>(text);
    };
    text = text.substr(0, text.find('['));
    const std::optional<std::int64_t> engine = number_after("eng");
    if (!engine) return std::nullopt;
    engine_choice result{*engine, {}};
    while (!text.empty()) {
      const std::optional<std::int64_t> type = number_after("_k");
      const std::optional<std::int64_t> value = type ? number_after(":") : std::nullopt;
      if (!value) return std::nullopt;
      result.knobs.push_back({*type, *value});
    }
    return result;
  }
};

/// Numerical notes of an engine, such as tensor_core.
using numerical_notes = std::vector<cudnnBackendNumericalNote_t>;

[[nodiscard]] inline std::string name(cudnnBackendNumericalNote_t note) {
  constexpr std::array<std::string_view, 10> names{
      "tensor_core",  "down_convert_inputs", "reduced_precision_reduction",
      "fft",          "nondeterministic",    "winograd",
      "winograd_4x4", "winograd_6x6",        "winograd_13x13",
      "strict_nan"};
  const auto number = static_cast<std::size_t>(note);
  return number < names.size() ? std::string(names.at(number)) : fmt::format("note{}", number);
}

/// Whether an engine computes as `type` demands: sums in f32, and no conversion of inputs to a
/// narrower type. f32 must not use tensor cores, which would round it to tf32; tf32 must.
[[nodiscard]] inline bool computes_in(dtype type, const numerical_notes& notes) {
  const auto has = [&](cudnnBackendNumericalNote_t note) {
    return std::ranges::find(notes, note) != notes.end();
  };
  if (has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)) return false;
  if (has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)) return false;
  if (type == dtype::f32) return !has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  return type != dtype::tf32 || has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
}

/// An engine with its knobs, for one graph on one GPU.
class engine_config {
 public:
  /// Adopts a finalized engine configuration of cuDNN's heuristics.
  explicit engine_config(descriptor config) : self_(std::move(config)) {
    const auto engines =
        self_.get_all(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
    const descriptor& engine = engines.at(0);
    choice_.engine = engine.get<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
    notes_ = engine.get_all<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                         CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
    for (const descriptor& item :
         self_.get_all(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
                       CUDNN_KNOB_TYPE_COUNTS)) {
      choice_.knobs.push_back({item.get<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE),
                               item.get<std::int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE)});
    }
  }

  /// Rebuilds a configuration that was chosen before. Throws as cuda::check() if the graph has no
  /// such engine.
  engine_config(const descriptor& graph, const descriptor& gpu, const engine_choice& choice)
      : engine_config(build(graph, gpu, choice)) {}

  [[nodiscard]] const descriptor& self() const { return self_; }
  [[nodiscard]] const engine_choice& choice() const { return choice_; }
  [[nodiscard]] const numerical_notes& notes() const { return notes_; }

 private:
  [[nodiscard]] static descriptor build(const descriptor& graph, const descriptor& gpu,
                                        const engine_choice& choice) {
    descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
    engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, choice.engine);
    engine.set(CUDNN_ATTR_ENGINE_DEVICEPROP, gpu);
    engine.finalize();
    std::vector<descriptor> knobs;
    for (const knob& item : choice.knobs) {
      knobs.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
      knobs.back().set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE,
                       static_cast<cudnnBackendKnobType_t>(item.type));
      knobs.back().set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, item.value);
      knobs.back().finalize();
    }
    descriptor result(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    result.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    if (!knobs.empty()) result.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, knobs);
    result.finalize();
    return result;
  }

  descriptor self_;
  engine_choice choice_;
  numerical_notes notes_;
};

/// Engine configurations that cuDNN's heuristics propose for a graph, by estimated speed.
[[nodiscard]] inline std::vector<engine_config> proposals(const descriptor& graph,
                                                          const descriptor& gpu,
                                                          cudnnBackendHeurMode_t mode) {
  descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, gpu);
  heuristics.finalize();
  std::vector<engine_config> all;
  for (descriptor& item :
       heuristics.get_all(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                          heuristics.count(CUDNN_ATTR_ENGINEHEUR_RESULTS))) {
    all.emplace_back(std::move(item));
  }
  return all;
}

}  // namespace layerbench::cudnn
