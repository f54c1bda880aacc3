// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/base/table.hpp>
#include <layerbench/base/terminal.hpp>

/// Text fits the width of a terminal and loses nothing.
namespace layerbench {
namespace base_terminal_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::size_t widest(const std::string& text) {
  std::istringstream stream(text);
  std::size_t most = 0;
  for (std::string line; std::getline(stream, line);) most = std::max(most, display_width(line));
  return most;
}

/// The letters and digits of `text`, sorted: what must not be lost, wherever it stands.
std::string content(const std::string& text) {
  std::string kept;
  std::ranges::copy_if(text, std::back_inserter(kept),
                       [](unsigned char c) { return std::isalnum(c) != 0; });
  std::ranges::sort(kept);
  return kept;
}

table wide_table() {
  using enum align;
  return {
      {{"model"}, {"phase"}, {"backend"}, {"images per second (no padding)", right}, {"method"}},
      {{"resnet50_with_a_long_name, fusion openvino", "inference", "onednn", "123.4",
        "sum of cache:model timings, partial"},
       {"vgg16", "inference", "onednn", "12345678.9", "sum of cache:model timings"}}};
}

TEST(Terminal, LeavesTextAloneWithoutAWidth) {
  const std::string all = text(wide_table()) + std::string(300, 'x') + "\n\nend";
  EXPECT_EQ(fitted(all, 0), all);
}

TEST(Terminal, LeavesTextThatFitsAlone) {
  const std::string all = "a line\n\n  another\n" + text(wide_table()) + '\n';
  EXPECT_EQ(fitted(all, 200), all);
}

TEST(Terminal, BreaksLinesAtBlanksAndKeepsEveryWord) {
  std::string line = "  ";
  for (int i = 0; i < 40; ++i) line += "word" + std::to_string(i) + ' ';
  const std::string out = fitted(line + "\nnext\n", 60);
  EXPECT_LE(widest(out), 60U);
  EXPECT_EQ(content(out), content(line + "next"));
  EXPECT_THAT(out, HasSubstr("\n    word"));  // further lines are indented more
  EXPECT_THAT(out, ::testing::EndsWith("\nnext\n"));
}

TEST(Terminal, BreaksAWordThatIsLongerThanALine) {
  const std::string word = std::string(50, 'a') + '/' + std::string(90, 'b');
  const std::string out = fitted(word + '\n', 60);
  EXPECT_LE(widest(out), 60U);
  EXPECT_EQ(content(out), content(word));
}

TEST(Terminal, NarrowsTablesAndKeepsEveryCell) {
  for (const std::size_t columns : {60U, 80U, 100U}) {
    const std::string out = fitted(text(wide_table()), columns);
    EXPECT_LE(widest(out), columns) << out;
    EXPECT_THAT(out, HasSubstr("12345678.9")) << "numbers stay whole";
    EXPECT_THAT(out, HasSubstr("vgg16"));
  }
  EXPECT_THAT(fitted(text(wide_table()), 80), HasSubstr("all rows: phase inference, backend"));
}

TEST(Terminal, TakesNoColumnOutOfATableOfOneRow) {
  table one = wide_table();
  one.rows.resize(1);
  const std::string out = fitted(text(one), 70);
  EXPECT_LE(widest(out), 70U);
  EXPECT_EQ(content(out), content(text(one)));
}

TEST(Terminal, BreaksWordsOfATableOnlyWhereItMust) {
  const table t{{{"name"}, {"what it is"}},
                {{"mobilenet_v3_large_minimalistic", "a network of inverted residual blocks"}}};
  EXPECT_THAT(fitted(text(t), 60), AllOf(HasSubstr("| minimalistic "), HasSubstr(" inverted ")));
  table many = t;
  for (int i = 0; i < 4; ++i) {
    many.columns.push_back(t.columns[0]);
    many.rows[0].push_back(t.rows[0][0] + std::to_string(i));
  }
  const std::string out = fitted(text(many), 80);
  EXPECT_LE(widest(out), 80U) << out;
  EXPECT_EQ(content(out), content(text(many)));
}

TEST(Terminal, CountsCharactersAndNotBytes) {
  const std::string line =
      "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9";  // 20 bytes
  EXPECT_EQ(fitted(line, 60), line + '\n');
  std::string longer;
  for (int i = 0; i < 10; ++i) longer += line;
  EXPECT_LE(widest(fitted(longer, 60)), 60U);
}

TEST(Terminal, TakesOtherLinesWithBarsForText) {
  const std::string line = "| " + std::string(30, 'a') + ' ' + std::string(60, 'b') + '\n';
  EXPECT_EQ(fitted(line, 60), line);
}

}  // namespace base_terminal_test
}  // namespace layerbench
