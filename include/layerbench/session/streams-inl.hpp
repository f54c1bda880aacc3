// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <ranges>

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <fmt/format.h>

#include <layerbench/base/child_process.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/system.hpp>
#include <layerbench/session/backend_selection.hpp>
#include <layerbench/session/chain.hpp>
#include <layerbench/session/streams.hpp>
#include <layerbench/session/suite.hpp>
#include <layerbench/topology/thread_places.hpp>

namespace layerbench::run {

namespace detail {

/// The variable that tells a process that it is a stream beside the measured one.
inline constexpr const char* stream_variable = "LAYERBENCH_OTHER_STREAM";

inline constexpr std::string_view run_command = "run ";
inline constexpr std::string_view stop_command = "stop";
inline constexpr std::string_view end_command = "end";
inline constexpr std::string_view running_answer = "running";
inline constexpr std::string_view stopped_answer = "stopped";

/// The places of a stream's threads first, then those of the others.
[[nodiscard]] inline std::vector<machine::processor_list> places_of_stream(
    const machine::thread_binding& binding, const stream_shares& of, int number) {
  std::vector<machine::processor_list> places = machine::processors_by_thread(binding, of.threads);
  const int first = number * of.threads_each() % of.threads;
  std::ranges::rotate(places, places.begin() + first);
  for (const machine::processor_list& place : binding.places) {
    if (std::ranges::find(places, place) == places.end()) places.push_back(place);
  }
  return places;
}

}  // namespace detail

LAYERBENCH_INLINE stream_shares stream_shares::of(const result::case_name& model_case,
                                                  int default_threads) {
  return {static_cast<int>(model_case.streams()),
          static_cast<int>(model_case.count("threads").value_or(default_threads))};
}

LAYERBENCH_INLINE stream_group::stream_group(const options& o, machine::thread_binding binding)
    : words_(o.words), default_threads_(o.default_threads), binding_(std::move(binding)) {}

LAYERBENCH_INLINE stream_group::instance::~instance() {
  ::close(socket_);  // it ends at the end of its input
  int status = 0;
  ::waitpid(process_, &status, 0);
}

LAYERBENCH_INLINE void stream_group::instance::send(std::string line) const {
  line += '\n';
  ::send(socket_, line.data(), line.size(), MSG_NOSIGNAL);  // if that fails, so does await()
}

LAYERBENCH_INLINE void stream_group::instance::await(std::string_view answer) const {
  std::string line;
  for (char letter = 0; letter != '\n';) {
    const ::ssize_t read = ::read(socket_, &letter, 1);
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) throw error("a stream beside the measured one has ended");
    line += letter;
  }
  line.pop_back();
  if (line != answer) throw error("a stream beside the measured one says: " + line);
}

LAYERBENCH_INLINE bool stream_group::instance::runs() const {
  char letter = 0;
  return ::recv(socket_, &letter, 1, MSG_PEEK | MSG_DONTWAIT) != 0;  // 0: at the end
}

LAYERBENCH_INLINE double stream_group::instance::processor_seconds() const {
  ::clockid_t clock{};
  ::timespec used{};
  const bool known =
      ::clock_getcpuclockid(process_, &clock) == 0 && ::clock_gettime(clock, &used) == 0;
  return known ? static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec) : 0;
}

LAYERBENCH_INLINE std::unique_ptr<stream_group::instance> stream_group::start(
    const stream_shares& of, int number) const {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw error("no socket for another stream");
  }
  std::vector<std::string> variables{fmt::format("{}={}", detail::stream_variable, number)};
  if (binding_.order != machine::thread_order::free) {
    variables.push_back("OMP_PROC_BIND=close");
    variables.push_back("OMP_PLACES=" +
                        machine::places_text(detail::places_of_stream(binding_, of, number)));
  }
  ::pid_t process = 0;
  {
    child_output streams;
    for (const int one : {STDIN_FILENO, STDOUT_FILENO}) streams.send(one, ends[1]);
    const child_starter starter;
    // It inherits where this thread may run, and must have all of its places.
    const machine::processor_list own = machine::processors_of_this_thread();
    machine::run_this_thread_on(binding_.processors());
    process = starter.start(machine::this_program().value_or("/proc/self/exe"), words_,
                            environment_with(variables), streams);
    machine::run_this_thread_on(own);
  }
  ::close(ends[1]);
  return std::make_unique<instance>(process, ends[0]);
}

LAYERBENCH_INLINE const stream_group::instances& stream_group::others_of(const stream_shares& of) {
  instances& others = others_[{of.streams, of.threads}];
  while (std::ssize(others) < of.streams - 1) {
    others.push_back(start(of, static_cast<int>(others.size()) + 1));
  }
  return others;
}

