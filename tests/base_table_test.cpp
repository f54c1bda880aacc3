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

TEST(Csv, SeparatesByCommasAndEndsLinesAsRfc4180Says) {
  EXPECT_EQ(csv(sample), "name,n\r\nconv1,7\r\né,1234\r\n");
}

TEST(Csv, QuotesCellsWithCommasQuotesOrLineBreaks) {
  EXPECT_EQ(csv(table{{{"a,b"}, {"c"}}, {{"say \"hi\"", "two\nlines"}, {"", " space "}}}),
            "\"a,b\",c\r\n\"say \"\"hi\"\"\",\"two\nlines\"\r\n, space \r\n");
}

}  // namespace base_table_test
}  // namespace layerbench
