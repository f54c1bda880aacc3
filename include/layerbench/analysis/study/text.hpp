// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/study/memory_figures.hpp>
#include <layerbench/analysis/study/own_figures.hpp>
#include <layerbench/analysis/study/study_file.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/shape/record.hpp>

/// A study's table as text and CSV.
namespace layerbench::analysis {

namespace detail {

/// A column that a table has where a cell has something to say in it.
struct optional_column {
  column title;
  std::string (*text)(const study_cell&);
};

[[nodiscard]] inline std::string ops_text(const study_cell& of) {
  return fmt::format("{}", fmt::join(of.ops, " + "));
}

/// A number that is not the usual one.
[[nodiscard]] inline std::string unusual(double value, double usual) {
  return value == usual ? "" : fmt::format("{}", value);
}

/// What few studies distinguish.
[[nodiscard]] inline std::vector<optional_column> optional_columns() {
  const auto threads = [](const study_cell& of) {
    return unusual(static_cast<double>(of.threads), 0);
  };
  const auto devices = [](const study_cell& of) {
    return unusual(static_cast<double>(of.devices), 1);
  };
  const auto steps = [](const study_cell& of) {
    return unusual(static_cast<double>(of.epochs) * of.steps, 1);
  };
  return {{{"threads", align::right}, threads},
          {{"devices", align::right}, devices},
          {{"steps", align::right}, steps},
          {{"share of"}, ops_text}};
}

/// The units of a study's figures, the study's own first.
[[nodiscard]] inline std::vector<std::string> units_of(const study& of,
                                                       std::span<const study_row> rows) {
  std::vector<std::string> units{of.unit};
  for (const study_row& row : rows) {
    const std::string& unit = row.cell.unit;
    if (std::ranges::find(units, unit) == units.end()) units.push_back(unit);
  }
  return units;
}

/// The columns of tables that describe cells of whole steps, which have one unit. Phase and data
/// type are columns only where they differ; what all cells have in common is the heading.
class step_columns {
 public:
  explicit step_columns(std::span<const study_row> rows)
      : phase_(common(rows, &study_cell::phase)), dtype_(common(rows, &study_cell::dtype)) {
    more_ = optional_columns();
    std::erase_if(more_, [&](const optional_column& one) {
      return std::ranges::all_of(rows,
                                 [&](const study_row& row) { return one.text(row.cell).empty(); });
    });
  }

  /// `unit` is told where it is not empty.
  [[nodiscard]] std::string heading(const std::string& unit) const {
    std::string text = phase_;
    for (const std::string& one : {dtype_, unit}) {
      if (!one.empty()) text += (text.empty() ? "" : ", ") + one;
    }
    return text.empty() ? "" : text + "\n\n";
  }
  [[nodiscard]] std::vector<column> titles() const {
    std::vector<column> columns{{"cell"}, {"model"}};
    if (phase_.empty()) columns.push_back({"phase"});
    columns.push_back({"batch", align::right});
    if (dtype_.empty()) columns.push_back({"dtype"});
    for (const optional_column& one : more_) columns.push_back(one.title);
    return columns;
  }
  [[nodiscard]] std::vector<std::string> cells(const study_cell& of) const {
    std::vector<std::string> texts{of.label, of.model};
    if (phase_.empty()) texts.push_back(of.phase);
    texts.push_back(of.answerable() ? std::to_string(of.batch) : "");
    if (dtype_.empty()) texts.push_back(of.answerable() ? of.dtype : "");
    for (const optional_column& one : more_) texts.push_back(one.text(of));
    return texts;
  }

 private:
  /// What all answerable cells have; empty if they differ.
  [[nodiscard]] static std::string common(std::span<const study_row> rows,
                                          std::string study_cell::* member) {
    std::string value;
    for (const study_row& row : rows) {
      if (!row.cell.answerable()) continue;
      if (!value.empty() && value != row.cell.*member) return "";
      value = row.cell.*member;
    }
    return value;
  }

