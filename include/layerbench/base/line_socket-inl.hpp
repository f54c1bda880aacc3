// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cerrno>
#include <system_error>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/line_socket.hpp>

namespace layerbench {

LAYERBENCH_INLINE line_socket::~line_socket() { ::close(number_); }

LAYERBENCH_INLINE std::pair<std::unique_ptr<line_socket>, std::unique_ptr<line_socket>>
line_socket::pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw error("no socket: " + std::generic_category().message(errno));
  }
  return {std::make_unique<line_socket>(ends[0]), std::make_unique<line_socket>(ends[1])};
}

LAYERBENCH_INLINE void line_socket::send(std::string line) const {
  line += '\n';
  ::send(number_, line.data(), line.size(), MSG_NOSIGNAL);
}

LAYERBENCH_INLINE std::optional<std::string> line_socket::receive() const {
  std::string line;
  for (char letter = 0;;) {
    const ::ssize_t read = ::read(number_, &letter, 1);
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) return std::nullopt;
    if (letter == '\n') return line;
    line += letter;
  }
}

LAYERBENCH_INLINE bool line_socket::has_input() const {
  ::pollfd input{number_, POLLIN, 0};
  return ::poll(&input, 1, 0) > 0;
}

LAYERBENCH_INLINE bool line_socket::at_end() const {
  char letter = 0;
  return ::recv(number_, &letter, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

}  // namespace layerbench
