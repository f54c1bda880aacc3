// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <layerbench/model/graph.hpp>
#include <layerbench/model/quantization.hpp>
#include <layerbench/op/op.hpp>

/// Fusion plans (docs/formats.md): which layers an inference engine runs as one call, and how it
/// runs calls.
namespace layerbench::model {

/// Which layers a call takes in. Each layer must be the only reader of the one before it. A rule is
/// for ops and says what may follow, or for `layers` of one model, all of which are one call. A
/// rule that says how its ops or layers are called, or by which backend, joins nothing.
struct fusion_rule {
  std::vector<std::string> ops = {};     ///< of the first layer
  std::vector<std::string> layers = {};  ///< by name, the first one first
  /// The stages that follow it, in order. Each takes in at most one layer: `batchnorm`, which is
  /// folded into weights and bias, `add`, `activation`, or the kind of an activation.
  std::vector<std::vector<std::string>> then = {};
  bool is_of_calls = false;             ///< it has `how` or `backend`, even one that cannot run
  op::manner how = op::manner::direct;  ///< in which `ops` are called
  std::string backend = {};             ///< which computes them; empty: that of the step
  std::vector<dtype> types = {};        ///< of the steps that it is for; empty: all
  record_fields where = {};             ///< only where these fields have these values
  record_fields unless = {};  ///< but not where these fields, if there are any, have these values
  /// Only up to these values of fields, `elements` of the first source, and `threads`, if these are
  /// known.
  std::map<std::string, std::int64_t> at_most = {};
  bool repeat = false;    ///< the last stage takes in as many layers as there are
  bool in_place = false;  ///< an addition overwrites a source that no later layer reads

  [[nodiscard]] bool joins_layers() const { return !is_of_calls; }
};

struct fusion_plan {
  std::string name;
  std::string title;
  std::string source;  ///< where the engine documents it
  std::vector<fusion_rule> rules;
  std::optional<quantization> int8 = {};       ///< of steps in s8; else all of their tensors are s8
  std::optional<narrow_weights> weights = {};  ///< of products with learned weights

  /// Whether it has a rule for calls of several layers, or for integers. Otherwise the fused model
  /// has the same layers, and can be trained as before.
  [[nodiscard]] bool joins_layers() const {
    return int8 || std::ranges::any_of(rules, &fusion_rule::joins_layers);
  }
  /// Whether calls depend on the machine and the run, not on the model alone.
  [[nodiscard]] bool names_backends() const {
    return std::ranges::any_of(rules, [](const auto& rule) { return !rule.backend.empty(); });
  }
};

/// The name of no fusion at all.
inline constexpr std::string_view no_fusion = "none";

/// The file meant by `name_or_path`: a path when it has a '/' or ends in .json, else a fusion plan
/// of `shapes`. Throws nothing_matched for an unknown name, listing what exists.
[[nodiscard]] std::filesystem::path find_fusion(const std::string& name_or_path,
                                                const std::filesystem::path& shapes);

/// Reads a fusion plan. Throws bad_input with file and JSON pointer.
[[nodiscard]] fusion_plan load_fusion(const std::filesystem::path& path,
                                      const op::catalog& catalog);

/// The model as the plan fuses it, for inference only if the plan joins layers. A fused layer is
/// named after all layers in it, joined by '+', and stands where the last of them stood. An
/// addition is part of the call of its first source that can take it in. In a step of s8 tensors
/// have the types that the plan says, in others the weights of products. Without `threads` rules
/// for few threads do not apply. Throws bad_input for a rule whose `layers` cannot be one call.
[[nodiscard]] graph fused(const graph& g, const fusion_plan& plan, const op::catalog& catalog,
                          dtype type = dtype::f32, std::optional<int> threads = {});

}  // namespace layerbench::model

#ifndef LAYERBENCH_COMPILED
#include <layerbench/model/fusion-inl.hpp>
#endif