  std::string phase_;
  std::string dtype_;
  std::vector<optional_column> more_;
};

[[nodiscard]] inline std::string figure_text(const own_figure& own) {
  if (!own.value) return own.reason;
  const int digits = own.disturbed > result::mostly_disturbed
                         ? format::known_digits(*own.value, own.low, own.high)
                         : format::most_digits;
  std::string text = format::figure(*own.value, digits);
  if (own.low < own.high) {
    text += fmt::format(" ({} to {})", format::significant(own.low, digits),
                        format::significant(own.high, digits));
  }
  return own.disturbed > result::much_disturbed ? text + ", disturbed" : text;
}

/// Whether a machine has figures of those cells alone that name threads, or of those that do not,
/// unlike `row`.
[[nodiscard]] inline bool is_of_other_cells(const std::string& machine, const study_row& row,
                                            std::span<const study_row> rows) {
  return std::ranges::none_of(rows, [&](const study_row& other) {
    return (other.cell.threads == 0) == (row.cell.threads == 0) &&
           figure_of_machine(other, machine) != nullptr;
  });
}

/// What one of `rows` has for a machine: a figure, or why there is none. Nothing if its figure is
/// under another name of the machine, with or without threads.
[[nodiscard]] inline std::string own_text(const study_row& row, const std::string& machine,
                                          std::span<const study_row> rows) {
  if (!row.cell.answerable()) return "cannot be answered: " + row.cell.unanswered;
  const own_figure* const own = figure_of_machine(row, machine);
  if (own != nullptr) return figure_text(*own);
  if (!row.reason.empty()) return row.reason;
  return is_of_other_cells(machine, row, rows) ? "" : "not measured";
}

[[nodiscard]] inline std::string part_names(const study_cell& cell) {
  std::vector<std::string_view> names;
  for (const model::step_part part : cell.parts) names.push_back(name(part));
  return fmt::format("{}", fmt::join(names, " + "));
}

[[nodiscard]] inline std::string own_title(const std::string& machine) {
  return machine.empty() ? "this machine" : fmt::format("this machine ({})", machine);
}

/// The machines of the rows; one without a name if there is none.
[[nodiscard]] inline std::vector<std::string> machine_columns(std::span<const study_row> rows) {
  std::vector<std::string> names = machines(rows);
  if (names.empty()) names.emplace_back();
  return names;
}

/// Whether a column of the study has a figure in the rows.
[[nodiscard]] inline bool has_figure(std::span<const study_row> rows, std::size_t column) {
  return std::ranges::any_of(
      rows, [&](const study_row& row) { return row.cell.published[column].has_value(); });
}

/// The cells of one step: a column for each cell, a row for each system, the last for this machine.
[[nodiscard]] inline std::string table_of_parts(const study& of, std::span<const study_row> rows,
                                                const std::vector<std::string>& machines) {
  const study_cell& first = rows.front().cell;
  table t{{{"system"}}, {}};
  for (const study_row& row : rows) t.columns.push_back({part_names(row.cell), align::right});
  for (std::size_t i = 0; i < of.columns.size(); ++i) {
    if (!has_figure(rows, i)) continue;
    std::vector<std::string> cells{of.columns[i]};
    for (const study_row& row : rows) cells.push_back(format::exact(row.cell.published[i]));
    t.rows.push_back(std::move(cells));
  }
  for (const std::string& machine : machines) {
    std::vector<std::string> cells{own_title(machine)};
    for (const study_row& row : rows) cells.push_back(own_text(row, machine, rows));
    t.rows.push_back(std::move(cells));
  }
  return fmt::format("{}: {} {}, batch {}, {}\n\n{}\n", first.label, first.model, first.phase,
                     first.batch, first.dtype, layerbench::text(t));
}

/// Cells of whole steps: a row for each cell, a column for each system, the last for this machine.
[[nodiscard]] inline table wide_table(const study& of, std::span<const study_row> rows,
                                      const std::vector<std::size_t>& columns,
                                      const std::vector<std::string>& machines) {
  const step_columns described(rows);
  table t{described.titles(), {}};
  for (const std::size_t i : columns) t.columns.push_back({of.columns[i], align::right});
  for (const std::string& machine : machines) t.columns.push_back({own_title(machine)});
  for (const study_row& row : rows) {
    std::vector<std::string> cells = described.cells(row.cell);
    for (const std::size_t i : columns) cells.push_back(format::exact(row.cell.published[i]));
    for (const std::string& machine : machines) cells.push_back(own_text(row, machine, rows));
    t.rows.push_back(std::move(cells));
  }
  return t;
}

/// Cells of memory: published figures, and beside those of one device what is predicted.
[[nodiscard]] inline table memory_table(const study& of, std::span<const study_row> rows,
                                        const std::vector<std::size_t>& columns) {
  const step_columns described(rows);
  table t{described.titles(), {}};
  for (const std::size_t i : columns) {
    t.columns.push_back({of.columns[i], align::right});
    if (!of.memory.compared[i]) continue;
    t.columns.push_back({"predicted", align::right});
    t.columns.push_back({"error", align::right});
  }
  t.columns.push_back({"policy"});
  for (const study_row& row : rows) {
    std::vector<std::string> cells = described.cells(row.cell);
    for (const std::size_t i : columns) {
      cells.push_back(format::exact(row.cell.published[i]));
      if (!of.memory.compared[i]) continue;
      const auto found = std::ranges::find(row.memory, i, &memory_figure::column);
      const bool known = found != row.memory.end();
      cells.push_back(known ? fmt::format("{:.0f}", found->value) : "");
      cells.push_back(known ? format::signed_percent(found->error) : "");
    }
    cells.push_back(row.memory.empty() ? "cannot be answered: " + row.reason
                                       : std::string(name(row.memory.front().policy)));
    t.rows.push_back(std::move(cells));
  }
  return t;
}

/// Cells of whole steps: for each cell a row for each system that has a figure, then for this
/// machine.
[[nodiscard]] inline table long_table(const study& of, std::span<const study_row> rows,
                                      const std::vector<std::string>& machines) {
  const step_columns described(rows);
  table t{described.titles(), {}};
  const std::vector<std::string> blank(t.columns.size());
  t.columns.push_back({"system"});
  t.columns.push_back({rows.front().cell.unit});
  for (const study_row& row : rows) {
    std::vector<std::string> begin = described.cells(row.cell);
    const auto add = [&](const std::string& system, const std::string& figure) {
      std::vector<std::string> cells = std::exchange(begin, blank);
      cells.insert(cells.end(), {system, figure});
      t.rows.push_back(std::move(cells));
    };
    for (std::size_t i = 0; i < of.columns.size(); ++i) {
      if (row.cell.published[i]) add(of.columns[i], format::exact(row.cell.published[i]));
    }
    for (const std::string& machine : machines)
      add(own_title(machine), own_text(row, machine, rows));
  }
  return t;
}

/// Cells of whole steps. Many systems are rows, since as columns they would not fit a terminal.
[[nodiscard]] inline std::string table_of_steps(const study& of, std::span<const study_row> rows,
                                                const std::vector<std::string>& machines) {
  constexpr std::size_t most_columns = 6;
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < of.columns.size(); ++i) {
    if (has_figure(rows, i)) columns.push_back(i);
  }
  const table t = !all_memory(rows).empty()       ? memory_table(of, rows, columns)
                  : columns.size() > most_columns ? long_table(of, rows, machines)
                                                  : wide_table(of, rows, columns, machines);
  const std::string& unit = rows.front().cell.unit;
  return step_columns(rows).heading(unit == of.unit ? "" : unit) + layerbench::text(t) + '\n';
}

/// How far the predicted memory of each framework is from the published one, and why others have
/// none. Empty for a study without figures of memory.
[[nodiscard]] inline std::string memory_errors_text(const study& of,
                                                    std::span<const study_row> rows) {
  using enum align;
  table t{{{"framework"},
           {"policy"},
           {"beside"},
           {"contexts, MiB", right},
           {"figures", right},
           {"below live", right},
           {"mean error, %", right},
           {"bias, %", right}},
          {}};
  for (const memory_error& one : memory_errors(of, all_memory(rows))) {
    t.rows.push_back(
        {one.like.framework, std::string(name(one.like.policy)), of.columns[one.like.column],
         one.like.contexts ? format::exact(one.like.contexts) : "unknown",
         std::to_string(one.figures), std::to_string(one.below_live),
         fmt::format("{:.1f}", 100 * one.mean), fmt::format("{:+.1f}", 100 * one.bias)});
  }
  if (t.rows.empty()) return "";
  std::string text =
      "memory, errors by framework\n\n" + layerbench::text(t) +
      "\nbelow live: published figures below the tensors that are live at the peak of a step with "
      "momentum. They are no peaks, or of another step\n";
  for (const framework_memory& one : of.memory.frameworks) {
    if (one.policy) text += fmt::format("memory of {}: {}\n", one.name, one.source);
  }
  return text;
}

}  // namespace detail

