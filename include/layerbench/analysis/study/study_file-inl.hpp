// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include <layerbench/analysis/study/study_file.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/is_name.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/op/builtin.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/shape/record.hpp>
#include <layerbench/shape/record_json.hpp>

namespace layerbench::analysis {

LAYERBENCH_INLINE bool study_cell::same_step(const study_cell& other) const {
  return answerable() && other.answerable() && model == other.model && phase == other.phase &&
         batch == other.batch && dtype == other.dtype && threads == other.threads;
}

LAYERBENCH_INLINE const framework_memory* study::framework_of(const study_cell& cell) const {
  const auto found = std::ranges::find(memory.frameworks, cell.framework, &framework_memory::name);
  return found == memory.frameworks.end() ? nullptr : &*found;
}

LAYERBENCH_INLINE std::vector<std::string> list_studies(const std::filesystem::path& shapes) {
  return model::list(shapes, "studies");
}

LAYERBENCH_INLINE std::filesystem::path find_study(const std::string& name_or_path,
                                                   const std::filesystem::path& shapes) {
  return model::find_in(shapes, "studies", name_or_path, "study",
                        "or give the path of a study file");
}

namespace detail {

/// A text that must be one of `known`.
[[nodiscard]] inline std::string one_of(const json::cursor& at,
                                        const std::vector<std::string_view>& known) {
  return std::string(known[at.index_in(known)]);
}

[[nodiscard]] inline std::vector<std::string_view> known_units() {
  return {study_units.begin(), study_units.end()};
}

/// A list of at least `least` texts.
[[nodiscard]] inline std::vector<std::string> read_texts(const json::cursor& at,
                                                         std::size_t least) {
  at.require_array();
  if (at.get().size() < least) at.fail(fmt::format("expected a list of at least {} texts", least));
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < at.get().size(); ++i) {
    std::string text = at[i].text();
    if (text.empty()) at[i].fail("expected a text, found an empty one");
    if (std::ranges::find(texts, text) != texts.end()) at[i].fail("occurs twice; remove one");
    texts.push_back(std::move(text));
  }
  return texts;
}

/// The published figures of a cell, by column.
[[nodiscard]] inline std::vector<std::optional<double>> read_figures(
    const json::cursor& at, const std::vector<std::string>& columns) {
  at.check_keys({columns.begin(), columns.end()}, {});
  std::vector<std::optional<double>> figures;
  for (const std::string& column : columns) {
    if (!at.has(column)) {
      figures.emplace_back();
      continue;
    }
    const json::cursor figure = at[column];
    if (!figure.get().is_number() || figure.get().get<double>() <= 0) {
      figure.fail(
          fmt::format("expected a number above 0, found {}; leave out what was not "
                      "published",
                      figure.get().dump()));
    }
    figures.emplace_back(figure.get().get<double>());
  }
  return figures;
}

[[nodiscard]] inline std::vector<model::step_part> read_parts(const json::cursor& at) {
  std::vector<model::step_part> parts;
  const std::size_t count = read_texts(at, 1).size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t part = at[i].index_in(enum_names<model::step_part>);
    parts.push_back(static_cast<model::step_part>(part));
  }
  return parts;
}

[[nodiscard]] inline framework_memory read_framework(const json::cursor& at,
                                                     const std::vector<std::string>& columns) {
  at.require_object();
  framework_memory result;
  if (at.has("unanswered")) {
    at.check_keys({"name", "unanswered"}, {"name"});
    result.unanswered = at["unanswered"].text();
    if (result.unanswered.empty()) at["unanswered"].fail("expected a reason, found an empty text");
  } else {
    at.check_keys({"name", "policy", "contexts", "source"}, {"name", "policy", "source"});
    result.policy = static_cast<memory_policy>(at["policy"].index_in(enum_names<memory_policy>));
    result.source = at["source"].text();
    result.contexts.resize(columns.size());
    if (at.has("contexts")) result.contexts = read_figures(at["contexts"], columns);
  }
  result.name = at["name"].text();
  return result;
}

[[nodiscard]] inline study_memory read_memory(const json::cursor& at,
                                              const std::vector<std::string>& columns) {
  at.check_keys({"columns", "frameworks"}, {"columns", "frameworks"});
  study_memory result{std::vector<bool>(columns.size()), {}};
  const std::vector<std::string_view> known(columns.begin(), columns.end());
  const json::cursor compared = at["columns"];
  for (std::size_t i = 0; i < read_texts(compared, 1).size(); ++i) {
    result.compared[compared[i].index_in(known)] = true;
  }
  const json::cursor frameworks = at["frameworks"];
  frameworks.require_array();
  for (std::size_t i = 0; i < frameworks.get().size(); ++i) {
    result.frameworks.push_back(read_framework(frameworks[i], columns));
  }
  return result;
}

/// The name of the model that a cell names, perhaps by an alias.
[[nodiscard]] inline std::string read_model(const json::cursor& at,
                                            const std::filesystem::path& shapes) {
  const std::string text = at.text();
  if (!is_name(text)) at.fail(fmt::format("'{}' is no name of a model", text));
  try {
    return model::find(text, shapes).stem().string();
  } catch (const nothing_matched& e) {
    at.fail(e.what());
  }
}

