// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <vector>

#include <sys/ioctl.h>
#include <unistd.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/parse_number.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/base/terminal.hpp>

namespace layerbench {

LAYERBENCH_INLINE std::size_t window_columns(int file) {
  winsize window{};
  return ::ioctl(file, TIOCGWINSZ, &window) == 0 ? window.ws_col : 0;
}

LAYERBENCH_INLINE std::size_t terminal_columns() {
  constexpr std::size_t least = 60;
  if (::isatty(STDOUT_FILENO) != 1) return 0;
  std::size_t columns = 0;
  if (const char* set = std::getenv("COLUMNS")) {
    std::string_view text = set;
    columns = take_number<std::size_t>(text).value_or(0);
  }
  if (columns == 0) columns = window_columns(STDOUT_FILENO);
  return columns == 0 ? 0 : std::max(columns, least);
}

namespace detail {

/// Columns that a table's lines take beside its cells.
[[nodiscard]] inline std::size_t frame_of(const table& t) { return 1 + 3 * t.columns.size(); }

/// `text` in lines of at most `most` columns, broken at blanks; words that are longer are broken
/// behind a '/', ',', '_' or '+', or anywhere.
[[nodiscard]] inline std::vector<std::string> broken(std::string_view text, std::size_t most) {
  std::vector<std::string> lines;
  while (display_width(text) > most) {
    std::size_t end = 0;  // bytes of the first `most` columns
    for (std::size_t seen = 0; seen < most || (text[end] & 0xC0) == 0x80; ++end) {
      seen += display_width(text.substr(end, 1));
    }
    const std::size_t blank = text.substr(0, end + 1).rfind(' ');
    const std::size_t mark = text.substr(0, end).find_last_of("/,_+");
    const bool at_blank = blank != std::string_view::npos && blank > 0;
    const bool at_mark = !at_blank && mark != std::string_view::npos && mark > 0;
    const std::size_t cut = at_blank ? blank : at_mark ? mark + 1 : end;
    lines.emplace_back(text.substr(0, cut));
    text.remove_prefix(cut + (at_blank ? 1 : 0));
  }
  lines.emplace_back(text);
  return lines;
}

/// A line of a text, its continuation indented by two blanks more than the line itself.
[[nodiscard]] inline std::string fitted_line(const std::string& line, std::size_t most) {
  if (display_width(line) <= most) return line + '\n';
  const std::size_t indent = std::min(line.find_first_not_of(' '), most / 2);
  const std::string next(indent + 2, ' ');
  std::string out;
  for (const std::string& part : broken(line.substr(indent), most - next.size())) {
    out += (out.empty() ? std::string(indent, ' ') : next) + part + '\n';
  }
  return out;
}

/// The cells of a line that text(const table&) wrote.
[[nodiscard]] inline std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  constexpr std::string_view between = " |";
  std::size_t begin = 1;
  for (std::size_t end = 0; (end = line.find(between, begin)) != std::string::npos;) {
    const std::string cell = line.substr(begin, end - begin);
    const std::size_t first = cell.find_first_not_of(' ');
    const std::size_t last = cell.find_last_not_of(' ');
    cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
    begin = end + between.size();
  }
  return cells;
}

/// The table that text(const table&) wrote as `lines`; without columns if it wrote none of them.
[[nodiscard]] inline table parsed(const std::vector<std::string>& lines) {
  table t;
  if (lines.size() < 2) return t;
  const std::vector<std::string> rule = cells_of(lines[1]);
  const bool is_rule = std::ranges::all_of(rule, [](const std::string& cell) {
    return !cell.empty() && cell.find_first_not_of("-:") == std::string::npos;
  });
  const std::vector<std::string> titles = cells_of(lines[0]);
  if (!is_rule || titles.size() != rule.size()) return t;
  for (std::size_t i = 2; i < lines.size(); ++i) {
    t.rows.push_back(cells_of(lines[i]));
    if (t.rows.back().size() != titles.size()) return {};
  }
  for (std::size_t i = 0; i < titles.size(); ++i) {
    t.columns.push_back({titles[i], rule[i].ends_with(':') ? align::right : align::left});
  }
  return t;
}

/// Takes columns whose cells are all equal out of a table of several rows, until it fits; returns
/// them as one line of text, such as "phase inference, dtype f32".
[[nodiscard]] inline std::string take_equal_columns(table& t, std::size_t most) {
  std::string taken;
  for (std::size_t i = 1; i < t.columns.size() && t.rows.size() > 1;) {
    const std::vector<std::size_t> all = widths(t);
    if (std::reduce(all.begin(), all.end()) + frame_of(t) <= most) break;
    const std::string value = t.rows.front()[i];
    const auto same = [&](const auto& row) { return row[i] == value; };
    if (!std::ranges::all_of(t.rows, same)) {
      ++i;
      continue;
    }
    if (!value.empty()) taken += (taken.empty() ? "" : ", ") + t.columns[i].title + ' ' + value;
    const auto at = static_cast<std::ptrdiff_t>(i);
    t.columns.erase(t.columns.begin() + at);
    for (auto& row : t.rows) row.erase(row.begin() + at);
  }
  return taken;
}

/// Columns that the longest word of a text takes; broken() also breaks behind some marks.
[[nodiscard]] inline std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" /,_+"), text.size() - 1) + 1;
    const std::size_t blank = text[end - 1] == ' ' ? 1 : 0;
    longest = std::max(longest, display_width(text.substr(0, end)) - blank);
    text.remove_prefix(end);
  }
  return longest;
}

