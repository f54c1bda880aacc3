// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/is_name.hpp>
#include <layerbench/base/program_path.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/op/gemm.hpp>
#include <layerbench/shape/record_json.hpp>

namespace layerbench::model {

namespace detail {

[[nodiscard]] inline std::string read_name(const json::cursor& at) {
  const std::string text = at.text();
  if (!is_name(text)) {
    at.fail(fmt::format("'{}' is not a name; use lower-case letters, digits and _", text));
  }
  return text;
}

/// The file's parameters. `context` may be 0.
[[nodiscard]] inline parameter_values read_parameters(const json::cursor& file) {
  parameter_values named;
  if (!file.has("parameters")) return named;
  const json::cursor at = file["parameters"];
  at.require_object();
  for (const auto& parameter : at.get().items()) {
    const std::int64_t least = parameter.key() == "context" ? 0 : 1;
    named[parameter.key()] = json::read_size(at[parameter.key()], {}, least);
  }
  return named;
}

/// Replaces values of the file's parameters.
inline void replace_parameters(const json::cursor& file, const graph& of,
                               const parameter_values& replaced, parameter_values& named) {
  for (const auto& [name, value] : replaced) {
    if (named.contains(name)) {
      named[name] = value;
    } else if (name == "batch") {
      file.fail("has no parameter 'batch' to set; add \"parameters\": {\"batch\": 1} and use it");
    } else {
      throw usage_error(fmt::format("--{}: '{}' has no parameter of that name", name, of.name));
    }
  }
}

/// The parameters and what follows from them: `last`, the position of the last of the `tokens`, and
/// `keys`, the tokens that the last one sees: `context` and `tokens`.
[[nodiscard]] inline json::parameters with_derived(const json::cursor& file,
                                                   const parameter_values& named) {
  json::parameters all = named;
  const auto derive = [&](const char* name, std::int64_t value) {
    if (named.contains(name)) {
      file["parameters"][name].fail("follows from 'tokens'; use another name");
    }
    if (value > max_size) {
      throw usage_error(fmt::format("--context, --tokens: their sum is above {}", max_size));
    }
    all[name] = value;
  };
  const auto tokens = named.find("tokens");
  if (tokens == named.end()) return all;
  derive("last", tokens->second - 1);
  const auto context = named.find("context");
  if (context != named.end()) derive("keys", context->second + tokens->second);
  return all;
}

/// The passes of each op of a sweep; empty where the file has no such field.
[[nodiscard]] inline std::map<std::string, std::vector<op::pass>, std::less<>> read_passes(
    const json::cursor& file) {
  std::map<std::string, std::vector<op::pass>, std::less<>> passes;
  if (!file.has("passes")) return passes;
  const json::cursor at = file["passes"];
  at.require_object();
  if (at.get().empty()) at.fail("has no op; name those of the layers");
  for (const auto& op : at.get().items()) {
    const json::cursor list = at[op.key()];
    list.require_array();
    if (list.get().empty()) list.fail("has no passes");
    for (std::size_t i = 0; i < list.get().size(); ++i) {
      const auto pass = from_name<op::pass>(list[i].text());
      if (!pass) {
        list[i].fail(fmt::format("unknown pass '{}'; known: {}", list[i].text(),
                                 fmt::join(enum_names<op::pass>, " ")));
      }
      passes[op.key()].push_back(*pass);
    }
  }
  return passes;
}

/// A layer as the file has it: producers by position in the file.
struct draft {
  layer node;
  json::cursor at;
};

[[nodiscard]] inline dtype read_type(const json::cursor& at) {
  return static_cast<dtype>(at.index_in(dtype_names));
}

[[nodiscard]] inline op::any read_op(const json::cursor& at, const op::catalog& catalog,
                                     const json::parameters& named) {
  const std::string op_name = at["op"].text();
  const auto found = std::ranges::find(catalog, op_name, &op::entry::name);
  if (found == catalog.end()) {
    std::string known;
    for (const op::entry& entry : catalog) known += fmt::format(" {}", entry.name);
    at["op"].fail(fmt::format("unknown op '{}'; known:{}", op_name, known));
  }
  const json::cursor shape = at["shape"];
  record_fields fields = found->default_fields();
  json::read_fields(shape, named, fields);
  return json::validated(shape, [&] {
    op::any result = found->create(fields);
    if (at.has("type")) result = result.in(read_type(at["type"]));
    // Sizes that overflow must fail here, where the error can name their place in the file.
    static_cast<void>(result.work(op::pass::fwd));
    const auto* product = result.get<op::gemm>();
    const bool is_narrow = product != nullptr && product->has_narrow_weights();
    const dtype widest = is_narrow ? dtype::f32 : dtype::f64;
    static_cast<void>(op::least_bytes(result.operands(op::pass::fwd, widest)));
    return result;
  });
}

/// Reads the layer that has the same weights.
inline void read_weights_of(draft& of, const std::vector<draft>& all,
                            const std::map<std::string, std::size_t>& position) {
  const json::cursor at = of.at["weights_of"];
  const auto found = position.find(at.text());
  if (found == position.end()) at.fail(fmt::format("no layer is named '{}'", at.text()));
  const layer& other = all[found->second].node;
  const std::vector<op::operand> own = of_role(of.node.op, op::role::weights);
  const std::vector<op::operand> others = of_role(other.op, op::role::weights);
  if (&other == &of.node || own.empty() || others.empty() ||
      own.front().extents != others.front().extents) {
    at.fail(fmt::format("'{}' has no weights of the same sizes", at.text()));
  }
  of.node.weights_of = at.text();
}

[[nodiscard]] inline std::vector<draft> read_layers(const json::cursor& list,
                                                    const op::catalog& catalog,
                                                    const json::parameters& named) {
  list.require_array();
  if (list.get().empty()) list.fail("has no layers; a model needs at least one");
  std::map<std::string, std::size_t> position;
  std::vector<draft> drafts;
  for (std::size_t i = 0; i < list.get().size(); ++i) {
    const json::cursor at = list[i];
    at.check_keys({"name", "op", "after", "shape", "type", "weights_of"}, {"name", "op", "shape"});
    const std::string name = read_name(at["name"]);
    if (!position.emplace(name, i).second) {
      at["name"].fail(fmt::format("a layer named '{}' stands above already", name));
    }
    drafts.push_back({{name, read_op(at, catalog, named), {}}, at});
  }
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    std::vector<std::size_t>& inputs = drafts[i].node.inputs;
    if (!drafts[i].at.has("after")) {
      inputs.push_back(i == 0 ? model_input : i - 1);
      continue;
    }
    const json::cursor after = drafts[i].at["after"];
    after.require_array();
    for (std::size_t j = 0; j < after.get().size(); ++j) {
      const auto found = position.find(after[j].text());
      if (found == position.end()) {
        after[j].fail(fmt::format("no layer is named '{}'", after[j].text()));
      }
      inputs.push_back(found->second);
    }
    if (inputs.empty()) inputs.push_back(model_input);
  }
  for (draft& one : drafts) {
    if (one.at.has("weights_of")) read_weights_of(one, drafts, position);
  }
  return drafts;
}

/// File positions in an order in which producers come first; file order wherever that allows it.
[[nodiscard]] inline std::vector<std::size_t> graph_order(const std::vector<draft>& drafts) {
  std::vector<std::size_t> order;
  std::vector<bool> placed(drafts.size(), false);
  std::size_t first = 0;  // that is not placed
  while (order.size() < drafts.size()) {
    const auto ready = [&](const draft& d) {
      return std::ranges::all_of(d.node.inputs,
                                 [&](std::size_t in) { return in == model_input || placed[in]; });
    };
    while (placed[first]) ++first;
    std::size_t next = first;
    while (next < drafts.size() && (placed[next] || !ready(drafts[next]))) ++next;
    if (next == drafts.size()) {
      drafts[first].at["after"].fail(
          fmt::format("'{}' can never run: the graph has a cycle", drafts[first].node.name));
    }
    placed[next] = true;
    order.push_back(next);
  }
  return order;
}

/// Source operands agree, in number and extents, with the destinations of their producers.
inline void check_edges(const std::vector<draft>& drafts) {
  for (const draft& consumer : drafts) {
    const layer& node = consumer.node;
    const json::cursor at = consumer.at.has("after") ? consumer.at["after"] : consumer.at;
    const std::vector<op::operand> sources = of_role(node.op, op::role::source);
    if (node.inputs.size() != sources.size()) {
      at.fail(
          fmt::format("'{}' is an {} with {} inputs, but comes after {} layers; list them in "
                      "\"after\"",
                      node.name, node.op.name(), sources.size(), node.inputs.size()));
    }
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (node.inputs[i] == model_input) continue;
      const layer& producer = drafts[node.inputs[i]].node;
      const dims from = of_role(producer.op, op::role::destination).front().tensor();
      if (connects(node.op, from, sources[i].extents)) continue;
      consumer.at["shape"].fail(fmt::format(
          "'{}' reads {} elements as {}, but '{}' writes {}", node.name, sources[i].name,
          fmt::join(sources[i].extents, "x"), producer.name, fmt::join(from, "x")));
    }
  }
}

