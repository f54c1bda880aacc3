// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/base/parse_number.hpp>
#include <layerbench/base/split.hpp>
#include <layerbench/shape/dims.hpp>

#include "logged_call.hpp"
#include "read_log.hpp"

namespace layerbench::tool::importer {
namespace {

/// A tag of XML: its name, with '/' if it ends an element, and its attributes.
struct xml_tag {
  std::string_view name;
  std::map<std::string_view, std::string> attributes = {};
  std::string_view text = {};  ///< up to the next tag

  [[nodiscard]] std::string_view operator[](std::string_view attribute) const {
    const auto found = attributes.find(attribute);
    return found == attributes.end() ? std::string_view{} : found->second;
  }
};

/// The text of an attribute with XML's five named characters.
std::string unescaped(std::string_view text) {
  constexpr std::pair<std::string_view, char> names[]{
      {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&amp;", '&'}};
  std::string result;
  while (!text.empty()) {
    const auto found =
        std::ranges::find_if(names, [&](const auto& one) { return text.starts_with(one.first); });
    result += found == std::end(names) ? text.front() : found->second;
    text.remove_prefix(found == std::end(names) ? 1 : found->first.size());
  }
  return result;
}

/// Takes the next tag from the text; nothing at its end or if it is cut.
std::optional<xml_tag> take_tag(std::string_view& text) {
  const auto drop = [&](std::size_t count) { text.remove_prefix(std::min(count, text.size())); };
  drop(text.find('<'));
  drop(1);
  const std::size_t end = text.find_first_of(" \t\r\n>");
  xml_tag tag{text.substr(0, end)};
  drop(end);
  while (!text.empty() && text.front() != '>') {
    const std::size_t equals = text.find_first_of("=>");
    if (equals == std::string_view::npos) return std::nullopt;
    if (text[equals] == '>') {
      drop(equals);
      break;
    }
    std::string_view name = text.substr(0, equals);
    name.remove_prefix(std::min(name.find_first_not_of(" \t\r\n"), name.size()));
    drop(equals + 1);
    const char quote = text.empty() ? '\0' : text.front();
    const std::size_t close = text.find(quote, 1);
    if ((quote != '"' && quote != '\'') || close == std::string_view::npos) return std::nullopt;
    tag.attributes.emplace(name, unescaped(text.substr(1, close - 1)));
    drop(close + 1);
  }
  if (text.empty()) return std::nullopt;
  drop(1);
  tag.text = text.substr(0, text.find('<'));
  return tag;
}

/// A layer of an execution graph.
struct graph_layer {
  logged_call call = {};
  std::string orders = {};  ///< of its results
  std::optional<double> microseconds = {};
  std::int64_t position = 0;                         ///< among the layers that run
  std::vector<std::string> reads = {}, writes = {};  ///< ports
};

/// Reads the tags of an execution graph.
class graph_reader {
 public:
  void read(const xml_tag& tag) {
    if (tag.name == "layer") {
      layer_ = &layers_[std::string(tag["id"])];
      *layer_ = {};
      layer_->call.op = tag["type"];
      layer_->call.implementation = tag["name"];
    } else if (tag.name == "edge") {
      connect(tag);
    } else if (layer_ != nullptr) {
      read_part(tag);
    }
  }

  /// The layers that have a time, in the order in which they ran.
  [[nodiscard]] std::vector<graph_layer> take() {
    std::vector<graph_layer> all;
    for (auto& [id, layer] : layers_) {
      if (!layer.call.op.empty() && layer.microseconds) all.push_back(std::move(layer));
    }
    std::ranges::stable_sort(all, {}, &graph_layer::position);
    return all;
  }

 private:
  void read_part(const xml_tag& tag) {
    std::vector<logged_operand>& operands = writes_ ? layer_->call.outputs : layer_->call.inputs;
    if (tag.name == "data") {
      layer_->call.implementation =
          fmt::format("{} {}", tag["primitiveType"], layer_->call.implementation);
      layer_->orders = tag["outputLayouts"];
      layer_->microseconds = result::verbose_number(tag["execTimeMcs"]);
      layer_->position = parse_number<std::int64_t>(tag["execOrder"]).value_or(0);
    } else if (tag.name == "input" || tag.name == "output") {
      writes_ = tag.name == "output";
    } else if (tag.name == "port") {
      std::vector<std::string>& ports = writes_ ? layer_->writes : layer_->reads;
      const std::vector<std::string_view> orders = split(layer_->orders, ',');
      std::string type(tag["precision"]);
      std::ranges::transform(type, type.begin(),
                             [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      if (type.starts_with("fp")) type.erase(1, 1);
      operands.push_back({.type = std::move(type)});
      if (writes_ && ports.size() < orders.size()) operands.back().order = orders[ports.size()];
      ports.emplace_back(tag["id"]);
    } else if (tag.name == "dim" && !operands.empty()) {
      const auto size = parse_number<std::int64_t>(tag.text);
      operands.back().extents.push_back(std::clamp<std::int64_t>(size.value_or(1), 1, max_size));
    }
  }

  /// A tensor has the memory order in which it was written.
  void connect(const xml_tag& tag) {
    const auto from = layers_.find(tag["from-layer"]);
    const auto to = layers_.find(tag["to-layer"]);
    if (from == layers_.end() || to == layers_.end()) return;
    const auto result = std::ranges::find(from->second.writes, tag["from-port"]);
    const auto source = std::ranges::find(to->second.reads, tag["to-port"]);
    if (result == from->second.writes.end() || source == to->second.reads.end()) return;
    to->second.call.inputs[static_cast<std::size_t>(source - to->second.reads.begin())].order =
        from->second.call.outputs[static_cast<std::size_t>(result - from->second.writes.begin())]
            .order;
  }

  std::map<std::string, graph_layer, std::less<>> layers_;
  graph_layer* layer_ = nullptr;
  bool writes_ = false;  ///< the ports that follow
};

result::verbose_log empty_log(std::string file) {
  result::verbose_log log;
  log.file = std::move(file);
  log.library = "OpenVINO";
  return log;
}

}  // namespace

result::verbose_log read_execution_graph(const std::filesystem::path& path) {
  const std::string all = json::read_text(path);
  result::verbose_log log = empty_log(path.string());
  graph_reader reader;
  std::string_view text = all;
  std::string_view last;
  while (const auto tag = take_tag(text)) {
    reader.read(*tag);
    last = tag->name;
  }
  for (const graph_layer& one : reader.take()) {
    log.records.push_back({log.primitives.size(), *one.microseconds * 1e-6});
    log.primitives.push_back(primitive_of(one.call));
  }
  if (log.records.empty()) {
    throw bad_input(log.file, "", "has no layer with a time; compile the model with PERF_COUNT");
  }
  if (last != "/net") log.notes.emplace_back("the log is cut; the rest is not read");
  log.notes.emplace_back(no_attributes);
  return log;
}

result::verbose_log read_counters(std::istream& text, std::string file) {
  result::verbose_log log = empty_log(std::move(file));
  std::map<std::string, std::size_t> known;
  for (std::string line; std::getline(text, line);) {
    if (line.ends_with('\r')) line.pop_back();
    std::vector<std::string_view> f = split(line, ';');
    if (f.back().empty()) f.pop_back();  // the C++ program ends lines with the separator
    // Names of layers may have the separator.
    constexpr std::size_t fields = 6;  // name, status, type, implementation, real and CPU time
    if (f.size() < fields) continue;
    f.erase(f.begin() + 1, f.end() - (fields - 1));
    if (f[1] != "EXECUTED" && f[1] != "Status.EXECUTED") continue;
    const auto ms = result::verbose_number(f[4]);
    if (!ms) ++log.damaged;
    if (!ms) continue;
    const auto end = static_cast<std::size_t>(f[1].data() - line.data()) - 1;
    const std::string name = line.substr(0, end);
    const auto [found, is_new] =
        known.try_emplace(fmt::format("{};{};{}", name, f[2], f[3]), log.primitives.size());
    if (is_new) {
      log.primitives.push_back(primitive_of({std::string(f[2]), fmt::format("{} {}", f[3], name)}));
    }
    log.records.push_back({found->second, *ms * 1e-3});
  }
  if (log.records.empty()) throw bad_input(log.file, "", "has no layer that was executed");
  log.notes.emplace_back("the counters have no sizes; the execution graph has them");
  return log;
}

}  // namespace layerbench::tool::importer
