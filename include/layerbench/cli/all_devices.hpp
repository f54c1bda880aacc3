// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <layerbench/backend/registry.hpp>
#include <layerbench/base/child_process.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/plain_text.hpp>
#include <layerbench/base/system.hpp>
#include <layerbench/session/backend_selection.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/session/program.hpp>
#include <layerbench/topology/this_machine.hpp>
#include <layerbench/topology/thread_binding.hpp>
#include <layerbench/topology/thread_places.hpp>
#include <layerbench/topology/topology.hpp>

/// Measuring on all devices of a machine at once, each in a process.
namespace layerbench::run {

namespace detail {

/// Copies a program's stderr to that of this one, with `device N: ` before each line.
class labelled_stderr {
 public:
  explicit labelled_stderr(int device) : label_(fmt::format("device {}: ", device)) {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) {
      throw error(fmt::format("pipe: {}", std::generic_category().message(errno)));
    }
  }
  labelled_stderr(const labelled_stderr&) = delete;
  labelled_stderr& operator=(const labelled_stderr&) = delete;
  /// Waits until all writers have closed the pipe.
  ~labelled_stderr() {
    close_input();
    if (reader_.joinable()) reader_.join();
    ::close(ends_[0]);
  }

  /// The end of the pipe that becomes the program's stderr.
  [[nodiscard]] int input() const { return ends_[1]; }
  /// Closes this process's copy of it and begins to read; to be called once the program has it.
  void pass_on() {
    close_input();
    reader_ = std::thread([this] {
      std::string text;
      std::array<char, 4096> part{};
      for (::ssize_t size = 0; (size = ::read(ends_[0], part.data(), part.size())) > 0;) {
        text.append(part.data(), static_cast<std::size_t>(size));
        for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos;) {
          write(text.substr(0, end));
          text.erase(0, end + 1);
        }
      }
      if (!text.empty()) write(text);
    });
  }

 private:
  void close_input() {
    if (input() >= 0) ::close(std::exchange(ends_[1], -1));
  }
  /// A line that cannot be written is lost; the programs still measure.
  void write(const std::string& line) const {
    const std::string whole = label_ + line + '\n';
    static_cast<void>(std::fwrite(whole.data(), 1, whole.size(), stderr));
  }

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
             const machine::processor_list& processors) {
    const auto device = static_cast<int>(all_.size());
    child_output output;
    std::unique_ptr<labelled_stderr> said;
    if (device > 0) {
      said = std::make_unique<labelled_stderr>(device);
      output.discard(STDOUT_FILENO);
      output.send(STDERR_FILENO, said->input());
    }
    machine::run_this_thread_on(processors);  // a child runs where its parent does
    const machine::path self = machine::this_program().value_or("/proc/self/exe");
    const ::pid_t id = starter_.start(self, words, variables, output);
    all_.push_back({id, std::move(said)});
    if (all_.back().said) all_.back().said->pass_on();
  }

  /// Waits until all have ended; forwards signals. Returns their statuses of wait(2).
  [[nodiscard]] std::vector<int> wait() {
    wait_with(0);
    std::vector<int> statuses;
    for (one& program : all_) {
      program.said.reset();  // after its last line
      statuses.push_back(program.status);
    }
    return statuses;
  }
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
  void wait_with(int signal) {
    const auto running = [](const one& program) { return !program.ended; };
    while (std::ranges::any_of(all_, running)) {
      for (one& program : all_) {
        if (program.ended) continue;
        if (signal != 0 && signal != SIGCHLD) ::kill(-program.id, signal);
        program.ended = ::waitpid(program.id, &program.status, WNOHANG) == program.id;
      }
      if (!std::ranges::any_of(all_, running)) return;
      signal = starter_.next_signal();
      interrupted_ = interrupted_ || signal != SIGCHLD;
    }
  }

  child_starter starter_;
  bool interrupted_ = false;
  std::vector<one> all_;
};

/// The result file of one device: the user's, with its number before the extension.
[[nodiscard]] inline std::string file_of_device(const std::filesystem::path& out, int device) {
  const std::string name =
      fmt::format("{}_device{}{}", out.stem().string(), device, out.extension().string());
  return (out.parent_path() / name).string();
}

/// Number of devices of the chosen backends. Throws usage_error if a backend has only one, or if an
/// option excludes several programs.
[[nodiscard]] inline int devices_for(const options& o, const program& what, const registry& known) {
  const auto refuse = [](std::string_view why) {
    throw usage_error(fmt::format("--device=all: {}", why));
  };
  if (what.collective) refuse("a collective uses all devices; leave --device out");
  if (o.check_machine) refuse("--check-machine is for one device; name its number");
  if (o.data_parallel) refuse("--ranks gives each rank a GPU; leave --device out");
  if (o.turns) refuse("--turns stops one program; name one device");
  if (!o.places.empty()) refuse("the devices share the cores equally; leave --places out");
  if (o.out.empty()) refuse("each device has a result file; add --benchmark_out=FILE");
  std::vector<std::string> notes;  // said by the programs of the devices
  int count = 0;
  for (const backend_entry& entry : entries_of(chosen_backends(o, what, known, notes), known)) {
    if (entry.devices == nullptr) {
      refuse(fmt::format("{} has one device; name a backend of GPUs with --backend", entry.name));
    }
    count = std::max(count, entry.devices());
  }
  if (count == 0) throw unavailable("--device=all: no device can be used here");
  return count;
}

}  // namespace detail

/// Measures on all devices of the backends at once: starts this program once per device, with
/// --device=N, a result file and an equal share of the cores. Device 0 has this program's stdout
/// and stderr; lines on the others' stderr get the number of the device. Returns the exit code of
/// the first device that failed. Throws usage_error, unavailable and error.
[[nodiscard]] inline exit_code measure_on_all_devices(const options& o, int argc, char** argv,
                                                      const program& what, const registry& known) {
  detail::device_programs programs;  // first: threads of libraries leave signals to this one, too
  const int count = detail::devices_for(o, what, known);
  const std::vector<machine::processor_list> shares = machine::shares_of_cores(
      machine::this_machine(), binding_of(known).processors(), static_cast<std::size_t>(count));
  // Threads may run on all processors of their share, not on the places of this program's threads.
  std::vector<std::string> variables = environment_with({"OMP_PROC_BIND=false"});
  std::erase_if(variables, [](const std::string& one) { return one.starts_with("OMP_PLACES="); });
  for (int device = 0; device < count; ++device) {
    std::vector<std::string> words(argv, argv + argc);
    words.push_back(fmt::format("--device={}", device));
    words.push_back("--benchmark_out=" + detail::file_of_device(o.out, device));
    if (!o.resume.empty()) words.push_back("--resume=" + detail::file_of_device(o.resume, device));
    programs.start(words, variables, shares[static_cast<std::size_t>(device)]);
  }
  const std::vector<int> statuses = programs.wait();
  auto code = exit_code::done;
  for (int device = 0; device < count; ++device) {
    const int status = statuses[static_cast<std::size_t>(device)];
    if (status == 0) continue;
    print_message(fmt::format("device {} ended with {}", device, status_text(status)));
    if (code == exit_code::done) code = exit_code_of(status);
  }
  const bool stopped = programs.interrupted() && code != exit_code::done;
  return stopped ? exit_code::interrupted : code;
}

}  // namespace layerbench::run