/// The layers of a sweep read nothing of each other, and have the passes in which they are timed.
inline void check_sweep(const std::vector<draft>& drafts,
                        const std::map<std::string, std::vector<op::pass>, std::less<>>& passes) {
  for (const draft& row : drafts) {
    const layer& node = row.node;
    if (node.inputs.front() != model_input) {
      row.at.fail(
          fmt::format("'{}' reads another layer, but layers of a sweep stand alone; give "
                      "it \"after\": []",
                      node.name));
    }
    const auto found = passes.find(node.op.name());
    if (found == passes.end()) {
      row.at["op"].fail(
          fmt::format("\"passes\" of the file does not say when '{}' is timed", node.op.name()));
    }
    for (const op::pass pass : found->second) {
      if (node.op.has(pass)) continue;
      row.at["op"].fail(fmt::format("'{}' has no pass {}", node.name, op::name(pass)));
    }
  }
}

/// A layer that overwrites a source is the last one that reads it, and reads it only once.
inline void check_overwritten(const graph& g, const json::cursor& list) {
  const std::vector<layer> layers = inference_layers(g);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const layer& writer = layers[i];
    const std::vector<op::operand> sources = of_role(writer.op, op::role::source);
    const std::size_t overwritten = op::overwritten_source(sources);
    if (overwritten == sources.size()) continue;
    const auto fail = [&](const std::string& what) {
      std::size_t in_file = 0;
      while (list[in_file]["name"].text() != writer.name) ++in_file;
      list[in_file]["shape"]["post"].fail("sum would overwrite " + what + "; use add");
    };
    const std::size_t from = writer.inputs[overwritten];
    if (from == model_input) fail("the model's input");
    if (!of_role(layers[from].op, op::role::destination).front().kept_in.empty()) {
      fail(fmt::format("what '{}' keeps from step to step", layers[from].name));
    }
    if (std::ranges::count(writer.inputs, from) > 1) fail("another source of the layer");
    for (std::size_t j = i + 1; j < layers.size(); ++j) {
      if (std::ranges::find(layers[j].inputs, from) == layers[j].inputs.end()) continue;
      fail(fmt::format("what '{}' reads later", layers[j].name));
    }
  }
}