/// Makes the widest columns narrower, down to `smallest` each, until a table's lines take `most`.
inline void narrow(std::vector<std::size_t>& widths, const std::vector<std::size_t>& smallest,
                   std::size_t frame, std::size_t most) {
  std::size_t sum = std::reduce(widths.begin(), widths.end()) + frame;
  for (; sum > most; --sum) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const bool wider = widest == widths.size() || widths[i] > widths[widest];
      if (widths[i] > smallest[i] && wider) widest = i;
    }
    if (widest == widths.size()) return;
    --widths[widest];
  }
}

/// The widths at which a table fits. Words are broken where that does not suffice, but numbers stay
/// whole, so that a table of many may still be too wide.
[[nodiscard]] inline std::vector<std::size_t> narrower_widths(const table& t, std::size_t most) {
  constexpr std::size_t least = 8;
  std::vector<std::size_t> of_words(t.columns.size(), least);
  std::vector<std::size_t> smallest = of_words;
  for (std::size_t i = 0; i < t.columns.size(); ++i) {
    const bool numbers = t.columns[i].alignment == align::right;
    of_words[i] = std::max(of_words[i], longest_word(t.columns[i].title));
    for (const auto& row : t.rows) {
      const std::size_t whole = numbers ? display_width(row[i]) : longest_word(row[i]);
      of_words[i] = std::max(of_words[i], whole);
    }
    if (numbers) smallest[i] = of_words[i];
  }
  std::vector<std::size_t> all = widths(t);
  narrow(all, of_words, frame_of(t), most);
  narrow(all, smallest, frame_of(t), most);
  return all;
}

/// A table in at most `most` columns, where that is possible: columns of equal cells stand above
/// it, and cells take several lines.
[[nodiscard]] inline std::string fitted_table(table t, std::size_t most) {
  const std::string equal = take_equal_columns(t, most);
  const std::vector<std::size_t> widths = narrower_widths(t, most);
  const auto row_text = [&](const std::vector<std::string>& cells) {
    std::vector<std::vector<std::string>> parts;
    std::size_t height = 1;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      parts.push_back(broken(cells[i], widths[i]));
      height = std::max(height, parts.back().size());
    }
    std::string out;
    for (std::size_t line = 0; line < height; ++line) {
      out += '|';
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string part = line < parts[i].size() ? parts[i][line] : "";
        out += ' ' + padded(part, widths[i], t.columns[i].alignment) + " |";
      }
      out += '\n';
    }
    return out;
  };
  std::vector<std::string> titles;
  std::vector<std::string> rule;
  for (std::size_t i = 0; i < t.columns.size(); ++i) {
    titles.push_back(t.columns[i].title);
    const bool right = t.columns[i].alignment == align::right;
    rule.push_back(std::string(widths[i] - (right ? 1 : 0), '-') + (right ? ":" : ""));
  }
  std::string out = equal.empty() ? "" : fitted_line("all rows: " + equal, most);
  out += row_text(titles) + row_text(rule);
  for (const auto& row : t.rows) out += row_text(row);
  return out;
}

}  // namespace detail

LAYERBENCH_INLINE std::string fitted(const std::string& text, std::size_t columns) {
  if (columns == 0) return text;
  std::vector<std::string> lines;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    lines.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const auto is_row = [](const std::string& line) { return line.starts_with('|'); };
  std::string out;
  for (auto line = lines.begin(); line != lines.end();) {
    const auto end = std::find_if_not(line, lines.end(), is_row);
    const std::vector<std::string> rows(line, end);
    const auto too_wide = [&](const std::string& row) { return display_width(row) > columns; };
    const table t = std::ranges::any_of(rows, too_wide) ? detail::parsed(rows) : table{};
    if (!t.columns.empty()) {
      out += detail::fitted_table(t, columns);
    } else {
      for (const std::string& row : rows) out += row + '\n';
    }
    line = end;
    if (line != lines.end()) out += detail::fitted_line(*line++, columns);
  }
  return out;
}

}  // namespace layerbench
