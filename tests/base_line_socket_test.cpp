// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gmock/gmock.h>

#include <layerbench/base/line_socket.hpp>

namespace layerbench {
namespace base_line_socket_test {

TEST(LineSocket, CarriesLinesBothWays) {
  const auto [a, b] = line_socket::pair();
  EXPECT_FALSE(b->has_input());
  a->send("run this");
  a->send("");
  EXPECT_TRUE(b->has_input());
  EXPECT_EQ(b->receive(), "run this");
  EXPECT_EQ(b->receive(), "");
  b->send("done");
  EXPECT_EQ(a->receive(), "done");
  EXPECT_FALSE(a->at_end());
}

TEST(LineSocket, TellsThatTheOtherEndIsGone) {
  auto [a, b] = line_socket::pair();
  b->send("last");
  b.reset();
  EXPECT_FALSE(a->at_end()) << "a line is left";
  EXPECT_EQ(a->receive(), "last");
  EXPECT_TRUE(a->has_input());
  EXPECT_TRUE(a->at_end());
  EXPECT_EQ(a->receive(), std::nullopt);
  a->send("lost");
}

}  // namespace base_line_socket_test
}  // namespace layerbench
