// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <layerbench/model/find.hpp>
#include <layerbench/model/fusion.hpp>
#include <layerbench/model/optimizer.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/timing/clock.hpp>

namespace layerbench::run {

/// When the program began. Initialised before main.
inline const double program_start = stopwatch::now();

/// What a benchmark program is asked to do; the defaults are those that --help shows.
struct options {
  std::vector<std::string> models{"resnet50", "vgg16", "alexnet"};
  std::vector<std::int64_t> batches;  ///< empty: each model file's own
  std::vector<std::int64_t> tokens;   ///< of a sequence in a step; empty: each model file's own
  std::vector<std::int64_t> context;  ///< tokens before these; empty: each model file's own
  std::vector<std::string> dtypes{"f32"};
  std::vector<std::string> backends;  ///< empty: all that can run, reference if no other can
  std::vector<int> threads;           ///< empty: default_threads
  std::vector<int> streams{1};        ///< instances of the model that share the threads
  std::string places;                 ///< of threads, as in OMP_PLACES; empty: chosen
  std::string numa = "first-touch";   ///< where memory lies: a machine::numa_policy
  std::string phase = "inference";
  std::string optimizer = "momentum";  ///< of training steps
  std::optional<bool>
      fused_update;             ///< of all weights in one call; unset: if all backends are of GPUs
  bool zero_gradients = false;  ///< gradients are zeroed, then added to
  bool data_parallel = false;   ///< all ranks train together
  std::string during;           ///< "allreduce": backward rows are timed during one, too; or empty
  std::vector<std::string> caches;          ///< empty: model; hot for the rows of a sweep
  std::vector<std::string> data{"normal"};  ///< a run::number_class each
  std::string timing;  ///< single, stream or graph, where a device has a choice; empty: default
  /// Of GPUs: burst; steady: work precedes each pass until clocks are steady; lock or lock:MHZ.
  std::string clocks = "burst";
  std::string speed = "usual";  ///< of the processors at which samples count: usual or any
  bool turns = false;           ///< stop before each round, so that other programs take turns
  std::string layout = "nhwc";
  std::vector<std::string> fusions{std::string(model::no_fusion)};
  std::string memory = "fresh";  ///< of activations; or reused
  std::vector<std::string> in_place{
      model::usually_in_place().begin(),
      model::usually_in_place().end()};  ///< ops that write over their source
  std::int64_t ranks = 2;                ///< of backends whose ranks are all in this process
  std::vector<std::string> collectives{"all_reduce"};  ///< kinds of op::collective
  bool registered = false;   ///< collectives in memory that is registered with the library
  bool yes = false;          ///< run collectives although one rank sends nothing
  std::string device = "0";  ///< number, or all
  std::size_t workspace_limit = plan_request{}.workspace_limit;  ///< bytes
  std::string plans = "heuristic";                               ///< or measured, or a result file
  std::string shapes = model::default_shapes_directory();
  bool wide = false;
  bool percentiles = false;  ///< columns of the table
  bool quiet = false;        ///< results and errors alone
  bool overwrite = false;    ///< whatever the result file holds
  bool list = false;
  bool list_backends = false;
  bool check_machine = false;
  bool verify = false;
  std::uint64_t seed = 1;
  std::string resume;
  bool curve = false;            ///< steps of some sizes, to predict those of all
  bool in_curve = false;         ///< one of the runs of these, which says nothing of disturbances
  std::string energy;            ///< empty: none; steps: of whole steps; layers: of each layer, too
  std::string meter;             ///< command that reads a meter; empty: the machine's own counter
  std::string meter_unit = "J";  ///< what it prints: joules since some time, or watts (W)
  std::string chain;  ///< empty: none; steps: the whole step; layers: each layer in it, too
  std::string precision = "1";  ///< percent
  std::string most_time = "15";
  std::string budget;  ///< seconds, of which those since `started` are spent
  double started = program_start;

  std::string filter;
  bool list_tests = false;
  std::string out;
  std::string out_format = "json";
  std::string format = "console";
  std::string color = "auto";
  bool counters_tabular = false;
  std::optional<bool> aggregates_only;  ///< of the display; unset: one line per row
  bool file_aggregates_only = false;
  std::vector<std::string> user_context;
  std::string time_unit;  ///< ns, us, ms or s; empty: ns in files, one that fits in the table
  bool dry_run = false;   ///< each row runs once
  std::string min_time = "0.005";
  int repetitions = 7;

  int default_threads = 1;         ///< as many as a backend of this build can use
  std::vector<std::string> words;  ///< of the command line, the program's name first
  std::string command;             ///< the command line, as a shell reads it
  std::map<std::string, std::string>
      variables;  ///< by option: the environment variable that set it

  /// The option that asks for chains, for messages.
  [[nodiscard]] std::string_view chain_option() const {
    return energy.empty() ? "--chain" : "--energy";
  }
  [[nodiscard]] bool on_all_devices() const { return device == "all"; }
  /// 0 for all.
  [[nodiscard]] int device_number() const { return std::atoi(device.c_str()); }

  /// The rate at which clocks are to be held, 0: one that the GPU chooses; nothing: at none.
  [[nodiscard]] std::optional<int> locked_mhz() const {
    if (!clocks.starts_with(lock)) return std::nullopt;
    return clocks == lock ? 0 : std::atoi(clocks.c_str() + lock.size() + 1);
  }
  static constexpr std::string_view lock = "lock";

  [[nodiscard]] model::training training() const {
    model::training how{.rule = from_name<op::update_rule>(optimizer).value()};
    how.fused = fused_update.value_or(false);
    how.zeroed = zero_gradients;
    return how;
  }
};

}  // namespace layerbench::run
