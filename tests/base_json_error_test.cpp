// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>

#include <layerbench/base/json.hpp>
#include <layerbench/base/json_error.hpp>

#include "support/mentions.hpp"

namespace layerbench::json {
namespace base_json_error_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::mentions;
using ::testing::Not;
using ::testing::StartsWith;

/// The message for `text`, read as a list of texts.
std::string told(const std::string& text) {
  try {
    static_cast<void>(value::parse(text).at(0).get<std::string>());
  } catch (const std::exception& e) {
    return plain_words(e);
  }
  return "nothing";
}

TEST(PlainWords, NameTheLineAndTheColumn) {
  EXPECT_THAT(told("[1,\n  tru]"), mentions("2", "6"));
  EXPECT_THAT(told("[1,"), mentions("1", "4"));
}

TEST(PlainWords, LeaveOutThoseOfTheLibrary) {
  for (const char* text : {"[1,\n  tru]", "[1,", "", "[1e999]", "[]", "[7]", "7", "{\"a\":1}"}) {
    EXPECT_THAT(told(text), AllOf(Not(HasSubstr("exception")), Not(HasSubstr("while parsing")),
                                  Not(StartsWith(" ")), Not(StartsWith("["))))
        << text;
  }
}

TEST(PlainWords, KeepOtherTexts) {
  EXPECT_EQ(plain_words(std::runtime_error("disk full - really")), "disk full - really");
}

}  // namespace base_json_error_test
}  // namespace layerbench::json
