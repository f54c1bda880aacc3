// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/number_format.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/model/reuse_distance.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/model/totals.hpp>
#include <layerbench/model/training.hpp>
#include <layerbench/result/short_names.hpp>
#include <layerbench/shape/record_json.hpp>

#include "model_options.hpp"

namespace layerbench::tool {
namespace {

/// Orders of the table: as the step runs, by name and op; by cost, largest first.
enum class show_order : std::uint8_t { step, name, op, macs, flops, bytes };

constexpr std::array<std::string_view, 6> list_names(show_order /*tag*/) {
  return {"step", "name", "op", "macs", "flops", "bytes"};
}

struct show_options {
  bool wide = false;
  std::size_t top = 0;  ///< rows of the table; 0: all
  show_order order = show_order::step;
};

/// A model's step in one phase.
struct shown_step {
  model::graph graph;
  std::string phase;
  model::step step;
  std::int64_t macs = 0;
  std::int64_t footprint = 0;  ///< bytes of its tensors
};

shown_step step_to_show(const model::graph& graph, const std::string& phase, dtype type) {
  shown_step result{graph, phase, model::step_of(graph, phase, type, model::usually_in_place())};
  for (const model::call& call : result.step.calls) result.macs += call.op.work(call.pass).macs;
  result.footprint = model::step_memory(result.step, model::least_operand_bytes(type)).footprint();
  return result;
}

/// The names of the calls whose results each call reads; the model's input has no name.
std::vector<std::vector<std::string>> producers(const model::step& step) {
  std::vector<std::string> writers(step.tensors);
  std::vector<std::vector<std::string>> all;
  for (const model::call& call : step.calls) {
    const std::vector<op::operand> operands = step.operands_of(call);
    std::vector<std::string>& names = all.emplace_back();
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].role != op::role::source) continue;
      for (const std::size_t tensor : step.parts_of(call.tensors[i])) {
        if (!writers[tensor].empty()) names.push_back(writers[tensor]);
      }
    }
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].role == op::role::destination) {
        writers[call.tensors[i]] = model::call_name(call.layer, name(call.pass));
      }
    }
  }
  return all;
}

std::int64_t bytes(const shown_step& of, const model::call& call) {
  return op::least_bytes(of.step.operands_of(call));
}

/// The positions of the calls that the table shows.
std::vector<std::size_t> rows_of(const shown_step& of, const show_options& how) {
  const auto call = [&](std::size_t i) -> const model::call& { return of.step.calls[i]; };
  const auto text_key = [&](std::size_t i) {
    return how.order == show_order::name ? model::call_name(call(i).layer, op::name(call(i).pass))
                                         : std::string(call(i).op.name());
  };
  const auto cost = [&](std::size_t i) {
    if (how.order == show_order::bytes) return bytes(of, call(i));
    const op::work work = call(i).op.work(call(i).pass);
    return how.order == show_order::macs ? work.macs : work.flops;
  };
  std::vector<std::size_t> rows(of.step.calls.size());
  std::iota(rows.begin(), rows.end(), 0);
  switch (how.order) {
    case show_order::step: break;
    case show_order::name:
    case show_order::op: std::ranges::stable_sort(rows, {}, text_key); break;
    case show_order::macs:
    case show_order::flops:
    case show_order::bytes: std::ranges::stable_sort(rows, std::ranges::greater{}, cost); break;
  }
  if (how.top > 0 && rows.size() > how.top) rows.resize(how.top);
  return rows;
}

json::value to_json(const shown_step& of, const model::totals& totals) {
  json::value layers = json::value::array();
  const auto after = producers(of.step);
  for (std::size_t i = 0; i < of.step.calls.size(); ++i) {
    const model::call& call = of.step.calls[i];
    const op::work work = call.op.work(call.pass);
    layers.push_back({{"name", call.layer},
                      {"op", call.op.name()},
                      {"pass", op::name(call.pass)},
                      {"key", call.op.key()},
                      {"shape", json::write_fields(call.op.fields())},
                      {"macs", work.macs},
                      {"flops", work.flops},
                      {"bytes", bytes(of, call)},
                      {"after", after[i]}});
    if (call.op.own_type()) layers.back()["type"] = name(*call.op.own_type());
  }
  const auto text_length = [&](std::string_view name) {
    const auto value = model::parameter(of.graph, name);
    return value ? json::value(*value) : json::value();
  };
  return {{"schema", 1},
          {"model", of.graph.name},
          {"title", of.graph.title},
          {"source", of.graph.source},
          {"left_out", of.graph.left_out ? json::value(*of.graph.left_out) : json::value()},
          {"family", of.graph.family},
          {"data", of.graph.data},
          {"studies", of.graph.studies},
          {"aliases", of.graph.aliases},
          {"phase", of.phase.empty() ? json::value() : json::value(of.phase)},
          {"fusion", of.graph.fusion.empty() ? json::value() : json::value(of.graph.fusion)},
          {"batch", is_sweep(of.graph) ? json::value() : json::value(model::batch(of.graph))},
          {"tokens", text_length("tokens")},
          {"context", text_length("context")},
          {"parameters", totals.parameters},
          {"macs", of.macs},
          {"conv_layers", totals.conv_layers},
          {"unique_conv_shapes", totals.unique_conv_shapes},
          {"activations", totals.activations},
          {"footprint_bytes", of.footprint},
          {"layers", layers}};
}