/// Adds the layers in that order. A layer that does nothing is left out: its readers read its
/// source.
inline void add_layers(std::vector<draft> drafts, const std::vector<std::size_t>& order,
                       graph& to) {
  std::vector<std::size_t> written(drafts.size());  // what readers of each draft read
  for (const std::size_t from : order) {
    layer node = std::move(drafts[from].node);
    for (std::size_t& input : node.inputs) {
      if (input != model_input) input = written[input];
    }
    const bool idle = node.op.passes().empty();
    written[from] = idle ? node.inputs.front() : to.layers.size();
    if (!idle) to.layers.push_back(std::move(node));
  }
}

/// The share of the FLOPs that the file lacks; nothing if it does not say so.
[[nodiscard]] inline std::optional<double> read_left_out(const json::cursor& file) {
  if (!file.has("left_out")) return std::nullopt;
  const json::value& share = file["left_out"].get();
  if (share.is_number() && share >= 0 && share <= 1) return share.get<double>();
  file["left_out"].fail("is no share of the FLOPs, a number from 0 to 1");
}

}  // namespace detail

LAYERBENCH_INLINE graph load(const std::filesystem::path& path, const parameter_values& replaced,
                             const op::catalog& catalog) {
  const std::string format = path.extension().string();
  if (format != ".onnx" && format != ".gguf") {
    return load_text(json::read_text(path), path.string(), replaced, catalog);
  }
  if (importer_of_models() == nullptr) {
    throw unavailable(
        fmt::format("{}: this program reads no models of this kind; convert it with '{} import {}'",
                    path.string(), program_path("layerbench"), format.substr(1)));
  }
  return load_text(importer_of_models()(path), path.string(), replaced, catalog);
}

