// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/table.hpp>
#include <layerbench/shape/json.hpp>

/// HTML elements whose text is always escaped.
namespace layerbench::report {

/// HTML in which all text is escaped and all elements are closed, so that it is also valid XML.
struct markup {
  std::string html;

  markup& operator+=(const markup& other) {
    html += other.html;
    return *this;
  }
  friend markup operator+(markup first, const markup& second) {
    first += second;
    return first;
  }
};

namespace detail {

/// `text` as UTF-8 that is valid in XML: invalid bytes and control characters become U+FFFD.
[[nodiscard]] inline std::string printable(std::string_view text) {
  constexpr auto replace = json::value::error_handler_t::replace;
  const auto valid =
      json::value::parse(json::value(text).dump(-1, ' ', false, replace)).get<std::string>();
  std::string clean;
  for (const char c : valid) {
    const auto byte = static_cast<unsigned char>(c);
    const bool control = (byte < 0x20U && c != '\n' && c != '\t') || byte == 0x7fU;
    clean += control ? "\xef\xbf\xbd" : std::string(1, c);
  }
  return clean;
}

}  // namespace detail

/// `text` escaped for use in an element or an attribute.
[[nodiscard]] inline markup escaped(std::string_view text) {
  markup result;
  for (const char c : detail::printable(text)) {
    switch (c) {
      case '&': result.html += "&amp;"; break;
      case '<': result.html += "&lt;"; break;
      case '>': result.html += "&gt;"; break;
      case '"': result.html += "&quot;"; break;
      case '\'': result.html += "&#39;"; break;
      default: result.html += c;
    }
  }
  return result;
}

struct attribute {
  std::string_view name;
  std::string value;
};

/// `<tag name="value">inner</tag>`
[[nodiscard]] inline markup element(std::string_view tag, const markup& inner,
                                    const std::vector<attribute>& attributes = {}) {
  std::string opening(tag);
  for (const auto& [name, value] : attributes) {
    opening += fmt::format(" {}=\"{}\"", name, escaped(value).html);
  }
  return {fmt::format("<{}>{}</{}>", opening, inner.html, tag)};
}

/// `inner` in a box that scrolls if the page is narrower.
[[nodiscard]] inline markup wide(const markup& inner, const std::string& label) {
  return element("div", inner,
                 {{"class", "wide"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", label}});
}

namespace detail {

[[nodiscard]] inline std::vector<attribute> cell_class(const column& of) {
  if (of.alignment == align::left) return {};
  return {{"class", "number"}};
}

}  // namespace detail

/// The table with its caption. The first cell of a row is its heading; `heads`, if given, replace
/// the first cells.
[[nodiscard]] inline markup to_html(const table& t, const std::string& caption,
                                    const std::vector<markup>& heads = {}) {
  markup titles;
  for (const column& column : t.columns) {
    std::vector<attribute> with = detail::cell_class(column);
    with.push_back({"scope", "col"});
    titles += element("th", escaped(column.title), with);
  }
  markup rows;
  for (std::size_t i = 0; i < t.rows.size(); ++i) {
    const std::vector<std::string>& cells = t.rows[i];
    markup row =
        element("th", i < heads.size() ? heads[i] : escaped(cells.front()), {{"scope", "row"}});
    for (std::size_t k = 1; k < cells.size(); ++k) {
      row += element("td", escaped(cells[k]), detail::cell_class(t.columns[k]));
    }
    rows += element("tr", row) + markup{"\n"};
  }
  return wide(
      element("table", element("caption", escaped(caption)) +
                           element("thead", element("tr", titles)) + element("tbody", rows)),
      caption);
}

/// A list of texts; nothing if it is empty.
[[nodiscard]] inline markup to_html(const std::vector<std::string>& texts) {
  markup items;
  for (const std::string& text : texts) items += element("li", escaped(text));
  return texts.empty() ? markup{} : element("ul", items);
}

}  // namespace layerbench::report
