// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/base/json.hpp>

#include "program.hpp"

/// Access to the contents of report pages.
namespace layerbench::testing {

using strings = std::vector<std::string>;

/// A Python program that parses a page as XML and prints its contents as JSON.
inline constexpr auto page_reader = R"(
import json, re, sys
from xml.etree import ElementTree
page = ElementTree.parse(sys.argv[1]).getroot()
text = lambda of: ''.join(of.itertext())
def broken(of):  # its text with blanks where a browser may break it
    inner = (of.text or '') + ''.join(broken(each) + (each.tail or '') for each in of)
    return ' ' + inner if of.tag == 'wbr' else inner
sections = {id(part): section.get('id') for section in page.iter('section')
            for part in section.iter() if part.tag in ('table', 'svg')}
print(json.dumps({
    'tags': sorted({each.tag for each in page.iter()}),
    'attributes': sorted({name for each in page.iter() for name in each.attrib}),
    'ids': [each.get('id') for each in page.iter() if each.get('id')],
    'links': [each.get('href') for each in page.iter() if each.get('href')],
    'fills': [each.get('fill') for each in page.iter() if 'url' in each.get('fill', '')],
    'headings': [each.tag + ' ' + text(each) for each in page.iter() if each.tag in ('h1', 'h2')],
    'sections': [each.get('id') for each in page.iter('section')],
    'captions': [text(each.find('caption')) for each in page.iter('table')],
    'tables': [[sections[id(each)], [[text(cell) for cell in row] for row in each.iter('tr')]]
               for each in page.iter('table')],
    'shapes': [{'class': each.get('class'), 'titles': [text(cell) for cell in each.iter('th')
                                                       if cell.get('scope') == 'col'],
                'labels': [[cell.get('data-label') for cell in row if cell.tag == 'td']
                           for row in each.find('tbody')],
                'parts': [part for row in each.iter('tr') for cell in row
                          for part in re.split('[ \n-]', broken(cell))]}
               for each in page.iter('table')],
    'charts': sorted({each.get('class', '') for each in page.iter('svg')
                      if each.get('role') == 'img'}),
    'scopes': sorted({each.get('scope', 'none') for each in page.iter('th')}),
    'drawings': [[sections[id(each)], [text(label) for label in each.iter('text')]]
                 for each in page.iter('svg') if each.get('role') == 'img'],
    'unnamed': [each.get('class') for each in page.iter('svg')
                if each.get('role') != 'img' and each.get('aria-hidden') != 'true']}))
)";

/// The contents of a page.
inline json::value read_page(const std::string& page) {
  const temporary_directory scratch;
  const std::string path = scratch.write("page.html", page).string();
  const outcome done = run(LAYERBENCH_PYTHON, {"-c", page_reader, path});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  return done.exit_code == 0 ? json::value::parse(done.out) : json::value();
}

/// The rows of a table, without the header row: table number `index` of the innermost section that
/// has this id.
inline std::vector<strings> rows(const json::value& page, const std::string& section,
                                 std::size_t index = 0) {
  for (const json::value& table : page.at("tables")) {
    if (table.at(0) != section || index-- > 0) continue;
    auto all = table.at(1).get<std::vector<strings>>();
    all.erase(all.begin());
    return all;
  }
  ADD_FAILURE() << "no such table in section " << section;
  return {};
}

}  // namespace layerbench::testing