/// The study's own table, with this machine beside the published systems, and what it leaves open.
[[nodiscard]] inline std::string text(const study& of, std::span<const study_row> rows) {
  std::string out = fmt::format("{}\nsource: {}\nunit: {}\n\n", of.title, of.source,
                                fmt::join(detail::units_of(of, rows), ", "));
  for (std::size_t i = 0; i < rows.size();) {
    const bool of_parts = !rows[i].cell.parts.empty();
    std::size_t end = i + 1;
    const std::string& unit = rows[i].cell.unit;
    while (end < rows.size() && !rows[end].cell.parts.empty() == of_parts &&
           rows[end].cell.unit == unit && (!of_parts || rows[end].cell.same_step(rows[i].cell))) {
      ++end;
    }
    const std::span<const study_row> together = rows.subspan(i, end - i);
    const std::vector<std::string> machines = detail::machine_columns(together);
    out += of_parts ? detail::table_of_parts(of, together, machines)
                    : detail::table_of_steps(of, together, machines);
    i = end;
  }
  out += detail::memory_errors_text(of, rows);
  for (const std::string& note : of.notes) out += fmt::format("note: {}\n", note);
  for (const auto& [question, reason] : of.unanswered) {
    out += fmt::format("cannot be answered: {}: {}\n", question, reason);
  }
  return out;
}

