// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <layerbench/backend/registry.hpp>
#include <layerbench/session/autotuner.hpp>
#include <layerbench/session/backend_selection.hpp>
#include <layerbench/session/benchmark_row.hpp>
#include <layerbench/session/chain.hpp>
#include <layerbench/session/data_parallel_group.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/session/program.hpp>

namespace layerbench::run {

/// Everything a program could measure, and what the models' steps consist of.
struct suite {
  std::vector<std::unique_ptr<benchmark_row>> rows;
  result::manifest manifest;
  std::map<result::case_name, std::int64_t> footprint;  ///< distinct bytes that a step touches
  std::vector<chain_spec> chains;                       ///< of programs that run whole models
  std::shared_ptr<run::autotuner> tuner;                ///< null where libraries choose all plans
  std::vector<std::string> notes;                       ///< what a user should know, for stderr
  description between_ranks;   ///< what result files say of the libraries there
  detail::held_clocks clocks;  ///< of GPUs
  std::string lost;  ///< why the device could not be used to the end; the suite is not whole then
};

/// Whether any row of these names is wanted; empty: all are.
using name_filter = std::function<bool(const std::vector<std::string>& names)>;

/// Builds the suite of a program: its ops, in all models, under all conditions of `o`, in the
/// order models, batches, tokens, contexts, fusions, backends, data types, threads, streams, data.
/// Needs no device, but for layout any, reused memory and training, where the library decides what
/// a step consists of. With `ranks` steps are those of models that these train together. Where no
/// row of a case is `wanted` it is not planned, and in none of the lists. Throws bad_input,
/// usage_error, unavailable.
[[nodiscard]] suite make_suite(const options& o, const program& what, const registry& known,
                               data_parallel_group* ranks = nullptr,
                               const name_filter& wanted = {});

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/session/suite-inl.hpp>
#endif