/// What matters first, in lines of 100 columns.
table short_table(const shown_step& of, const std::vector<std::size_t>& rows) {
  using enum align;
  table t{{{"name"}, {"op"}, {"macs", right}, {"bytes", right}, {"key"}}, {}};
  for (const std::size_t i : rows) {
    const model::call& call = of.step.calls[i];
    t.rows.push_back({result::short_joined(model::call_name(call.layer, op::name(call.pass))),
                      std::string(call.op.name()),
                      units::si(static_cast<double>(call.op.work(call.pass).macs), ""),
                      units::si(static_cast<double>(bytes(of, call)), "B"), call.op.key()});
  }
  constexpr std::size_t most = 100;
  return narrowed(std::move(t), most);
}

table whole_table(const shown_step& of, const std::vector<std::size_t>& rows, bool exact) {
  using enum align;
  table t{{{"name"},
           {"op"},
           {"pass"},
           {"macs", right},
           {"flops", right},
           {"bytes", right},
           {"key"},
           {"after"}},
          {}};
  const auto number = [&](std::int64_t value, std::string_view unit) {
    return exact ? std::to_string(value) : units::si(static_cast<double>(value), unit);
  };
  const auto after = producers(of.step);
  for (const std::size_t i : rows) {
    const model::call& call = of.step.calls[i];
    const op::work work = call.op.work(call.pass);
    t.rows.push_back({call.layer, std::string(call.op.name()), std::string(op::name(call.pass)),
                      number(work.macs, ""), number(work.flops, ""), number(bytes(of, call), "B"),
                      call.op.key(), fmt::format("{}", fmt::join(after[i], " "))});
  }
  return t;
}

std::string to_text(const shown_step& of, const model::totals& totals, const show_options& how) {
  std::string kind;
  for (const auto& [label, value] :
       {std::pair<std::string, std::string>{"family", of.graph.family},
        {"data", of.graph.data},
        {"studies", fmt::format("{}", fmt::join(of.graph.studies, " "))},
        {"aliases", fmt::format("{}", fmt::join(of.graph.aliases, " "))}}) {
    if (!value.empty()) kind += fmt::format("{}{}: {}", kind.empty() ? "" : "; ", label, value);
  }
  if (!kind.empty()) kind += '\n';
  std::string conditions = is_sweep(of.graph)
                               ? "each row with its own batch"
                               : fmt::format("{}, batch {}", of.phase, model::batch(of.graph));
  for (const std::string_view name : model::text_parameters) {
    if (const auto value = model::parameter(of.graph, name)) {
      conditions += fmt::format(", {} {}", name, *value);
    }
  }
  if (!of.graph.fusion.empty()) conditions += ", fusion plan " + of.graph.fusion;
  const std::string title = of.graph.title.empty() ? "" : of.graph.title + ", ";
  const std::string partial =
      of.graph.left_out ? "partial: " + format::left_out(*of.graph.left_out) + '\n' : "";
  const std::string source = of.graph.source.empty() ? "" : "sizes from: " + of.graph.source + '\n';
  return fmt::format(
      "{}: {}{}\n{}{}{}{} parameters, {} MACs, {} activations; {} conv "
      "layers of {} distinct shapes; all tensors of a step: {}; bytes: least traffic of a call in "
      "{}\n\n{}",
      of.graph.name, title, conditions, partial, source, kind, totals.parameters, of.macs,
      totals.activations, totals.conv_layers, totals.unique_conv_shapes,
      units::si(static_cast<double>(of.footprint), "B"), name(of.step.type),
      text(how.wide ? whole_table(of, rows_of(of, how), false)
                    : short_table(of, rows_of(of, how))));
}

std::string render(const shown_step& of, const std::string& format, const show_options& how) {
  if (format == "csv") return csv(whole_table(of, rows_of(of, how), true));
  const model::totals totals = model::count(of.graph);
  return format == "json" ? to_json(of, totals).dump(2) + '\n' : to_text(of, totals, how);
}

}  // namespace

void add_show(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("show", "Shows a model: its totals and what a step of it runs");
  const auto options = std::make_shared<show_options>();
  const auto asked = std::make_shared<model_options>();
  add_model(*command, asked, "Name of a model or sweep, or path of a shape file or an ONNX model");
  command->add_flag("--wide", options->wide,
                    "Show all columns and whole keys: also FLOPs, and the calls whose results "
                    "each call reads");
  add_table_options(*command, options->top, options->order);
  const std::shared_ptr<const common_options> common = add_common(*command);
  command->callback([common, options, asked] {
    const model::graph graph = load(*asked, *common);
    const std::string phase = is_sweep(graph) ? "" : asked->phase.value_or("inference");
    write(*common, render(step_to_show(graph, phase, asked->type()), common->format, *options));
  });
}

}  // namespace layerbench::tool