/// One record per cell and figure: a system's published one, or one of this machine.
[[nodiscard]] inline table records(const study& of, std::span<const study_row> rows) {
  table t = table_with_columns(
      "study label model phase batch dtype parts unit system published own low high reason epochs "
      "steps threads devices ops");
  const auto add = [&](const study_row& row, std::vector<std::string> rest) {
    const study_cell& cell = row.cell;
    std::vector<std::string> cells{of.name,
                                   cell.label,
                                   cell.model,
                                   cell.phase,
                                   cell.answerable() ? std::to_string(cell.batch) : "",
                                   cell.answerable() ? cell.dtype : "",
                                   detail::part_names(cell),
                                   cell.unit};
    cells.insert(cells.end(), rest.begin(), rest.end());
    cells.insert(cells.end(),
                 {std::to_string(cell.epochs), fmt::format("{}", cell.steps),
                  cell.threads > 0 ? std::to_string(cell.threads) : "",
                  std::to_string(cell.devices), fmt::format("{}", fmt::join(cell.ops, " "))});
    t.rows.push_back(std::move(cells));
  };
  for (const study_row& row : rows) {
    for (std::size_t i = 0; i < of.columns.size(); ++i) {
      const std::optional<double> figure = row.cell.published[i];
      if (!figure) continue;
      const auto memory = std::ranges::find(row.memory, i, &memory_figure::column);
      const bool predicted = memory != row.memory.end();
      add(row, {of.columns[i], format::exact(figure), predicted ? format::exact(memory->value) : "",
                "", "", ""});
    }
    if (row.own.empty() && row.memory.empty())
      add(row, {detail::own_title(""), "", "", "", "", row.reason});
    for (const own_figure& own : row.own) {
      const auto bound = [&](double value) {
        return own.low < own.high ? format::exact(value) : "";
      };
      add(row, {detail::own_title(own.machine), "", format::exact(own.value), bound(own.low),
                bound(own.high), own.reason});
    }
  }
  return t;
}

}  // namespace layerbench::analysis
