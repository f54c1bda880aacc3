// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <ranges>

#include <fcntl.h>
#include <poll.h>
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
#include <layerbench/topology/thread_placement.hpp>

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

LAYERBENCH_INLINE stream_group::~stream_group() {
  for (std::vector<instance>& group : std::views::values(instances_)) {
    for (instance& other : group) {
      other.to.reset();  // it ends at the end of its input
      int status = 0;
      ::waitpid(other.process, &status, 0);
    }
  }
}

LAYERBENCH_INLINE stream_group::instance stream_group::start(const stream_shares& of,
                                                             int number) const {
  std::array<int, 2> input{};
  std::array<int, 2> output{};
  if (::pipe2(input.data(), O_CLOEXEC) != 0 || ::pipe2(output.data(), O_CLOEXEC) != 0) {
    throw error("no pipe for another stream");
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
    streams.send(STDIN_FILENO, input[0]);
    streams.send(STDOUT_FILENO, output[1]);
    const child_starter starter;
    // It inherits where this thread may run, and must have all of its places.
    const machine::processor_list own = machine::processors_of_this_thread();
    machine::run_this_thread_on(binding_.processors());
    process = starter.start(machine::this_program().value_or("/proc/self/exe"), words_,
                            environment_with(variables), streams);
    machine::run_this_thread_on(own);
  }
  ::close(input[0]);
  ::close(output[1]);
  return {process, {::fdopen(input[1], "w"), std::fclose}, {::fdopen(output[0], "r"), std::fclose}};
}

LAYERBENCH_INLINE void stream_group::send(const instance& to, const std::string& line) {
  std::fputs((line + '\n').c_str(), to.to.get());
  std::fflush(to.to.get());  // where that fails, its answer is missing
}

LAYERBENCH_INLINE void stream_group::await(const instance& from, std::string_view answer) {
  std::array<char, 64> line{};
  const char* read = std::fgets(line.data(), line.size(), from.from.get());
  if (read != nullptr && std::string_view(read).starts_with(answer)) return;
  throw error("a stream beside the measured one has ended");
}

LAYERBENCH_INLINE void stream_group::run_beside(const result::case_name& model_case) {
  if (running_ == model_case) return;
  stop();
  const stream_shares of = shares_of(model_case);
  if (of.streams == 1) return;
  std::vector<instance>& others = instances_[{of.streams, of.threads}];
  while (std::ssize(others) < of.streams - 1) {
    others.push_back(start(of, static_cast<int>(others.size()) + 1));
  }
  running_ = model_case;
  for (const instance& other : others) {
    send(other, std::string(detail::run_command) + model_case.text());
  }
  for (const instance& other : others) await(other, detail::running_answer);
}

LAYERBENCH_INLINE void stream_group::stop() {
  if (!running_) return;
  const stream_shares of = shares_of(*running_);
  running_.reset();
  for (const instance& other : instances_[{of.streams, of.threads}]) {
    send(other, std::string(detail::stop_command));
    await(other, detail::stopped_answer);
  }
}

LAYERBENCH_INLINE void stream_group::end_case() {
  stop();
  for (const std::vector<instance>& group : std::views::values(instances_)) {
    for (const instance& other : group) send(other, std::string(detail::end_command));
  }
}

LAYERBENCH_INLINE double stream_group::processor_seconds() const {
  double sum = 0;
  for (const std::vector<instance>& group : std::views::values(instances_)) {
    for (const instance& other : group) {
      ::clockid_t clock{};
      ::timespec used{};
      if (::clock_getcpuclockid(other.process, &clock) != 0) continue;
      if (::clock_gettime(clock, &used) != 0) continue;
      sum += static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
    }
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
  if (o.data_parallel) refuse("are of one model each; leave out --ranks");
  if (!o.energy.empty()) refuse("the energy is that of all; leave out --energy");
  if (o.turns) refuse("--turns would stop one of them only");
  if (o.on_all_devices()) refuse("not with --device=all");
  if (o.plans == "measured") {
    refuse("each would choose plans of its own; measure them without, and add --plans=FILE");
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
      refuse(fmt::format("{} has none; choose a --backend of processors", entry.name));
    }
  }
}

}  // namespace layerbench::run
