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
#include <layerbench/result/name.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/session/program.hpp>
#include <layerbench/topology/thread_binding.hpp>

/// Instances of a model side by side, as servers run them. The first one is measured; each other
/// one is a process that repeats the step.
namespace layerbench::run {

/// How some streams share the threads of a case.
struct stream_shares {
  int streams = 1;
  int threads = 1;  ///< of all streams together

  /// Threads of one stream.
  [[nodiscard]] int threads_each() const { return std::max(1, threads / streams); }
  /// How many streams take turns on one thread's processor.
  [[nodiscard]] int turns() const { return std::max(1, streams / threads); }

  /// Those of a case; `default_threads`: where its name has no number of threads.
  [[nodiscard]] static stream_shares of(const result::case_name& model_case, int default_threads);
};

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
  /// No other streams run from now on.
  void stop();
  /// Stops the other streams, and frees their steps.
  void end_case();

  [[nodiscard]] stream_shares shares_of(const result::case_name& model_case) const {
    return stream_shares::of(model_case, default_threads_);
  }
  /// Seconds of processors that they have used.
  [[nodiscard]] double processor_seconds() const;

 private:
  /// A process that repeats steps; it ends with this object.
  class instance {
   public:
    instance(::pid_t process, int socket) : process_(process), socket_(socket) {}
    instance(const instance&) = delete;
    instance& operator=(const instance&) = delete;
    ~instance();

    void send(std::string line) const;
    /// Waits for this line. Throws error where another one comes, or none because it has ended.
    void await(std::string_view answer) const;
    /// Whether it has not ended.
    [[nodiscard]] bool runs() const;
    /// Seconds of processors that it has used.
    [[nodiscard]] double processor_seconds() const;

   private:
    ::pid_t process_;
    int socket_;  ///< its stdin and stdout
  };
  using instances = std::vector<std::unique_ptr<instance>>;

  [[nodiscard]] std::unique_ptr<instance> start(const stream_shares& of, int number) const;
  /// Whether none of those that are to run has ended.
  [[nodiscard]] bool all_run() const;
  /// The others of such streams; starts those that are missing.
  [[nodiscard]] const instances& others_of(const stream_shares& of);

  std::vector<std::string> words_;
  int default_threads_;
  machine::thread_binding binding_;
  std::map<std::pair<int, int>, instances> others_;  ///< by streams and threads
  std::optional<result::case_name> running_;
};

/// Whether this process is a stream beside the measured one.
[[nodiscard]] bool is_other_stream();

/// What such a process does: repeats the steps that the measuring process names, until that ends.
void serve_stream(const options& o, const program& what, const registry& known);

/// Throws usage_error where streams were asked for beside what they do not go with.
void require_streams(const options& o, const registry& known);

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/session/streams-inl.hpp>
#endif
