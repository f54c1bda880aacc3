// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/host_buffer.hpp>
#include <layerbench/backend/registry.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/cache_state/state.hpp>
#include <layerbench/model/collectives.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/fusion.hpp>
#include <layerbench/model/peak.hpp>
#include <layerbench/model/reuse.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/model/training.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/session/autotuner.hpp>
#include <layerbench/session/backends.hpp>
#include <layerbench/session/benchmark_row.hpp>
#include <layerbench/session/chain.hpp>
#include <layerbench/session/collectives.hpp>
#include <layerbench/session/model_variants.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/session/planned_step.hpp>
#include <layerbench/session/program.hpp>
#include <layerbench/session/suite_devices.hpp>

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

namespace detail {

/// A case, and what all its rows share.
struct case_settings {
  result::case_name model_case;
  plan_request request;
  int threads;
  number_class numbers;
  std::vector<std::string> caches;
};

/// Fills a suite, case by case.
class suite_builder {
 public:
  suite_builder(const options& o, const program& what, const registry& known, suite& all,
                data_parallel_group* ranks, timing_mode timing, name_filter wanted);

  /// Adds a case of a model: its manifest and the rows of this program; or of one row of a
  /// sweep, which is in no manifest. Does nothing where no row of it is wanted.
  void add_case(const model::graph& graph, const case_settings& c);

  /// The list of peaks for that backend and so many threads. Streams are the same in all data
  /// types, and measured in the first.
  [[nodiscard]] model::graph peaks(const std::string& backend, const std::string& type,
                                   int threads);

  [[nodiscard]] model::graph host_peaks(const backend_entry& entry, int threads) const;

  /// Collectives of the sizes of a model's gradients, or those of a sweep; without either, of
  /// powers of two.
  [[nodiscard]] model::graph collectives(const std::optional<model::graph>& trained, dtype type,
                                         std::int64_t ranks);

  /// The settings of a case, with those of its parameters that its name must show.
  [[nodiscard]] case_settings settings_of(const model::graph& graph, const std::string& backend,
                                          const std::string& type, int threads,
                                          number_class numbers) const;

  /// Ranks of a backend: as many as were started, or as the user wants in this program.
  [[nodiscard]] std::int64_t ranks(const std::string& backend) const;

 private:
  /// The cache states of its rows. Those of sweeps are hot, as in the benchmarks they come from.
  [[nodiscard]] std::vector<std::string> caches_of(const model::graph& graph) const;

  [[nodiscard]] model::step step_of(const model::graph& graph, dtype type) const;

  /// Whether activations of the model share memory. Rows of sweeps have no others to share it with.
  [[nodiscard]] bool reuses_memory(const model::graph& graph) const;

  /// Whether the op is one of the program's.
  [[nodiscard]] bool is_program_op(const op::any& op) const;

  /// Names of all rows that the case may have, without planning it. Among them are those of all
  /// reorders that a library might want.
  [[nodiscard]] std::vector<std::string> possible_names(const case_settings& c,
                                                        const model::step& step,
                                                        bool reordered) const;

  /// Whether the program measures the primitive: it is of its ops, or was inserted before or behind
  /// them.
  [[nodiscard]] bool measures(const model::step& step, const model::primitive& p) const;

  void add_rows(const case_settings& c, const std::shared_ptr<device_context>& memory,
                const std::shared_ptr<planned_step>& step, const model::primitive& p,
                const result::planned& planned);

  /// The step run whole; with `beside` gradients are sent while it computes.
  void add_chain(const case_settings& c, const std::shared_ptr<device_context>& memory,
                 const std::shared_ptr<planned_step>& step,
                 const std::vector<model::primitive>& primitives,
                 data_parallel_group* beside = nullptr);

  /// Rows of what is computed while gradients are sent: in the backward part. They are in states of
  /// the same step, and of no manifest of their own.
  void add_contended(case_settings c, const std::shared_ptr<device_context>& memory,
                     const std::shared_ptr<planned_step>& step,
                     const std::vector<model::primitive>& primitives,
                     const std::vector<result::planned>& step_plan);

  const options& o_;
  const program& what_;
  const registry& known_;
  suite& all_;
  data_parallel_group* ranks_;
  timing_mode timing_;
  name_filter wanted_;
  suite_devices devices_;
  std::set<std::pair<result::case_name, std::string>> added_;  ///< with the sweep's row
};

/// Adds the collectives of the models, or a sweep of their sizes.
template <class AddCases>
void add_collectives(const options& o, const registry& known, suite_builder& maker,
                     const AddCases& add_cases) {
  model_names names;
  for (const std::string& name : o.models) {
    std::optional<model::graph> trained;
    if (name != model::sweep_model) {
      const std::filesystem::path path = model::find(name, o.shapes);
      trained = model::load(path, std::nullopt, known.ops);
      names.add(trained->name, path);
    }
    add_cases([&](const std::string& on, const std::string& type, int) {
      return maker.collectives(trained, dtype_from(type).value(), maker.ranks(on));
    });
  }
}

}  // namespace detail

/// Builds the suite of a program: its ops, in all models, under all conditions of `o`, in the
/// order models, batches, tokens, contexts, fusions, backends, data types, threads, data. Needs no
/// device, but for layout any, reused memory and training, where the library decides what a step
/// consists of.
/// With `ranks` steps are those of models that these train together. Where no row of a case is
/// `wanted` it is not planned, and in none of the lists. Throws bad_input, usage_error,
/// unavailable.
[[nodiscard]] suite make_suite(const options& o, const program& what, const registry& known,
                               data_parallel_group* ranks = nullptr,
                               const name_filter& wanted = {});

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/session/suite-inl.hpp>
#endif
