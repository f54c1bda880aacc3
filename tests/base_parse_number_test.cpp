// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <optional>
#include <string_view>

#include <gtest/gtest.h>

#include <layerbench/base/parse_number.hpp>

namespace layerbench {
namespace base_parse_number_test {

TEST(ParseNumber, NeedsTheWholeText) {
  EXPECT_EQ(parse_number<std::int64_t>("-12"), -12);
  EXPECT_EQ(parse_number<double>("1.5e3"), 1500);
  for (const std::string_view text : {"", " 1", "1 ", "+1", "0x1", "1.5", "99999999999999999999"}) {
    EXPECT_EQ(parse_number<std::int64_t>(text), std::nullopt) << text;
  }
}

TEST(TakeNumber, LeavesTheRest) {
  std::string_view text = "12..x";
  EXPECT_EQ(take_number<int>(text), 12);
  EXPECT_EQ(text, "..x");
  EXPECT_EQ(take_number<int>(text), std::nullopt);
  EXPECT_EQ(text, "..x");
}

}  // namespace base_parse_number_test
}  // namespace layerbench
