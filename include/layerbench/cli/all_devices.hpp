// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <layerbench/backend/registry.hpp>
#include <layerbench/base/child_process.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/session/program.hpp>
#include <layerbench/topology/topology.hpp>

/// Measuring on all devices of a machine at once, each in a process.
namespace layerbench::run {

namespace detail {

/// Copies a program's stderr to that of this one, with `device N: ` before each line.
class labelled_stderr {
 public:
  explicit labelled_stderr(int device);
  labelled_stderr(const labelled_stderr&) = delete;
  labelled_stderr& operator=(const labelled_stderr&) = delete;
  /// Waits until all writers have closed the pipe.
  ~labelled_stderr();

  /// The end of the pipe that becomes the program's stderr.
  [[nodiscard]] int input() const { return ends_[1]; }
  /// Closes this process's copy of it and begins to read; to be called once the program has it.
  void pass_on();

 private:
  void close_input();
  /// A line that cannot be written is lost; the programs still measure.
  void write(const std::string& line) const;

  std::string label_;
  std::array<int, 2> ends_{};
  std::thread reader_;
};

/// The programs of all devices.
class device_programs {
 public:
  device_programs() = default;
  device_programs(const device_programs&) = delete;
  device_programs& operator=(const device_programs&) = delete;
  ~device_programs() { wait_with(SIGTERM); }

  /// Starts the program of the next device. Device 0 has the stdout and stderr of this one.
  void start(const std::vector<std::string>& words, const std::vector<std::string>& variables,
             const machine::processor_list& processors);

  /// Waits until all have ended; forwards signals. Returns their statuses of wait(2).
  [[nodiscard]] std::vector<int> wait();
  /// Whether a signal arrived meanwhile.
  [[nodiscard]] bool interrupted() const { return interrupted_; }

 private:
  struct one {
    ::pid_t id;
    std::unique_ptr<labelled_stderr> said;
    int status = 0;
    bool ended = false;
  };

  /// Waits for all programs; first sends them `signal` (0: none).
  void wait_with(int signal);

  child_starter starter_;
  bool interrupted_ = false;
  std::vector<one> all_;
};

}  // namespace detail

/// Measures on all devices of the backends at once: starts this program once per device, with
/// --device=N, a result file and an equal share of the cores. Device 0 has this program's stdout
/// and stderr; lines on the others' stderr get the number of the device. Returns the exit code of
/// the first device that failed. Throws usage_error, unavailable and error.
[[nodiscard]] exit_code measure_on_all_devices(const options& o, int argc, char** argv,
                                               const program& what, const registry& known);

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/cli/all_devices-inl.hpp>
#endif
