// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace layerbench {

/// One end of a connection between two processes that send each other lines.
class line_socket {
 public:
  /// Takes an open socket.
  explicit line_socket(int number) : number_(number) {}
  line_socket(const line_socket&) = delete;
  line_socket& operator=(const line_socket&) = delete;
  ~line_socket();

  /// Both ends of a new connection, which programs that this one starts do not inherit. Throws
  /// error.
  [[nodiscard]] static std::pair<std::unique_ptr<line_socket>, std::unique_ptr<line_socket>> pair();

  [[nodiscard]] int number() const { return number_; }
  /// What is sent to a process that has ended is lost.
  void send(std::string line) const;
  /// Waits for a line; nothing where the other process has ended.
  [[nodiscard]] std::optional<std::string> receive() const;
  /// Whether a line, or the end, is there.
  [[nodiscard]] bool has_input() const;
  /// Whether the other process has ended, and all of its lines are read.
  [[nodiscard]] bool at_end() const;

 private:
  int number_;
};

}  // namespace layerbench

#ifndef LAYERBENCH_COMPILED
#include <layerbench/base/line_socket-inl.hpp>
#endif
