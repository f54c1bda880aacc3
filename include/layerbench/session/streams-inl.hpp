// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <ranges>

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <fmt/format.h>

#include <layerbench/base/child_process.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/system.hpp>
#include <layerbench/session/backend_selection.hpp>
#include <layerbench/session/streams.hpp>
#include <layerbench/topology/this_machine.hpp>
#include <layerbench/topology/thread_places.hpp>

namespace layerbench::run {

namespace detail {

/// The places of a stream's threads first, then those of the others.
[[nodiscard]] inline std::vector<machine::processor_list> places_of_stream(
    const machine::thread_binding& binding, const result::stream_shares& of, int number) {
  std::vector<machine::processor_list> places = machine::processors_by_thread(binding, of.threads);
  const int first = number * of.threads_each() % of.threads;
  std::ranges::rotate(places, places.begin() + first);
  for (const machine::processor_list& place : binding.places) {
    if (std::ranges::find(places, place) == places.end()) places.push_back(place);
  }
  return places;
}

/// This thread may run on these processors during the lifetime of this object.
class all_processors_scope {
 public:
  explicit all_processors_scope(const machine::processor_list& all) {
    machine::run_this_thread_on(all);
  }
  all_processors_scope(const all_processors_scope&) = delete;
  all_processors_scope& operator=(const all_processors_scope&) = delete;
  ~all_processors_scope() { machine::run_this_thread_on(before_); }

 private:
  machine::processor_list before_ = machine::processors_of_this_thread();
};

}  // namespace detail

LAYERBENCH_INLINE stream_group::stream_group(const options& o, machine::thread_binding binding)
    : words_(o.words), default_threads_(o.default_threads), binding_(std::move(binding)) {}

LAYERBENCH_INLINE stream_group::instance::~instance() {
  link_.reset();  // it ends at the end of its input
  int status = 0;
  ::waitpid(process_, &status, 0);
}

LAYERBENCH_INLINE void stream_group::instance::await(std::string_view answer) const {
  const std::optional<std::string> line = link_->receive();
  if (!line) throw error("a stream beside the measured one has ended");
  if (*line != answer) throw error("a stream beside the measured one says: " + *line);
}

LAYERBENCH_INLINE double stream_group::instance::processor_seconds() const {
  ::clockid_t clock{};
  ::timespec used{};
  const bool known =
      ::clock_getcpuclockid(process_, &clock) == 0 && ::clock_gettime(clock, &used) == 0;
  return known ? static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec) : 0;
}

LAYERBENCH_INLINE std::unique_ptr<stream_group::instance> stream_group::start(
    const result::stream_shares& of, int number) const {
  auto [own, others] = line_socket::pair();
  std::vector<std::string> variables{fmt::format("{}=1", detail::stream_variable)};
  if (binding_.order != machine::thread_order::free) {
    variables.emplace_back("OMP_PROC_BIND=close");
    variables.push_back("OMP_PLACES=" +
                        machine::places_text(detail::places_of_stream(binding_, of, number)));
  }
  child_output output;
  output.discard(STDOUT_FILENO);
  output.send(detail::stream_socket, others->number());
  const child_starter starter;
  // It inherits where this thread may run, and must have all of its places.
  const detail::all_processors_scope everywhere(binding_.processors());
  const ::pid_t process =
      starter.start(machine::this_program().value_or("/proc/self/exe"), words_,
                    environment_with(variables), output, child_group::of_parent);
  return std::make_unique<instance>(process, std::move(own));
}

LAYERBENCH_INLINE const stream_group::instances& stream_group::others_of(
    const result::stream_shares& of) {
  instances& others = others_[{of.streams, of.threads}];
  while (std::ssize(others) < of.streams - 1) {
    others.push_back(start(of, static_cast<int>(others.size()) + 1));
  }
  return others;
}

LAYERBENCH_INLINE void stream_group::run_beside(const result::case_name& model_case) {
  if (running_ == model_case && all_run()) return;
  stop();
  const result::stream_shares of = shares_of(model_case);
  if (of.streams == 1) return;
  const instances& others = others_of(of);
  for (const auto& other : others) {
    other->link().send(std::string(detail::run_command) + model_case.text());
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
  const result::stream_shares of = shares_of(*running_);
  running_.reset();
  const instances& others = others_.at({of.streams, of.threads});
  for (const auto& other : others) other->link().send(std::string(detail::stop_command));
  try {
    for (const auto& other : others) other->await(detail::stopped_answer);
  } catch (const error&) {  // all_run() says so before each pass
    others_.erase({of.streams, of.threads});
  }
}

LAYERBENCH_INLINE bool stream_group::all_run() const {
  if (!running_) return true;
  const result::stream_shares of = shares_of(*running_);
  return std::ranges::all_of(others_.at({of.streams, of.threads}),
                             [](const auto& other) { return !other->link().at_end(); });
}

LAYERBENCH_INLINE void stream_group::end_case() {
  stop();
  for (const instances& others : std::views::values(others_)) {
    for (const auto& other : others) other->link().send(std::string(detail::end_command));
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

LAYERBENCH_INLINE void require_streams(const options& o, const registry& known) {
  if (std::ranges::max(o.streams) == 1) return;
  const auto refuse = [](std::string_view why) {
    throw usage_error(fmt::format("--streams: {}", why));
  };
  if (o.data_parallel) refuse("not with --ranks");
  if (o.phase != "inference") refuse("only of inference");
  if (!o.energy.empty()) refuse("not with --energy, which would be that of all streams");
  if (o.turns) refuse("not with --turns, which would stop one of them only");
  if (o.on_all_devices()) refuse("not with --device=all");
  if (std::ranges::find(o.models, "-") != o.models.end()) refuse("not with a model from stdin");
  if (o.plans == "measured") {
    refuse(
        "not with --plans=measured, since each would choose plans of its own; --plans=FILE has "
        "those of a run on as many threads as one of them has");
  }
  if (binding_of(known).order == machine::thread_order::spread) {
    refuse("not with OMP_PROC_BIND=spread, which puts the threads of one onto those of others");
  }
  for (const int streams : o.streams) {
    for (const int threads : o.threads) {
      if (streams % threads != 0 && threads % streams != 0) {
        refuse(fmt::format("{} cannot share {} threads evenly", streams, threads));
      }
      if (streams > threads && o.chain == "layers") {
        refuse("not with --chain=layers where streams share a processor; add --chain");
      }
    }
  }
  for (const backend_entry& entry : detail::entries_of(o.backends, known)) {
    if (!entry.on_host) {
      refuse(fmt::format("not on {}; choose a --backend of processors", entry.name));
    }
  }
}

}  // namespace layerbench::run
