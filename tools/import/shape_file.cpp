// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "shape_file.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include <fmt/ranges.h>

#include <layerbench/model/graph.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/shape/record_json.hpp>

namespace layerbench::tool::importer {
namespace {

// A model is converted at two batches. Sizes that differ are multiples of the batch. Both are
// primes above a million, so that no other size is likely to have one as a factor.
constexpr std::int64_t batches[] = {1'000'003, 1'000'033};

[[nodiscard]] bool has_equal_weights(const op::any& one, const op::any& other) {
  const auto extents = [](const op::any& op) {
    return model::detail::of_role(op, op::role::weights).front().extents;
  };
  return extents(one) == extents(other);
}

/// The layers as the file has them.
json::value layers_of(const conversion& created) {
  json::value all = json::value::array();
  for (std::size_t i = 0; i < created.layers.size(); ++i) {
    const layer& of = created.layers[i];
    json::value entry{{"name", of.name}, {"op", std::string(of.op.name())}};
    const std::optional<std::size_t> before = i == 0 ? std::nullopt : std::optional(i - 1);
    if (of.inputs != std::vector{before}) {
      json::value after = json::value::array();
      for (const auto& input : of.inputs) {
        if (input) after.push_back(created.layers[*input].name);
      }
      entry["after"] = std::move(after);
    }
    entry["shape"] = json::write_fields(of.op.fields());
    const auto end = created.layers.begin() + static_cast<std::ptrdiff_t>(i);
    const auto other = std::find_if(created.layers.begin(), end, [&](const layer& one) {
      return of.weights && one.weights == of.weights && has_equal_weights(one.op, of.op);
    });
    if (other != end) entry["weights_of"] = other->name;
    all.push_back(std::move(entry));
  }
  return all;
}

/// Layers as JSON, and the batch that they are of.
struct layers_at {
  std::int64_t batch;
  json::value layers;
};

/// A size that two batches agree on: a number, "batch", or a product of both. Null if there is
/// none.
json::value common_size(std::int64_t first, std::int64_t first_batch, std::int64_t second,
                        std::int64_t second_batch) {
  json::value factors = json::value::array();
  while (first != second && first % first_batch == 0 && second % second_batch == 0 &&
         factors.size() < 4) {
    factors.push_back("batch");
    first /= first_batch;
    second /= second_batch;
  }
  if (first != second) return {};
  if (factors.empty()) return first;
  if (first != 1) factors.push_back(first);
  return factors.size() == 1 ? factors[0] : factors;
}

/// What two conversions of a file have in common; nothing if the batch is not a factor of sizes.
std::optional<json::value> merged(const layers_at& first, const layers_at& second) {
  const json::value& a = first.layers;
  const json::value& b = second.layers;
  if (a.is_number_integer() && b.is_number_integer()) {
    json::value size =
        common_size(a.get<std::int64_t>(), first.batch, b.get<std::int64_t>(), second.batch);
    return size.is_null() ? std::nullopt : std::optional(std::move(size));
  }
  if (!a.is_structured()) return a == b ? std::optional(a) : std::nullopt;
  if (a.type() != b.type() || a.size() != b.size()) return std::nullopt;
  json::value result = a;
  auto one = a.items().begin();
  auto other = b.items().begin();
  for (json::value& into : result) {
    auto common = one.key() == other.key()
                      ? merged({first.batch, one.value()}, {second.batch, other.value()})
                      : std::nullopt;
    if (!common) return std::nullopt;
    into = std::move(*common);
    ++one;
    ++other;
  }
  return result;
}

/// The input of that name; the only one without a name. Throws usage_error.
value& input_named(graph& g, const given_input& given) {
  const auto is_it = [&](std::size_t i) { return g.values[i].name == given.name; };
  const auto found = std::ranges::find_if(g.inputs, is_it);
  if (found != g.inputs.end()) return g.values[*found];
  if (given.name.empty() && g.inputs.size() == 1) return g.values[g.inputs[0]];
  std::vector<std::string> names;
  for (const std::size_t i : g.inputs) names.push_back(in_quotes(g.values[i].name));
  throw usage_error(fmt::format("--input: {} has no input {}; its inputs: {}", g.file,
                                in_quotes(given.name), fmt::join(names, ", ")));
}

/// Gives inputs the extents that the user wants. An open first extent stays the batch, and its size
/// becomes the usual one. Throws usage_error for extents that the file contradicts.
void give_extents(graph& g, import_options& options) {
  for (const given_input& given : options.inputs) {
    value& of = input_named(g, given);
    if (!of.extents) of.extents.emplace(given.extents.size());
    if (of.extents->size() != given.extents.size()) {
      throw usage_error(fmt::format("--input: {} has {} axes, not {}", in_quotes(of.name),
                                    of.extents->size(), given.extents.size()));
    }
    for (std::size_t i = 0; i < given.extents.size(); ++i) {
      named_size& one = (*of.extents)[i];
      const std::string& text = given.extents[i];
      const auto size = size_of(text);
      const auto refuse = [&](const std::string& has) {
        throw usage_error(
            fmt::format("--input: axis {} of {} is {}, not {}", i, in_quotes(of.name), has, text));
      };
      if (!size) {
        if (one.size >= 0 && text != "batch") refuse(std::to_string(one.size));
        one = {-1, text};
      } else if (one.size >= 0) {
        if (one.size != *size) refuse(std::to_string(one.size));
      } else if (!one.name.empty()) {
        if (options.bound.try_emplace(one.name, *size).first->second != *size) {
          refuse(std::to_string(options.bound.at(one.name)));
        }
      } else if (i > 0 || options.batch.value_or(*size) != *size) {
        one.size = *size;
      } else {
        options.batch = size;
      }
    }
  }
}

/// Throws usage_error for a bound name that no axis of an input has.
void check_bound(const graph& g, const import_options& options) {
  for (const auto& [name, size] : options.bound) {
    const auto has_name = [&](const named_size& one) { return one.size < 0 && one.name == name; };
    const auto of_input = [&](std::size_t i) {
      const auto& extents = g.values[i].extents;
      return extents && std::ranges::any_of(*extents, has_name);
    };
    if (std::ranges::any_of(g.inputs, of_input)) continue;
    throw usage_error(fmt::format("--bind: no axis of an input is named {}", in_quotes(name)));
  }
}

/// The name of the batch, or the number that the file has instead.
sizes sizes_of(const graph& g, const import_options& options) {
  sizes result;
  result.named = options.bound;
  if (g.is_traced) {
    result.batch_name = "batch";
    return result;
  }
  for (const std::size_t i : g.inputs) {
    const auto& extents = g.values[i].extents;
    if (!extents) continue;
    for (const named_size& one : *extents) {
      if (one.size < 0 && one.name == "batch") result.batch_name = one.name;
    }
  }
  if (g.inputs.empty() || !result.batch_name.empty()) return result;
  const auto& extents = g.values[g.inputs[0]].extents;
  if (!extents || extents->empty()) return result;
  const named_size& first = extents->front();
  result.batch_name = first.size < 0 ? first.name : "";
  result.batch_in_file = std::max<std::int64_t>(0, first.size);
  return result;
}

struct converted {
  conversion created;
  layers_at at;
};

converted convert_at(const graph& g, sizes of, std::int64_t batch, bool softmax) {
  of.batch = batch;
  conversion created = convert(g, of, softmax);
  json::value layers = layers_of(created);
  return {std::move(created), {batch, std::move(layers)}};
}

/// The conversion at any batch. Throws bad_input if sizes depend on the batch in another way.
converted convert_at_both(const graph& g, const sizes& of, bool softmax) {
  converted first = convert_at(g, of, batches[0], softmax);
  auto common = merged(first.at, convert_at(g, of, batches[1], softmax).at);
  if (!common) {
    throw bad_input(g.file, "graph",
                    "sizes depend on the batch in another way than as a multiple of it; write the "
                    "model with a fixed batch");
  }
  first.at.layers = std::move(*common);
  return first;
}

/// Whether a size is larger than shape files allow.
bool has_large_size(const json::value& of) {
  if (of.is_structured()) return std::ranges::any_of(of, has_large_size);
  return of.is_number_integer() && of > max_size;
}

/// Whether two conversions have the same graph of ops, with results as large at their batches.
bool is_same_graph(const converted& a, const converted& b) {
  const std::vector<layer>& first = a.created.layers;
  const std::vector<layer>& second = b.created.layers;
  const auto results = [](const layer& of) { return elements(result_extents(of.op)); };
  return std::ranges::equal(first, second, [&](const layer& one, const layer& other) {
    return one.op.name() == other.op.name() && one.inputs == other.inputs &&
           !common_size(results(one), a.at.batch, results(other), b.at.batch).is_null();
  });
}

/// The conversion of a file with a fixed batch. It gets the parameter `batch` only if its graph is
/// then the one that the file has at its own batch.
converted convert_fixed(const graph& g, const sizes& of, bool softmax, bool& varies) {
  sizes fixed = of;
  fixed.batch_in_file = 0;
  fixed.batch_varies = false;
  converted result = convert_at(g, fixed, of.batch_in_file, softmax);
  try {
    converted any = convert_at_both(g, of, softmax);
    varies = is_same_graph(any, result);
    if (varies) result = std::move(any);
  } catch (const bad_input&) {
    varies = false;  // its sizes hold for this batch only
  }
  const std::string of_file = fmt::format("the file has a batch of {}; ", of.batch_in_file);
  ++result.created
        .notes[of_file + (varies ? "the first extents that follow it are the parameter batch"
                                 : "other sizes depend on it, so the shape file has no "
                                   "parameter batch")];
  return result;
}

std::string one_line(const json::value& of) {
  std::string inner;
  if (of.is_object()) {
    for (const auto& [key, one] : of.items()) {
      inner += fmt::format("{}{}: {}", inner.empty() ? "" : ", ", json::value(key).dump(),
                           one_line(one));
    }
    return "{ " + inner + " }";
  }
  // As ASCII, which every reader takes.
  if (!of.is_array()) return of.dump(-1, ' ', true, json::value::error_handler_t::replace);
  for (const json::value& one : of) inner += (inner.empty() ? "" : ", ") + one_line(one);
  return "[" + inner + "]";
}

/// Reads what was written, as programs will. Throws bad_input for sizes that they refuse.
void read_back(const imported& of, const std::string& file) {
  try {
    static_cast<void>(model::load_text(of.text, file));
  } catch (const error& wrong) {
    const std::string_view said = wrong.what();
    constexpr std::string_view layers = "/layers/";
    const std::size_t at = said.find(layers);
    std::size_t number = 0;
    if (at != std::string_view::npos) {
      std::from_chars(said.data() + at + layers.size(), said.data() + said.size(), number);
    }
    const bool names_layer = at != std::string_view::npos && number < of.created.layers.size();
    throw bad_input(
        file, "graph",
        fmt::format("its shape file would be refused{}: {}",
                    names_layer ? " for the layer " + of.created.layers[number].name : "", said));
  }
}

/// An extent for people, such as "batchx2".
std::string text_of(const named_size& one) {
  if (one.size >= 0) return std::to_string(one.size);
  return one.factor == 1 ? one.name : fmt::format("{}x{}", one.name, one.factor);
}

std::string inputs_text(const graph& g) {
  std::vector<std::string> all;
  for (const std::size_t i : g.inputs) {
    std::vector<std::string> extents;
    if (g.values[i].extents) {
      for (const named_size& one : *g.values[i].extents) {
        extents.push_back(text_of(one));
      }
    }
    if (!extents.empty()) extents.erase(extents.begin());
    all.push_back(fmt::format("({})", fmt::join(extents, ", ")));
  }
  return printable(fmt::format("{}", fmt::join(all, ", "))).substr(0, 200);
}

imported converted_file(graph g, import_options options) {
  give_extents(g, options);
  check_bound(g, options);
  const sizes of = sizes_of(g, options);
  bool varies = true;
  converted found = of.batch_in_file > 0 ? convert_fixed(g, of, options.softmax, varies)
                                         : convert_at_both(g, of, options.softmax);
  if (has_large_size(found.at.layers)) {
    throw bad_input(g.file, "graph", fmt::format("a layer has a size above {}", max_size));
  }
  if (options.batch && !varies) {
    throw usage_error(fmt::format("--batch: the sizes in {} are those of a batch of {} alone",
                                  g.file, of.batch_in_file));
  }
  conversion& created = found.created;
  std::string lacks;
  for (const auto& [key, of_kind] : created.unknown) {
    lacks += fmt::format("{}{} ({})", lacks.empty() ? "; incomplete, without " : ", ", key,
                         of_kind.count);
  }
  const std::string& called = options.name.empty() ? g.name : options.name;
  json::value header{{"name", legal_name(called)},
                     {"title", options.title.empty()
                                   ? printable(fmt::format("{}, input {}", called, inputs_text(g)))
                                   : options.title},
                     {"source", printable(g.source + lacks)}};
  if (created.folded_batchnorms > 0) {
    header["inference_only"] = fmt::format(
        "batch norm is folded into the weights of {} layers; export the model with its batch norm",
        created.folded_batchnorms);
  }
  if (const auto lacks_flops = left_out(created)) {
    // Rounded down: at least.
    header["left_out"] = std::floor(std::min(1.0, share_of(*lacks_flops, created)) * 1e4) / 1e4;
  }
  if (varies) {
    const auto bound = options.bound.find(of.batch_name);
    const std::int64_t from_file = std::max(g.batch, of.batch_in_file);
    const std::int64_t usual = bound == options.bound.end() ? from_file : bound->second;
    header["parameters"] = {{"batch", options.batch.value_or(usual)}};
  }
  imported result;
  result.text = shape_file_text(header, found.at.layers);
  for (const layer& one : created.layers) {
    for (const op::operand& weights : model::detail::of_role(one.op, op::role::weights)) {
      result.parameters += elements(weights.extents);
    }
  }
  result.created = std::move(created);
  if (!found.at.layers.empty()) read_back(result, g.file);
  return result;
}

}  // namespace

std::optional<std::int64_t> size_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_size =
      failed == std::errc() && end == text.data() + text.size() && value > 0 && value <= max_size;
  return is_size ? std::optional(value) : std::nullopt;
}

std::string shape_file_text(const json::value& header, const json::value& layers) {
  std::string text = "{\n";
  for (const auto& [key, one] : header.items()) {
    text += fmt::format("  {}: {},\n", json::value(key).dump(), one_line(one));
  }
  text += "  \"layers\": [\n";
  for (std::size_t i = 0; i < layers.size(); ++i) {
    text += fmt::format("    {}{}\n", one_line(layers[i]), i + 1 == layers.size() ? "" : ",");
  }
  return text + "  ]\n}\n";
}

std::string model_name_of(const std::string& file) {
  const std::string name = legal_name(std::filesystem::path(file).stem().string());
  return name.empty() ? "model" : name;
}

imported shape_file_of(graph g, const import_options& options) {
  const std::string file = g.file;
  try {
    return converted_file(std::move(g), options);
  } catch (const std::overflow_error& wrong) {
    throw bad_input(file, "graph", wrong.what());
  }
}

}  // namespace layerbench::tool::importer
