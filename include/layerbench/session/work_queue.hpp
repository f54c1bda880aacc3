// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <layerbench/result/measurement.hpp>
#include <layerbench/session/benchmark_row.hpp>
#include <layerbench/session/case_state.hpp>
#include <layerbench/session/chain.hpp>
#include <layerbench/session/layer_clocks.hpp>

namespace layerbench::run {

/// A case's chain: its model, run end to end beside its rows.
struct end_to_end_run {
  chain_spec model;
  std::unique_ptr<run::chain> chain = {};   ///< while its group is measured
  std::optional<layer_clocks> clocks = {};  ///< between its layers, if wanted
  double step_seconds = 0;                  ///< of the latest pass
};

/// All that is to be measured, group by group.
using work_queue = std::vector<case_group>;

/// Queues rows and chains by case, in the order in which cases first occur.
[[nodiscard]] work_queue make_work_queue(const std::vector<benchmark_row*>& rows,
                                         const std::vector<chain_spec>& chains);

/// Takes over the rounds of earlier runs; returns the number of the next round. No earlier round is
/// continued: all passes of a round must be close together.
std::int64_t restore(const result::results& earlier, work_queue& queue);

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/session/work_queue-inl.hpp>
#endif
