// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/base/json.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/shape/dims.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/shape/record_json.hpp>

namespace layerbench::model {

namespace detail {

[[nodiscard]] inline json::value definitions() {
  using json::value;
  const auto reference = [](const char* to) { return value{{"$ref", to}}; };
  const auto list = [](const value& items, int length) {
    return value{{"type", "array"}, {"items", items}, {"minItems", length}, {"maxItems", length}};
  };
  const value parameter = {{"type", "string"}, {"description", "name of a parameter"}};
  const auto whole = [](int least) {
    return value{{"type", "integer"}, {"minimum", least}, {"maximum", max_size}};
  };
  const value size = reference("#/$defs/size");
  const value product = {{"type", "array"}, {"items", size}, {"minItems", 1}};
  const value padding = reference("#/$defs/padding");
  return {{"size",
           {{"description", "a count, a parameter's name or a list of sizes (their product)"},
            {"anyOf", value::array({whole(1), parameter, product})}}},
          {"padding",
           {{"description", "a size that may be 0"},
            {"anyOf", value::array({whole(0), parameter, product})}}},
          {"pair",
           {{"description", "a size, or [vertical, horizontal]"},
            {"anyOf", value::array({whole(1), parameter, list(size, 2)})}}},
          {"pads",
           {{"description", "a size, [vertical, horizontal] or [top, bottom, left, right]"},
            {"anyOf", value::array({whole(0), parameter, list(padding, 2), list(padding, 4)})}}},
          {"name", {{"type", "string"}, {"pattern", "^[a-z0-9_]+$"}}}};
}

/// Schema of a layer: `op` decides what `shape` looks like.
[[nodiscard]] inline json::value layer_schema(const op::catalog& catalog) {
  using json::value;
  const value name = {{"$ref", "#/$defs/name"}};
  value names = value::array();
  value choices = value::array();
  for (const op::entry& entry : catalog) {
    names.push_back(entry.name);
    const value is_this = {{"properties", {{"op", {{"const", entry.name}}}}}};
    const value shape = json::fields_schema(entry.default_fields());
    choices.push_back({{"if", is_this}, {"then", {{"properties", {{"shape", shape}}}}}});
  }
  return {{"type", "object"},
          {"properties",
           {{"name", name},
            {"op", {{"enum", names}}},
            {"after",
             {{"description", "layers whose output it reads, in operand order; the one before"},
              {"type", "array"},
              {"items", name}}},
            {"weights_of",
             {{"description", "layer that has the same weights, which count once"},
              {"$ref", "#/$defs/name"}}},
            {"shape", {{"type", "object"}}},
            {"type",
             {{"description", "data type of the layer, whatever that of the step is"},
              {"enum", dtype_names}}}}},
          {"required", value::array({"name", "op", "shape"})},
          {"additionalProperties", false},
          {"allOf", choices}};
}

}  // namespace detail

/// JSON schema (2020-12) of shape files, for editors. model::load also checks what a schema cannot:
/// that the sizes of connected layers agree and that the graph has no cycle.
[[nodiscard]] inline json::value schema(const op::catalog& catalog) {
  const json::value text = {{"type", "string"}};
  const json::value texts = {{"type", "array"}, {"items", text}};
  const auto described = [](json::value type, const char* what) {
    type["description"] = what;
    return type;
  };
  const auto count = [](int least) {
    return json::value{{"type", "integer"}, {"minimum", least}, {"maximum", max_size}};
  };
  const json::value parameters = {{"type", "object"},
                                  {"properties", {{"context", count(0)}}},
                                  {"additionalProperties", count(1)}};
  const json::value pass = {{"enum", enum_names<op::pass>}};
  const json::value passes = {{"type", "array"}, {"minItems", 1}, {"items", pass}};
  const json::value by_op = {
      {"type", "object"}, {"minProperties", 1}, {"additionalProperties", passes}};
  const json::value layers = {
      {"type", "array"}, {"minItems", 1}, {"items", detail::layer_schema(catalog)}};
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "layerbench shape file"},
          {"type", "object"},
          {"properties",
           {{"$schema", text},
            {"name", {{"$ref", "#/$defs/name"}}},
            {"title", text},
            {"source", text},
            {"family", described(text, "models that are built alike, such as resnet")},
            {"data", described(text, "the data set that it is for, such as imagenet")},
            {"studies", described(texts, "published measurements and suites that have it")},
            {"aliases", described(texts, "other names that find it")},
            {"inference_only", described(text, "why the model cannot be trained [it can]")},
            {"left_out", described({{"type", "number"}, {"minimum", 0}, {"maximum", 1}},
                                   "share of the FLOPs that an import left out, at least [none]")},
            {"parameters", parameters},
            {"passes", described(by_op, "of a sweep: the passes that are timed, by op")},
            {"layers", layers}}},
          {"required", json::value::array({"name", "layers"})},
          {"additionalProperties", false},
          {"$defs", detail::definitions()}};
}

}  // namespace layerbench::model
