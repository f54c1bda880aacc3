// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/analysis/base/cases.hpp>
#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/analysis/base/ratio.hpp>
#include <layerbench/analysis/scaling/parallel_step.hpp>

/// Contention between computing and sending gradients, as measured.
namespace layerbench::analysis {

/// The contention of one case.
struct measured_contention {
  result::case_name model_case;    ///< the case without overlapping all-reduces
  std::int64_t threads = 0;        ///< 0: the files do not say
  std::string device;              ///< see results::device
  std::vector<std::string> files;  ///< files that it was measured in
  slowdown_interval factors;       ///< as measured; noise may put them below 1
  bool is_interval = false;        ///< whether all files have enough rounds for 95 %
  bool sending_known = false;      ///< otherwise it is assumed to be 1
  double disturbed = 0;            ///< share of the timings without all-reduces that were disturbed

  /// Whether it applies to a case of one rank: device, threads and case agree otherwise.
  [[nodiscard]] bool holds_for(const result::case_name& one, std::int64_t its_threads,
                               std::string_view its_device) const {
    const auto plain = [](result::case_name of) {
      for (const char* name : {"threads", "ranks"}) of.parameters.erase(name);
      return of;
    };
    return its_threads == threads && its_device == device && plain(one) == plain(model_case);
  }
};

/// The case that is measured while gradients are sent.
[[nodiscard]] result::case_name during_allreduces(result::case_name alone);

/// The case without overlapping all-reduces.
[[nodiscard]] result::case_name without_all_reduces(result::case_name of);

/// The contention of a case in `files`, which share a context; nothing if none has it.
[[nodiscard]] std::optional<measured_contention> contention_of(const result::case_name& model_case,
                                                               const group& files,
                                                               std::string_view cache = {});

/// The contention of each chosen case whose backward part was measured with and without overlapping
/// all-reduces in the same file. If no cache state is chosen, `model` is preferred to `hot`. Files
/// of one context are merged. Throws nothing_matched as resolve_models() does.
[[nodiscard]] std::vector<measured_contention> contentions(std::span<const result::results> files,
                                                           const options& chosen = {});

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/scaling/contention-inl.hpp>
#endif
