// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/base/table.hpp>

/// HTML elements whose text is always escaped.
namespace layerbench::report {

/// HTML in which all text is escaped and all elements are closed, so that it is also valid XML.
struct markup {
  std::string html;

  markup& operator+=(const markup& other);
  friend markup operator+(markup first, const markup& second) {
    first += second;
    return first;
  }
};

namespace detail {

/// `text` as UTF-8 that is valid in XML: invalid bytes and harmful characters become U+FFFD.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace detail

/// `text` escaped for use in an element or an attribute.
[[nodiscard]] markup escaped(std::string_view text);

struct attribute {
  std::string_view name;
  std::string value;
};

/// `<tag name="value">inner</tag>`
[[nodiscard]] markup element(std::string_view tag, const markup& inner,
                             const std::vector<attribute>& attributes = {});

/// `text` escaped, with places where a browser may break a long name.
[[nodiscard]] markup breakable(std::string_view text);

/// Cells of HTML under titled columns. Every row has one cell per column.
struct markup_table {
  std::vector<column> columns;
  std::vector<std::vector<markup>> rows;
};

[[nodiscard]] markup_table to_markup(const table& t);

/// What becomes of a table of many columns on a narrow screen: a list, whose cells have the titles
/// of their columns as labels, or a table that scrolls.
enum class when_narrow : std::uint8_t { list, scroll };

/// The table with its caption. The first cell of a row is its heading.
[[nodiscard]] markup to_html(const markup_table& t, const std::string& caption,
                             when_narrow form = when_narrow::list);

[[nodiscard]] inline markup to_html(const table& t, const std::string& caption) {
  return to_html(to_markup(t), caption);
}

/// A list of texts; nothing if it is empty.
[[nodiscard]] markup to_html(const std::vector<std::string>& texts);

}  // namespace layerbench::report

#ifndef LAYERBENCH_COMPILED
#include <layerbench/report/html-inl.hpp>
#endif