/// What a cell is of, beside its step: framework, repetitions, threads, devices, ops.
inline void read_extent(const json::cursor& at, const study& of, study_cell& cell) {
  if (at.has("framework")) {
    if (cell.unit != "MiB") at["framework"].fail("is of memory; leave it out of other cells");
    std::vector<std::string_view> known;
    for (const framework_memory& one : of.memory.frameworks) known.push_back(one.name);
    cell.framework = one_of(at["framework"], known);
  }
  if (at.has("epochs")) cell.epochs = json::read_size(at["epochs"], {});
  if (at.has("steps")) {
    cell.steps = at["steps"].number();
    if (cell.steps <= 0) at["steps"].fail("expected a number above 0");
  }
  for (const char* key : {"epochs", "steps"}) {
    if (at.has(key) && !seconds_of_unit(cell.unit)) {
      at[key].fail(fmt::format("is of times; leave it out of a cell in {}", cell.unit));
    }
  }
  if (at.has("threads")) cell.threads = json::read_size(at["threads"], {});
  if (at.has("devices")) cell.devices = json::read_size(at["devices"], {});
  if (at.has("ops")) {
    cell.ops = read_texts(at["ops"], 1);
    std::vector<std::string_view> known;
    std::ranges::transform(op::builtin_catalog(), std::back_inserter(known), &op::entry::name);
    for (std::size_t i = 0; i < cell.ops.size(); ++i) {
      static_cast<void>(at["ops"][i].index_in(known));
    }
  }
  if (cell.devices > 1 && cell.unit == "share") {
    at["devices"].fail("shares are of a step on one device; leave it out");
  }
  if (cell.ops.empty() == (cell.unit == "share")) {
    at.fail("'ops' and the unit share go together: the share is of these ops");
  }
}

[[nodiscard]] inline study_cell read_cell(const json::cursor& at, const study& of,
                                          const std::filesystem::path& shapes) {
  at.require_object();
  study_cell cell;
  cell.unit = at.has("unit") ? one_of(at["unit"], known_units()) : of.unit;
  if (at.has("unanswered")) {
    at.check_keys({"label", "published", "unanswered", "unit"}, {"label", "published"});
    cell.unanswered = at["unanswered"].text();
    if (cell.unanswered.empty()) at["unanswered"].fail("expected a reason, found an empty text");
  } else {
    at.check_keys({"label", "model", "phase", "batch", "dtype", "parts", "published", "unit",
                   "epochs", "steps", "threads", "devices", "ops", "framework"},
                  {"label", "model", "phase", "batch", "published"});
    cell.model = read_model(at["model"], shapes);
    cell.phase = one_of(at["phase"], {"inference", "training"});
    cell.batch = json::read_size(at["batch"], {});
    if (at.has("dtype")) cell.dtype = at["dtype"].text();
    if (!dtype_from(cell.dtype)) {
      at["dtype"].fail(fmt::format("'{}' is no data type; expected one such as f32", cell.dtype));
    }
    if (at.has("parts")) cell.parts = read_parts(at["parts"]);
    read_extent(at, of, cell);
    if (!cell.parts.empty() &&
        (!seconds_of_unit(cell.unit) || cell.phase != "training" || cell.devices > 1)) {
      at["parts"].fail("parts are of the time of training steps on one device; leave them out");
    }
  }
  cell.label = at["label"].text();
  cell.published = read_figures(at["published"], of.columns);
  return cell;
}

}  // namespace detail

LAYERBENCH_INLINE study load_study(const std::string& name_or_path,
                                   const std::filesystem::path& shapes) {
  const std::filesystem::path file = find_study(name_or_path, shapes);
  const json::value parsed = json::parse_file(file);
  const json::cursor at(parsed, file.string());
  at.check_keys({"$schema", "name", "title", "source", "unit", "columns", "memory", "cells",
                 "unanswered", "notes"},
                {"name", "title", "source", "unit", "columns", "cells", "unanswered"});
  study result{at["name"].text(),
               at["title"].text(),
               at["source"].text(),
               detail::one_of(at["unit"], detail::known_units()),
               detail::read_texts(at["columns"], 1),
               {},
               {},
               {}};
  if (!is_name(result.name)) at["name"].fail("expected lower-case letters, digits and '_'");
  if (at.has("memory")) result.memory = detail::read_memory(at["memory"], result.columns);
  const json::cursor cells = at["cells"];
  cells.require_array();
  if (cells.get().empty()) cells.fail("expected at least one cell, found an empty list");
  for (std::size_t i = 0; i < cells.get().size(); ++i) {
    result.cells.push_back(detail::read_cell(cells[i], result, shapes));
  }
  const json::cursor unanswered = at["unanswered"];
  unanswered.require_array();
  for (std::size_t i = 0; i < unanswered.get().size(); ++i) {
    unanswered[i].check_keys({"question", "reason"}, {"question", "reason"});
    result.unanswered.push_back({unanswered[i]["question"].text(), unanswered[i]["reason"].text()});
  }
  if (at.has("notes")) result.notes = detail::read_texts(at["notes"], 0);
  return result;
}

}  // namespace layerbench::analysis
