// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace layerbench::result {

/// Further parameters of a name in their fixed order. A name has only those that differ from the
/// defaults: tokens and context of the shape file, phase inference, layout nhwc, no fusion, fresh
/// memory, data of normal numbers, timing of GPUs by graph (in training by stream), all threads of
/// the machine, one stream, one rank, and no background load during the calls.
inline constexpr std::array<std::string_view, 12> parameter_order{
    "tokens", "context", "phase",   "layout",  "fusion", "memory",
    "data",   "timing",  "threads", "streams", "ranks",  "during"};

using name_parameters = std::map<std::string, std::string, std::less<>>;

namespace detail {

[[nodiscard]] std::string parameter_text(const name_parameters& parameters,
                                         std::string_view except = {});

/// The value of `part` when it reads `name:value`.
[[nodiscard]] std::optional<std::string_view> value_of(std::string_view part,
                                                       std::string_view name);

[[nodiscard]] std::optional<std::int64_t> count_of(std::string_view text, std::int64_t least = 1);

}  // namespace detail

/// A case: a model under fixed conditions. Predictions are made for cases.
struct case_name {
  std::string backend;
  std::string dtype;
  std::string model;
  std::int64_t batch = 1;
  name_parameters parameters;

  /// The value of a parameter, or its default.
  [[nodiscard]] std::string parameter(std::string_view of, std::string otherwise) const;
  [[nodiscard]] std::string phase() const { return parameter("phase", "inference"); }

  /// Processes or devices that take part. Each has one batch.
  [[nodiscard]] std::int64_t ranks() const {
    return detail::count_of(parameter("ranks", "1")).value_or(1);
  }

  /// Instances of the model that share the threads. Each has one batch.
  [[nodiscard]] std::int64_t streams() const {
    return detail::count_of(parameter("streams", "1")).value_or(1);
  }
  /// Images of a step of all ranks and streams.
  [[nodiscard]] std::int64_t images() const { return batch * ranks() * streams(); }

  /// The value of a parameter that is a count; nothing where the name does not have it.
  [[nodiscard]] std::optional<std::int64_t> count(std::string_view of) const {
    return detail::count_of(parameter(of, ""), 0);
  }

  /// The model, and what it has no column for in tables: "resnet50, fusion openvino".
  [[nodiscard]] std::string model_text() const;

  /// Whether the layers are those of a fusion plan.
  [[nodiscard]] bool fused() const { return parameters.contains("fusion"); }

  /// Whether a background load slowed the calls down.
  [[nodiscard]] bool contended() const { return parameters.contains("during"); }

  /// `<phase>/<backend>/<dtype>/<model>/batch:<n>[/<parameter>:<value>]...`
  [[nodiscard]] std::string text() const;

  friend auto operator<=>(const case_name&, const case_name&) = default;
};

/// The name of a row: a case, one of its primitives and a cache state; or a case and its whole step
/// (a chain), run layer after layer.
struct row_name {
  case_name model_case;
  std::string op;
  std::string pass;
  std::string layer;  ///< or the layers in one call, joined by '+'
  std::string cache;

  /// The row of the whole step of a case.
  [[nodiscard]] static row_name chain(case_name model_case) {
    return {std::move(model_case), "chain", "", "", ""};
  }
  [[nodiscard]] bool is_chain() const { return op == "chain" && layer.empty(); }

  /// `<op>/<pass>/<backend>/<dtype>/<model>/<layer>/batch:<n>/cache:<state>[/<parameter>:<value>]`;
  /// `chain/<case>` of a whole step.
  [[nodiscard]] std::string text() const;

  friend auto operator<=>(const row_name&, const row_name&) = default;
};

/// Reads `parts` as parameters in their fixed order; nothing when one is unknown or out of order.
[[nodiscard]] std::optional<name_parameters> parse_parameters(
    const std::vector<std::string_view>& parts, std::size_t first);

namespace detail {

/// The component of a row's name that is a layer, or the layers in one call.
inline constexpr std::size_t layer_position = 5;

}  // namespace detail

/// The inverse of case_name::text; nothing for any other text.
[[nodiscard]] std::optional<case_name> parse_case(std::string_view text);

/// The inverse of row_name::text; nothing for other benchmarks' names.
[[nodiscard]] std::optional<row_name> parse_row(std::string_view text);

}  // namespace layerbench::result

#ifndef LAYERBENCH_COMPILED
#include <layerbench/result/name-inl.hpp>
#endif
