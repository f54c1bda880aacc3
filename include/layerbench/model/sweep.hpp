// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/model/graph.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/op/allreduce.hpp>
#include <layerbench/op/rnn.hpp>

/// Sweeps: published lists of problem sizes. Their rows are timed like layers, but make no model.
namespace layerbench::model {

/// Images in the batch of a layer: the first extent of what it writes, and of recurrent layers,
/// which write steps first, their sequences.
[[nodiscard]] inline std::int64_t batch_of(const layer& of) {
  if (const auto* const recurrent = of.op.get<op::rnn>()) return recurrent->batch;
  return detail::result_of(of).front();
}

/// Each row of a sweep by itself, with its own batch; without collectives, which only
/// bench_allreduce times.
[[nodiscard]] inline std::vector<graph> rows_of(const graph& sweep) {
  std::vector<graph> rows;
  graph empty = sweep;
  empty.layers.clear();
  for (const layer& row : sweep.layers) {
    if (op::as_collective(row.op)) continue;
    graph alone = empty;
    alone.layers = {row};
    alone.parameters["batch"] = batch_of(row);
    rows.push_back(std::move(alone));
  }
  return rows;
}

/// The calls of a sweep: each layer in the passes of its op. The passes of a layer share the
/// operands that have the same name; layers share nothing.
[[nodiscard]] inline step sweep_step(const graph& sweep, dtype type = dtype::f32) {
  step result;
  result.type = type;
  for (const layer& row : sweep.layers) {
    std::map<std::string, std::size_t, std::less<>> tensors;
    for (const op::pass pass : sweep.passes.at(std::string(row.op.name()))) {
      call created{row.name, row.op, pass, {}};
      for (const op::operand& operand : row.op.operands(pass, type)) {
        const auto [found, is_new] = tensors.try_emplace(std::string(operand.name), result.tensors);
        if (is_new) result.new_tensor();
        created.tensors.push_back(found->second);
      }
      result.calls.push_back(std::move(created));
    }
  }
  return result;
}

}  // namespace layerbench::model