LAYERBENCH_INLINE graph load_text(const std::string& text_of_file, const std::string& name,
                                  const parameter_values& replaced, const op::catalog& catalog) {
  const json::value parsed = json::parse_text(text_of_file, name);
  const json::cursor file(parsed, name);
  file.check_keys({"$schema", "name", "title", "source", "family", "data", "studies", "aliases",
                   "inference_only", "left_out", "parameters", "passes", "layers"},
                  {"name", "layers"});
  const auto text = [&](std::string_view key) { return file.has(key) ? file[key].text() : ""; };
  graph result;
  result.name = detail::read_name(file["name"]);
  result.title = text("title");
  result.source = text("source");
  result.family = text("family");
  result.data = text("data");
  if (file.has("studies")) result.studies = file["studies"].texts();
  if (file.has("aliases")) result.aliases = file["aliases"].texts();
  result.inference_only = text("inference_only");
  result.left_out = detail::read_left_out(file);
  result.passes = detail::read_passes(file);
  if (is_sweep(result) && replaced.contains("batch")) {
    throw usage_error(
        fmt::format("--batch: '{}' is a sweep; each of its rows has its own batch", result.name));
  }
  result.defaults = detail::read_parameters(file);
  result.parameters = result.defaults;
  detail::replace_parameters(file, result, replaced, result.parameters);
  std::vector<detail::draft> drafts =
      detail::read_layers(file["layers"], catalog, detail::with_derived(file, result.parameters));
  const std::vector<std::size_t> order = detail::graph_order(drafts);
  detail::check_edges(drafts);
  if (is_sweep(result)) detail::check_sweep(drafts, result.passes);
  detail::add_layers(std::move(drafts), order, result);
  if (result.layers.empty()) file["layers"].fail("has no layer that does anything");
  if (!is_sweep(result)) detail::check_overwritten(result, file["layers"]);
  for (const layer& one : result.layers) {
    if (!result.inference_only.empty()) break;
    const std::string reason = detail::why_inference_only(one.op);
    if (!reason.empty()) result.inference_only = fmt::format("'{}' {}", one.name, reason);
  }
  return result;
}

LAYERBENCH_INLINE graph load_model(const std::filesystem::path& path,
                                   std::optional<std::int64_t> batch) {
  graph result = load(path, batch);
  if (!is_sweep(result)) return result;
  throw usage_error(fmt::format(
      "--model: '{}' is a sweep, a list of separate rows, not a model; it has no step to predict",
      result.name));
}

}  // namespace layerbench::model
