// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/base/table.hpp>

#include <gtest/gtest.h>

namespace layerbench {
namespace base_table_test {

const table sample{{{"name"}, {"n", align::right}}, {{"conv1", "7"}, {"é", "1234"}}};

TEST(Text, AlignsColumnsByCharactersNotBytes) {
  EXPECT_EQ(text(sample),
            "| name  |    n |\n"
            "| ----- | ---: |\n"
            "| conv1 |    7 |\n"
            "| é     | 1234 |\n");
}

TEST(Text, WithoutRowsHasTheColumnTitles) {
  EXPECT_EQ(text(table{{{"a"}, {"b", align::right}}, {}}), "| a   |   b |\n| --- | --: |\n");
}

TEST(Text, IsShortenedByCharacters) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abcd", 3), "ab\u2026");
  EXPECT_EQ(shortened("\u00e4\u00f6\u00fc\u00df", 3), "\u00e4\u00f6\u2026");
}

TEST(Text, IsNarrowedByCuttingTheLastColumn) {
  const table wide{{{"name"}, {"key"}}, {{"conv1", "n:1,c:64,h:56,w:56"}, {"fc", "m:1"}}};
  EXPECT_EQ(text(narrowed(wide, 20, 4)),
            "| name  | key      |\n"
            "| ----- | -------- |\n"
            "| conv1 | n:1,c:6\u2026 |\n"
            "| fc    | m:1      |\n");
  EXPECT_EQ(narrowed(wide, 3, 4).rows[0][1], "n:1\u2026") << "the least that stays";
  EXPECT_EQ(text(narrowed(wide, 100)), text(wide));
}

TEST(Csv, SeparatesByCommasAndEndsLinesAsRfc4180Says) {
  EXPECT_EQ(csv(sample), "name,n\r\nconv1,7\r\né,1234\r\n");
}

TEST(Csv, QuotesCellsWithCommasQuotesOrLineBreaks) {
  EXPECT_EQ(csv(table{{{"a,b"}, {"c"}}, {{"say \"hi\"", "two\nlines"}, {"", " space "}}}),
            "\"a,b\",c\r\n\"say \"\"hi\"\"\",\"two\nlines\"\r\n, space \r\n");
}

}  // namespace base_table_test
}  // namespace layerbench
