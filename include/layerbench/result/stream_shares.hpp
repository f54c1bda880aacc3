// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <layerbench/result/name.hpp>

namespace layerbench::result {

/// How some streams share the threads of a case.
struct stream_shares {
  int streams = 1;
  int threads = 1;  ///< of all streams together

  /// Threads of one stream.
  [[nodiscard]] int threads_each() const { return std::max(1, threads / streams); }
  /// Streams that share one thread's processor.
  [[nodiscard]] int per_processor() const { return std::max(1, streams / threads); }

  /// Those of a case; `default_threads`: where its name has no number of threads.
  [[nodiscard]] static stream_shares of(const case_name& model_case, int default_threads) {
    return {static_cast<int>(model_case.streams()),
            static_cast<int>(model_case.count("threads").value_or(default_threads))};
  }
};

}  // namespace layerbench::result
