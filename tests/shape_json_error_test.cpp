// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>

#include <layerbench/shape/json.hpp>
#include <layerbench/shape/json_error.hpp>

namespace layerbench::json {
namespace shape_json_error_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// What a reader is told of `text`, read as a list of numbers.
std::string told(const std::string& text) {
  try {
    static_cast<void>(value::parse(text).at(0).get<std::string>());
  } catch (const std::exception& e) {
    return plain_words(e);
  }
  return "nothing";
}

TEST(PlainWords, SayWhereATextIsNoJson) {
  EXPECT_THAT(told("[1,\n  tru]"),
              AllOf(StartsWith("line 2, column "), HasSubstr("invalid literal")));
  EXPECT_THAT(told("[1,"), AllOf(StartsWith("line 1, column 4: "), HasSubstr("end of input")));
}

TEST(PlainWords, LeaveOutTheLibrarysOwn) {
  for (const char* text : {"[1,\n  tru]", "[1,", "", "[1e999]", "[]", "[7]", "7", "{\"a\":1}"}) {
    EXPECT_THAT(told(text), AllOf(Not(HasSubstr("exception")), Not(HasSubstr("while parsing")),
                                  Not(StartsWith(" ")), Not(StartsWith("["))))
        << text;
  }
}

TEST(PlainWords, KeepOtherTexts) {
  EXPECT_EQ(plain_words(std::runtime_error("disk full - really")), "disk full - really");
}

}  // namespace shape_json_error_test
}  // namespace layerbench::json
