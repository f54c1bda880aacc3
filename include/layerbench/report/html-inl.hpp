// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/report/html.hpp>

namespace layerbench::report {

LAYERBENCH_INLINE markup& markup::operator+=(const markup& other) {
  html += other.html;
  return *this;
}

namespace detail {

/// Whether a character must not reach a page: controls (of terminals, too), those that turn the
/// direction of the text after them, and what XML does not allow.
[[nodiscard]] inline bool is_harmful(std::uint32_t c) {
  const bool control = (c < 0x20U && c != '\n' && c != '\t') || (0x7fU <= c && c < 0xa0U);
  const bool direction = (0x202aU <= c && c <= 0x202eU) || (0x2066U <= c && c <= 0x2069U) ||
                         c == 0x200eU || c == 0x200fU;
  return control || direction || c == 0xfffeU || c == 0xffffU;
}

LAYERBENCH_INLINE std::string printable(std::string_view text) {
  constexpr auto replace = json::value::error_handler_t::replace;
  const auto valid =
      json::value::parse(json::value(text).dump(-1, ' ', false, replace)).get<std::string>();
  std::string clean;
  for (std::size_t i = 0; i < valid.size();) {
    const auto lead = static_cast<unsigned char>(valid[i]);
    const std::size_t size = lead < 0x80U ? 1 : lead < 0xe0U ? 2 : lead < 0xf0U ? 3 : 4;
    std::uint32_t c = size == 1 ? lead : lead & (0xffU >> (size + 1));
    for (std::size_t k = 1; k < size; ++k) {
      c = c << 6U | (static_cast<unsigned char>(valid[i + k]) & 0x3fU);
    }
    clean += is_harmful(c) ? "\xef\xbf\xbd" : valid.substr(i, size);
    i += size;
  }
  return clean;
}

}  // namespace detail

LAYERBENCH_INLINE markup escaped(std::string_view text) {
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

LAYERBENCH_INLINE markup element(std::string_view tag, const markup& inner,
                                 const std::vector<attribute>& attributes) {
  std::string opening(tag);
  for (const auto& [name, value] : attributes) {
    opening += fmt::format(" {}=\"{}\"", name, escaped(value).html);
  }
  return {fmt::format("<{}>{}</{}>", opening, inner.html, tag)};
}

LAYERBENCH_INLINE markup breakable(std::string_view text) {
  constexpr std::size_t longest = 24;  // characters without such a place
  markup result;
  std::string part;
  std::size_t unbroken = 0;
  const auto end_part = [&] {
    result += escaped(part);
    part.clear();
  };
  for (const char c : detail::printable(text)) {
    const bool continues = (static_cast<unsigned char>(c) & 0xc0U) == 0x80U;
    if (unbroken >= longest && !continues) {
      end_part();
      result.html += "<wbr/>";
      unbroken = 0;
    }
    part += c;
    if (!continues) ++unbroken;
    if (c == ' ' || c == '-') unbroken = 0;  // browsers break there
    if (std::string_view("_/:+=;,").find(c) != std::string_view::npos) unbroken = longest;
  }
  end_part();
  return result;
}

LAYERBENCH_INLINE markup_table to_markup(const table& t) {
  markup_table result{t.columns, {}};
  for (const std::vector<std::string>& cells : t.rows) {
    std::vector<markup>& row = result.rows.emplace_back();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool is_number = t.columns[i].alignment == align::right;
      row.push_back(is_number ? escaped(cells[i]) : breakable(cells[i]));
    }
  }
  return result;
}

LAYERBENCH_INLINE markup to_html(const markup_table& t, const std::string& caption) {
  constexpr std::size_t fits_everywhere = 3;  // columns
  const bool has_many = t.columns.size() > fits_everywhere;
  const auto attributes_of = [](const column& of) {
    std::vector<attribute> all;
    if (of.alignment == align::right) all.push_back({"class", "number"});
    return all;
  };
  markup titles;
  for (const column& column : t.columns) {
    std::vector<attribute> with = attributes_of(column);
    with.push_back({"scope", "col"});
    titles += element("th", escaped(column.title), with);
  }
  markup rows;
  for (const std::vector<markup>& cells : t.rows) {
    markup row = element("th", cells.front(), {{"scope", "row"}});
    for (std::size_t i = 1; i < cells.size(); ++i) {
      std::vector<attribute> with = attributes_of(t.columns[i]);
      if (has_many) with.push_back({"data-label", t.columns[i].title});
      row += element("td", cells[i], with);
    }
    rows += element("tr", row) + markup{"\n"};
  }
  return element("table",
                 element("caption", escaped(caption)) + element("thead", element("tr", titles)) +
                     element("tbody", rows),
                 {{"class", has_many ? "many" : "few"}});
}

LAYERBENCH_INLINE markup to_html(const std::vector<std::string>& texts) {
  markup items;
  for (const std::string& text : texts) items += element("li", escaped(text));
  return texts.empty() ? markup{} : element("ul", items);
}

}  // namespace layerbench::report
