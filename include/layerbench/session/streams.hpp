// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include <layerbench/backend/registry.hpp>
#include <layerbench/base/line_socket.hpp>
#include <layerbench/result/name.hpp>
#include <layerbench/result/stream_shares.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/topology/thread_binding.hpp>

/// Instances of a model side by side, as servers run them. The first one is measured; each other
/// one is a process that repeats the step.
namespace layerbench::run {

namespace detail {

/// The variable that tells a process that it is a stream beside the measured one.
inline constexpr const char* stream_variable = "LAYERBENCH_OTHER_STREAM";
/// Its end of the link. What it or a library prints goes nowhere.
inline constexpr int stream_socket = 3;

inline constexpr std::string_view run_command = "run ";
inline constexpr std::string_view stop_command = "stop";
inline constexpr std::string_view end_command = "end";
inline constexpr std::string_view running_answer = "running";
inline constexpr std::string_view stopped_answer = "stopped";

}  // namespace detail

/// The streams beside the measured one.
class stream_group {
 public:
  /// `o`: of this program, with which the others are started. `binding`: of its threads.
  stream_group(const options& o, machine::thread_binding binding);
  stream_group(const stream_group&) = delete;
  stream_group& operator=(const stream_group&) = delete;
  ~stream_group() = default;

  /// From now on the other streams of that case run, and no others. Returns when their caches are
  /// warm. Those that have ended are started again. Throws error where one ends before that.
  void run_beside(const result::case_name& model_case);
  /// Whether none of those that are to run has ended.
  [[nodiscard]] bool all_run() const;
  /// No other streams run from now on.
  void stop();
  /// Stops the other streams, and frees their steps.
  void end_case();

  [[nodiscard]] result::stream_shares shares_of(const result::case_name& model_case) const {
    return result::stream_shares::of(model_case, default_threads_);
  }
  /// Seconds of processors that they have used.
  [[nodiscard]] double processor_seconds() const;

 private:
  /// A process that repeats steps; it ends with this object.
  class instance {
   public:
    instance(::pid_t process, std::unique_ptr<line_socket> link)
        : process_(process), link_(std::move(link)) {}
    instance(const instance&) = delete;
    instance& operator=(const instance&) = delete;
    ~instance();

    [[nodiscard]] const line_socket& link() const { return *link_; }
    /// Waits for this line. Throws error where another one comes, or none because it has ended.
    void await(std::string_view answer) const;
    /// Seconds of processors that it has used.
    [[nodiscard]] double processor_seconds() const;

   private:
    ::pid_t process_;
    std::unique_ptr<line_socket> link_;
  };
  using instances = std::vector<std::unique_ptr<instance>>;

  [[nodiscard]] std::unique_ptr<instance> start(const result::stream_shares& of, int number) const;
  /// The others of such streams; starts those that are missing.
  [[nodiscard]] const instances& others_of(const result::stream_shares& of);

  std::vector<std::string> words_;
  int default_threads_;
  machine::thread_binding binding_;
  std::map<std::pair<int, int>, instances> others_;  ///< by streams and threads
  std::optional<result::case_name> running_;
};

/// Whether this process is a stream beside the measured one.
[[nodiscard]] bool is_other_stream();

/// Throws usage_error where streams were asked for beside what they do not go with.
void require_streams(const options& o, const registry& known);

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/session/streams-inl.hpp>
#endif