LAYERBENCH_INLINE void stream_group::run_beside(const result::case_name& model_case) {
  if (running_ == model_case && all_run()) return;
  stop();
  const stream_shares of = shares_of(model_case);
  if (of.streams == 1) return;
  const instances& others = others_of(of);
  for (const auto& other : others) {
    other->send(std::string(detail::run_command) + model_case.text());
  }
  try {
    for (const auto& other : others) other->await(detail::running_answer);
  } catch (const error&) {
    others_.erase({of.streams, of.threads});
    throw;
  }
  running_ = model_case;
}

LAYERBENCH_INLINE void stream_group::stop() {
  if (!running_) return;
  const stream_shares of = shares_of(*running_);
  running_.reset();
  const instances& others = others_.at({of.streams, of.threads});
  for (const auto& other : others) other->send(std::string(detail::stop_command));
  try {
    for (const auto& other : others) other->await(detail::stopped_answer);
  } catch (const error&) {  // all_run() says so before each pass
    others_.erase({of.streams, of.threads});
  }
}

LAYERBENCH_INLINE bool stream_group::all_run() const {
  const stream_shares of = shares_of(*running_);
  return std::ranges::all_of(others_.at({of.streams, of.threads}),
                             [](const auto& other) { return other->runs(); });
}

LAYERBENCH_INLINE void stream_group::end_case() {
  stop();
  for (const instances& others : std::views::values(others_)) {
    for (const auto& other : others) other->send(std::string(detail::end_command));
  }
}

LAYERBENCH_INLINE double stream_group::processor_seconds() const {
  double sum = 0;
  for (const instances& others : std::views::values(others_)) {
    for (const auto& other : others) sum += other->processor_seconds();
  }
  return sum;
}

LAYERBENCH_INLINE bool is_other_stream() { return std::getenv(detail::stream_variable) != nullptr; }

namespace detail {

/// The chain of a case, with the suite that it is of. Throws what make_suite() throws.
class other_stream {
 public:
  other_stream(const options& o, const program& what, const registry& known,
               const std::string& model_case)
      : all_(make_suite(o, what, known, nullptr, [&](const std::vector<std::string>& names) {
          return std::ranges::any_of(names, [&](const std::string& name) {
            const auto row = result::parse_row(name);
            return row && row->model_case.text() == model_case;
          });
        })) {
    for (const chain_spec& one : all_.chains) {
      if (one.model_case.text() == model_case) chain_ = one.make();
    }
    if (!chain_) throw error(fmt::format("no step {}", model_case));
  }

  void step() {
    chain_->set_up();
    chain_->run(0, chain_->layers());
  }

  /// Repeats the step until there is input; says when the caches are warm.
  void repeat() {
    chain_->activate();
    for (std::size_t i = 0; i < chain_->warm_up_steps(); ++i) step();
    std::cout << running_answer << std::endl;
    ::pollfd input{STDIN_FILENO, POLLIN, 0};
    while (::poll(&input, 1, 0) <= 0) step();
  }

 private:
  suite all_;
  std::unique_ptr<chain> chain_;
};

}  // namespace detail

LAYERBENCH_INLINE void serve_stream(const options& o, const program& what, const registry& known) {
  std::map<std::string, detail::other_stream> steps;
  for (std::string line; std::getline(std::cin, line);) {
    if (line == detail::stop_command) std::cout << detail::stopped_answer << std::endl;
    if (line == detail::end_command) steps.clear();
    if (!line.starts_with(detail::run_command)) continue;
    const std::string model_case = line.substr(detail::run_command.size());
    steps.try_emplace(model_case, o, what, known, model_case).first->second.repeat();
  }
}

LAYERBENCH_INLINE void require_streams(const options& o, const registry& known) {
  if (std::ranges::max(o.streams) == 1) return;
  const auto refuse = [](std::string_view why) {
    throw usage_error(fmt::format("--streams: {}", why));
  };
  if (o.data_parallel) refuse("not with --ranks");
  if (!o.energy.empty()) refuse("not with --energy, which would be that of all streams");
  if (o.turns) refuse("not with --turns, which would stop one of them only");
  if (o.on_all_devices()) refuse("not with --device=all");
  if (o.plans == "measured") {
    refuse(
        "not with --plans=measured, since each would choose plans of its own; --plans=FILE has "
        "those of a run without");
  }
  for (const int streams : o.streams) {
    for (const int threads : o.threads) {
      if (streams <= threads || streams % threads == 0) continue;
      refuse(fmt::format("{} would share {} threads unevenly; take as many or fewer, or a multiple",
                         streams, threads));
    }
  }
  for (const backend_entry& entry : detail::entries_of(o.backends, known)) {
    if (!entry.on_host) {
      refuse(fmt::format("not on {}; choose a --backend of processors", entry.name));
    }
  }
}

}  // namespace layerbench::run
