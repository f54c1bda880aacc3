// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <layerbench/backend/timing_mode.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/number_ranges.hpp>
#include <layerbench/base/quiet.hpp>
#include <layerbench/base/terminal.hpp>
#include <layerbench/base/version.hpp>
#include <layerbench/cache_state/number_class.hpp>
#include <layerbench/cache_state/state.hpp>
#include <layerbench/cli/command_line.hpp>
#include <layerbench/cli/launcher.hpp>
#include <layerbench/cli/messages.hpp>
#include <layerbench/cli/openmp_places.hpp>
#include <layerbench/cli/option_values.hpp>
#include <layerbench/cli/resumed_command.hpp>
#include <layerbench/help/completion.hpp>
#include <layerbench/help/formatter.hpp>
#include <layerbench/model/collectives.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/memory_reuse.hpp>
#include <layerbench/op/allreduce.hpp>
#include <layerbench/op/collective.hpp>
#include <layerbench/op/update.hpp>
#include <layerbench/session/streams.hpp>
#include <layerbench/shape/dims.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/shape/layout.hpp>
#include <layerbench/shape/record.hpp>
#include <layerbench/topology/numa.hpp>
#include <layerbench/topology/this_machine.hpp>
#include <layerbench/topology/thread_binding.hpp>
#include <layerbench/topology/thread_places.hpp>
#include <layerbench/topology/topology.hpp>

namespace layerbench::run {

namespace detail {

/// An option that takes a list of whole numbers from `least` on, and ranges of them.
inline void add_numbers(CLI::App& app, const char* name, std::vector<std::int64_t>& numbers,
                        std::int64_t least, const char* help, const char* variable) {
  app.add_option_function<std::vector<std::string>>(
         name, [&numbers](const auto& texts) { numbers = numbers_in(texts); }, help)
      ->envname(variable)
      ->type_name("N|N..N")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Validator(
          [least](const std::string& text) { return check_range(text, least, max_size); },
          fmt::format("{} to {}", least, max_size)));
}

inline void add_model_options(CLI::App& app, options& o) {
  app.option_defaults()->group(what_is_measured);
  add_list(app, "--model,model", "NAME|FILE", o.models,
           "Models or sweeps, by name or by path of a shape file or an ONNX model; '--model=' may "
           "be omitted\n--model=resnet50,mine.json",
           "LAYERBENCH_MODEL")
      ->allow_extra_args()
      ->capture_default_str();
  add_numbers(app, "--batch", o.batches, 1,
              "Batch sizes, or ranges of them [that of the shape file]\n--batch=1,16",
              "LAYERBENCH_BATCH");
  add_numbers(app, "--tokens", o.tokens, 1,
              "Tokens that a step computes of each sequence; 1 decodes a text [those of the shape "
              "file]\n--tokens=128",
              "LAYERBENCH_TOKENS");
  add_numbers(app, "--context", o.context, 0,
              "Tokens before these, in the key-value cache [those of the shape file]\n"
              "--tokens=1 --context=512",
              "LAYERBENCH_CONTEXT");
  add_one(app, "--shapes", "DIR", o.shapes,
          "Directory with models/*.json and sweeps/*.json [the one that came with the program]",
          "LAYERBENCH_SHAPES");
}

/// The conditions under which calls run.
inline void add_condition_options(CLI::App& app, options& o) {
  add_list(app, "--dtype", "TYPE", o.dtypes, "Data types\n--dtype=f32,bf16", "LAYERBENCH_DTYPE")
      ->check(one_of(text_list(dtype_names)))
      ->capture_default_str();
  add_list(
      app, "--backend", "NAME", o.backends,
      "Libraries; --backends lists them [all that can run here, except mkl, openblas, blis and, "
      "for models, cublas; else reference]\n"
      "--backend=onednn",
      "LAYERBENCH_BACKEND");
  add_list(app, "--threads", "N", o.threads,
           "Threads; each number is measured [OMP_NUM_THREADS, else one per processor]\n"
           "--threads=1,2",
           "LAYERBENCH_THREADS")
      ->check(whole_number(1, 4096));
  add_one(
      app, "--places", "PLACES", o.places,
      "Processors of the threads, as OMP_PLACES has them [cores of as few last-level caches, NUMA "
      "nodes and sockets as possible, then SMT siblings]\n--places={0}:8",
      "LAYERBENCH_PLACES")
      ->check(check_places);
  add_one(app, "--numa", "POLICY", o.numa,
          "NUMA nodes of memory: that of the thread that touches it first, all of them page by "
          "page, or that of the first thread\n--numa=interleave",
          "LAYERBENCH_NUMA")
      ->check(one_of(text_list(enum_names<machine::numa_policy>)))
      ->capture_default_str();
  add_list(app, "--cache", "STATE", o.caches,
           "Where operands are cached when a call starts; hot: in the nearest cache, model: as in "
           "a step of the model, cold: nowhere [model; sweeps: hot]\n--cache=model,hot",
           "LAYERBENCH_CACHE")
      ->check(one_of(text_list(enum_names<cache_state>)));
  add_list(app, "--data", "CLASS", o.data,
           "Numbers that timed calls compute with; zeros and denormal numbers have rows of their "
           "own; verification uses normal ones\n--data=normal,denormal",
           "LAYERBENCH_DATA")
      ->check(one_of(text_list(enum_names<number_class>)))
      ->capture_default_str();
  add_one(app, "--timing", "MODE", o.timing,
          "How GPU calls are timed: single calls, in a stream, in a graph [graph; of several "
          "ranks: stream]\n--timing=single",
          "LAYERBENCH_TIMING")
      ->check(one_of(text_list(enum_names<timing_mode>)));
  add_one(app, "--clocks", "STATE", o.clocks,
          "Clock of a GPU while it is timed: burst, steady (work precedes each pass), lock (at the "
          "rated clock) or lock:MHZ; locking usually needs root\n--clocks=lock:1410",
          "LAYERBENCH_CLOCKS")
      ->check(check_clocks)
      ->capture_default_str();
  add_one(app, "--layout", "ORDER", o.layout,
          "Memory order of activations; any: what the library prefers, with reorders between "
          "layers\n--layout=any",
          "LAYERBENCH_LAYOUT")
      ->check(one_of(text_list(enum_names<layout>)))
      ->capture_default_str();
}

/// Of which calls and tensors a step consists, and which plans it uses.
inline void add_form_options(CLI::App& app, options& o) {
  add_list(app, "--fusion", "NAME|FILE", o.fusions,
           "Which layers run as one call, as in inference engines, by name or by path of a fusion "
           "plan; 'layerbench list --fusions' shows all\n--fusion=none,openvino",
           "LAYERBENCH_FUSION")
      ->capture_default_str();
  add_one(app, "--memory", "MODE", o.memory,
          "Memory of activations; fresh: each has its own, as in frameworks; reused: each is "
          "written over one that no later layer reads, as in inference engines\n--memory=reused",
          "LAYERBENCH_MEMORY")
      ->check(one_of(text_list(enum_names<model::memory_mode>)))
      ->capture_default_str();
  add_list(app, "--in-place", "OP", o.in_place,
           "Ops that write over their source if no other layer reads it; or none\n--in-place=none",
           "LAYERBENCH_IN_PLACE")
      ->check(one_of({"activation", "add", "none"}))
      ->capture_default_str();
  add_one(
      app, "--device", "N|all", o.device,
      "Number of the device (a CPU is 0), or all: every GPU at the same time, one process and one "
      "result file per GPU; needs --benchmark_out\n--device=all --benchmark_out=r.json",
      "LAYERBENCH_DEVICE")
      ->check(check_device)
      ->capture_default_str()
      ->take_last();
  add_one(app, "--workspace-limit", "SIZE", o.workspace_limit,
          "Scratch memory that a plan may use [4GiB]\n--workspace-limit=64MiB",
          "LAYERBENCH_WORKSPACE_LIMIT")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true));
  add_one(app, "--plans", "heuristic|measured|FILE", o.plans,
          "Which plan of a library runs: the one it chooses, the fastest of those it offers, or "
          "that of a result file\n--plans=measured",
          "LAYERBENCH_PLANS")
      ->capture_default_str();
}

inline void add_phase_options(CLI::App& app, options& o) {
  add_one(app, "--phase", "PHASE", o.phase, "What a step is for", "LAYERBENCH_PHASE")
      ->check(one_of({"inference", "training"}))
      ->capture_default_str();
  add_one(app, "--optimizer", "NAME", o.optimizer, "How a training step updates the weights",
          "LAYERBENCH_OPTIMIZER")
      ->check(one_of(text_list(op::optimizers)))
      ->capture_default_str();
  app.add_option_function<bool>(
         "--fused-update", [&o](const bool& fused) { o.fused_update = fused; },
         "Update all weights in one call; false: one call per tensor [true if all backends are "
         "of GPUs, else false; without a value: true]")
      ->type_name("BOOLEAN")
      ->expected(0, 1)
      ->default_str("true")
      ->envname("LAYERBENCH_FUSED_UPDATE");
  app.add_flag("--zero-gradients", o.zero_gradients,
               "Set gradients to 0 and accumulate them [overwrite them]")
      ->envname("LAYERBENCH_ZERO_GRADIENTS");
}

inline void add_step_options(CLI::App& app, options& o) {
  app.add_flag("--chain{steps}", o.chain,
               "Also run each model end to end, to validate predictions; layers: with clocks "
               "between its layers, to see where errors come from [no; without a value: "
               "steps]\n--chain=layers")
      ->envname("LAYERBENCH_CHAIN")
      ->check(one_of({"steps", "layers"}));
  app.add_flag(
         "--curve", o.curve,
         "Measure some of the sizes in --batch, --tokens or --context, within 60 s or "
         "--budget for each model and number of threads and streams, each size by 5 rounds or "
         "fewer and in a twelfth of that time, and predict all\n--curve --batch=1..64 "
         "--benchmark_out=r.json")
      ->envname("LAYERBENCH_CURVE");
  add_list(app, "--streams", "N", o.streams,
           "Instances of the model side by side that share the threads, as servers run them; each "
           "number is measured. Layers and steps of one are timed while the others "
           "run\n--streams=1,2,4",
           "LAYERBENCH_STREAMS")
      ->check(whole_number(1, 4096))
      ->capture_default_str();
  app.add_flag("--ranks", o.data_parallel,
               "Under mpirun: data-parallel training, with all-reduces of the gradients; with "
               "--backend=cudnn on a GPU per rank\n"
               "mpirun -np 2 bench_model --phase=training --ranks")
      ->envname("LAYERBENCH_RANKS");
  add_one(app, "--during", "OP", o.during,
          "Also time the backward layers during all-reduces; with --chain, also the step that "
          "overlaps both [no]\n--during=allreduce",
          "LAYERBENCH_DURING")
      ->check(one_of({std::string(op::allreduce::name)}));
}

inline void add_collective_options(CLI::App& app, options& o) {
  o.in_place = {std::string(op::allreduce::name)};
  add_list(app, "--collectives", "KIND", o.collectives,
           "Which collectives\n--collectives=all_gather,reduce_scatter", "LAYERBENCH_COLLECTIVES")
      ->check(one_of(text_list(enum_names<op::collective_kind>)))
      ->capture_default_str();
  add_one(app, "--ranks", "N", o.ranks,
          "Ranks of a backend that has all of them in this program (reference)", "LAYERBENCH_RANKS")
      ->check(whole_number(1, 4096))
      ->capture_default_str();
  app.add_flag_callback(
         "--out-of-place", [&o] { o.in_place = {"none"}; },
         "Write results of all_reduce, all_gather and reduce_scatter to other memory [in place, as "
         "in training]")
      ->envname("LAYERBENCH_OUT_OF_PLACE");
  app.add_flag("--registered", o.registered,
               "Arrays in memory of ncclMemAlloc that is registered with the communicator, as -R 1 "
               "of NCCL's tests [memory of cudaMalloc]")
      ->envname("LAYERBENCH_REGISTERED");
  app.add_flag("--yes", o.yes, "Measure although one rank sends nothing")
      ->envname("LAYERBENCH_YES");
}

/// How exactly, and for how long.
inline void add_measuring_options(CLI::App& app, options& o) {
  app.option_defaults()->group("How it is measured");
  add_one(app, "--precision", "PERCENT", o.precision,
          "A case is done when half the 95 % interval is narrower\n--precision=0.5",
          "LAYERBENCH_PRECISION")
      ->check(check_percent)
      ->capture_default_str();
  add_one(app, "--max-time", "SECONDS", o.most_time,
          "A case ends after this time although it is less precise, but not before the least "
          "number of rounds, unless --budget ends it\n--max-time=60",
          "LAYERBENCH_MAX_TIME")
      ->check(check_seconds)
      ->capture_default_str();
  add_one(app, "--budget", "SECONDS", o.budget,
          "Time limit of the whole run, preparation included; the program leaves out the least "
          "important rows if not all fit (exit code 4) [none]\n--budget=60",
          "LAYERBENCH_BUDGET")
      ->check(check_seconds);
  add_one(app, "--speed", "SPEED", o.speed,
          "Speed of the processors at which samples count; usual: waits while they are slow, and "
          "leaves slow samples out, any: all samples count, as in inference "
          "engines\n--speed=any",
          "LAYERBENCH_SPEED")
      ->check(one_of({"usual", "any"}))
      ->capture_default_str();
  app.add_flag("--turns", o.turns,
               "Stop before each round (SIGSTOP) until another program sends SIGCONT, as "
               "tools/engines.py does");
  add_one(app, "--seed", "N", o.seed, "Seed of the test data and of the order of rows",
          "LAYERBENCH_SEED")
      ->check(whole_number(0, std::numeric_limits<std::int64_t>::max()))
      ->capture_default_str();
  app.add_flag("--verify", o.verify,
               "Check every output against the reference before timing [a sample]")
      ->envname("LAYERBENCH_VERIFY");
  add_one(app, "--resume", "FILE", o.resume,
          "Continue the run of this result file, with the options that it records; "
          "--benchmark_out names another output\n--resume=r.json",
          "LAYERBENCH_RESUME")
      ->take_last();
  app.add_flag("--wide", o.wide,
               "Whole row names in the table, also the parts that all rows have; with "
               "--benchmark_out, bench_model then prints all rows and each case's prediction");
  app.add_flag("--percentiles", o.percentiles,
               "p50, p95 and p99 of the samples in the table, in place of time, CPU time and "
               "iterations");
  app.add_flag("--quiet", o.quiet, "Print results and errors only: no progress, no notes")
      ->envname("LAYERBENCH_QUIET");
}

/// Of programs that run whole models.
inline void add_energy_options(CLI::App& app, options& o) {
  app.add_flag("--energy{steps}", o.energy,
               "Also measure joules per step, by the counter of the processors or of the GPU, in 5 "
               "windows of at least 2 s, after the idle power; layers: of each layer, too, which "
               "takes at least 4 s per window [no; without a value: steps]\n--energy "
               "--benchmark_out=r.json")
      ->envname("LAYERBENCH_ENERGY")
      ->check(one_of({"steps", "layers"}));
  add_one(app, "--meter", "COMMAND", o.meter,
          "Shell command that reads a meter of yours and prints one number, for --energy [the "
          "machine's own counter]\n--energy --meter='cat /dev/my_meter'",
          "LAYERBENCH_METER");
  add_one(app, "--meter-unit", "UNIT", o.meter_unit,
          "What it prints: joules since some time, or the watts of this moment\n--meter-unit=W",
          "LAYERBENCH_METER_UNIT")
      ->check(one_of({"J", "W"}))
      ->capture_default_str();
}

inline void add_actions(CLI::App& app, options& o) {
  app.option_defaults()->group("Instead of measuring");
  app.add_flag("--list", o.list, "Print the rows with counts, FLOPs and bytes");
  app.add_flag("--backends", o.list_backends, "Print each backend and whether it can run");
  app.add_flag("--check-machine", o.check_machine,
               "Say whether this machine is fit to measure these models");
  app.get_option("--help")->group("Instead of measuring")->description("Print this text");
  app.get_option("--version")->group("Instead of measuring")->description("Print the version");
}

inline void add_google_options(CLI::App& app, options& o) {
  app.option_defaults()->group("Google Benchmark");
  const std::vector<std::string> formats{"console", "json", "csv"};
  const auto one = [&](const char* names, const char* type, auto& value, const char* help,
                       const char* variable) {
    return add_one(app, names, type, value, help, variable)->take_last();
  };
  const auto flag = [&](const char* names, auto& value, const char* help, const char* variable) {
    return app.add_flag(names, value, help)->envname(variable);
  };
  one("--benchmark_filter", "REGEX", o.filter,
      "Rows whose names match; a leading '-': those that do not [all]\n"
      "--benchmark_filter=resnet50/layer1",
      "BENCHMARK_FILTER");
  app.add_flag("--overwrite", o.overwrite,
               "Replace an existing output file of any content [only a result file]");
  flag("--benchmark_list_tests", o.list_tests, "Print the names that match and stop",
       "BENCHMARK_LIST_TESTS");
  one("--benchmark_out", "FILE", o.out,
      "Result file; an older one is replaced when the run is complete\n--benchmark_out=r.json",
      "BENCHMARK_OUT");
  one("--benchmark_out_format", "FORMAT", o.out_format, "Format of the result file",
      "BENCHMARK_OUT_FORMAT")
      ->check(one_of(formats))
      ->capture_default_str();
  one("--benchmark_format", "FORMAT", o.format, "Format on stdout", "BENCHMARK_FORMAT")
      ->check(one_of(formats))
      ->capture_default_str();
  one("--benchmark_color", "WHEN", o.color,
      "Colours on stdout; auto follows the terminal and NO_COLOR", "BENCHMARK_COLOR")
      ->check(one_of({"auto", "true", "false", "yes", "no", "1", "0"}))
      ->capture_default_str();
  flag("--benchmark_counters_tabular", o.counters_tabular, "Counters as columns on stdout",
       "BENCHMARK_COUNTERS_TABULAR");
  app.add_option_function<bool>(
         "--benchmark_display_aggregates_only",
         [&o](const bool& only) { o.aggregates_only = only; },
         "With true: mean, median, stddev and cv on stdout; with false: each round, too [one line "
         "per row; "
         "without a value: true]")
      ->envname("BENCHMARK_DISPLAY_AGGREGATES_ONLY")
      ->type_name("BOOLEAN")
      ->expected(0, 1)
      ->default_str("true");
  flag("--benchmark_report_aggregates_only", o.file_aggregates_only,
       "No single rounds on stdout or in the file", "BENCHMARK_REPORT_AGGREGATES_ONLY");
  add_list(app, "--benchmark_context", "KEY=VALUE", o.user_context, "Facts to store in the results",
           "BENCHMARK_CONTEXT")
      ->take_all();
}

/// Options of Google Benchmark that say how rows are timed.
inline void add_google_timing_options(CLI::App& app, options& o) {
  add_one(app, "--benchmark_time_unit", "UNIT", o.time_unit,
          "Unit of times in the results and in the table [ns; the table: one that fits]\n"
          "--benchmark_time_unit=us",
          "BENCHMARK_TIME_UNIT")
      ->check(one_of({"ns", "us", "ms", "s"}))
      ->take_last();
  app.add_flag("--benchmark_dry_run", o.dry_run,
               "Verify each row and call it once; the times are not meaningful")
      ->envname("BENCHMARK_DRY_RUN");
  add_one(app, "--benchmark_min_time", "SECONDS", o.min_time,
          "Least seconds that a row is timed in each round\n--benchmark_min_time=0.01s",
          "BENCHMARK_MIN_TIME")
      ->check(check_seconds)
      ->capture_default_str()
      ->take_last();
  add_one(app, "--benchmark_repetitions", "N", o.repetitions, "Least number of rounds",
          "BENCHMARK_REPETITIONS")
      ->check(whole_number(1, 1'000'000))
      ->capture_default_str()
      ->take_last();
}

/// What measures no steps of models has no use for some options, and one state of the caches.
inline void keep_options_of(const program& what, CLI::App& app, options& o) {
  std::vector<const char*> useless{"--batch",          "--tokens", "--context",   "--cache",
                                   "--clocks",         "--layout", "--fusion",    "--memory",
                                   "--in-place",       "--phase",  "--optimizer", "--fused-update",
                                   "--zero-gradients", "--data"};
  if (what.peaks) useless.insert(useless.end(), {"--model", "--shapes", "--timing"});
  if (what.collective) {
    useless.insert(useless.end(), {"--threads", "--places", "--numa", "--plans", "--turns"});
    app.get_option("--timing")
        ->description(
            "How GPU calls are timed: single calls, in a stream, in a graph [stream]\n"
            "--timing=graph");
  }
  for (const char* item : useless) app.remove_option(app.get_option(item));
  if (what.peaks) {
    app.get_option("--threads")
        ->description(
            "Threads; each number is measured [one, as many as one last-level cache, one NUMA node "
            "and the machine have cores, and one per processor]\n--threads=1,2");
  }
  o.caches = {std::string(name(cache_state::hot))};
}

/// The numbers of threads of the machine's domains, below `most`, and `most`.
[[nodiscard]] inline std::vector<int> threads_of_peaks(const registry& known, int most) {
  std::vector<int> counts;
  for (const int threads :
       machine::threads_of_domains(machine::this_machine(), binding_of(known).processors())) {
    if (threads < most) counts.push_back(threads);
  }
  counts.push_back(most);
  return counts;
}

/// Throws usage_error where OpenMP has not taken the places that the user wants: it leaves out
/// those with processors that the process may not use.
inline void require_places(const options& o, const registry& known) {
  const machine::thread_binding binding = binding_of(known);
  const bool listed = o.places.starts_with('{') && o.places.find('!') == std::string::npos;
  const bool bound = binding.order != machine::thread_order::free;
  const bool taken = bound && (!listed || machine::listed_places(o.places) == binding.places);
  if (o.places.empty() || taken) return;
  if (launched_processes() > 1) {
    throw usage_error(fmt::format(
        "--places={}: launchers of several processes bind these; use --bind-to of mpirun or "
        "--cpu-bind of srun",
        o.places));
  }
  std::vector<machine::processor_list> usable;
  for (const int processor : binding.processors()) usable.push_back({processor});
  throw usage_error(
      fmt::format("--places={}: this process may not use all of these processors, but only {}, by "
                  "its affinity mask, control groups and OMP_PLACES",
                  o.places, machine::places_text(usable)));
}

/// Takes the number of threads that OMP_NUM_THREADS names, as programs with OpenMP do, where a
/// chosen backend has several threads. Throws usage_error.
inline void take_threads_of_openmp(options& o, const registry& known) {
  const std::string text = openmp_threads();
  const auto uses_several = [&](const backend_entry& entry) {
    const bool chosen =
        o.backends.empty() || std::ranges::find(o.backends, entry.name) != o.backends.end();
    return chosen && entry.threads_used(2) > 1;
  };
  if (text.empty() || std::ranges::none_of(known.backends, uses_several)) return;
  if (const std::string complaint = whole_number(1, 4096)(text); !complaint.empty()) {
    throw usage_error(fmt::format("environment variable {}: {}; unset it, or give --threads",
                                  openmp_threads_variable, complaint));
  }
  o.threads = {std::stoi(text)};
  o.variables["--threads"] = openmp_threads_variable;
  o.command += " --threads=" + text;
}

/// Works out what the measurement of energy needs. Throws usage_error where it makes no sense.
inline void complete_energy(options& o) {
  if (o.meter.empty() && o.meter_unit != "J") {
    throw usage_error("--meter-unit: is of a meter; name its command with --meter");
  }
  if (o.energy.empty()) {
    if (!o.meter.empty()) throw usage_error("--meter: reads energy; add --energy");
    return;
  }
  if (o.curve) throw usage_error("--energy: is of single steps; leave out --curve");
  if (o.data_parallel) throw usage_error("--energy: is of one device; leave out --ranks");
  if (!o.meter.empty() && o.on_all_devices()) {
    throw usage_error("--meter: would count all devices for each of them; name a --device");
  }
  if (o.chain.empty()) o.chain = "steps";
}

/// Works out what depends on several options. Throws usage_error.
inline void complete_options(options& o, const program& what, const registry& known) {
  const auto chosen = [&](std::string_view name) {
    return o.backends.empty() || std::ranges::find(o.backends, name) != o.backends.end();
  };
  o.default_threads = 1;
  for (const backend_entry& entry : known.backends) {
    if (chosen(entry.name)) o.default_threads = std::max(o.default_threads, entry.processors());
  }
  require_places(o, known);
  complete_energy(o);
  if (o.threads.empty() && !what.collective) take_threads_of_openmp(o, known);
  if (o.threads.empty()) {
    o.threads =
        what.peaks ? threads_of_peaks(known, o.default_threads) : std::vector{o.default_threads};
  }
  require_streams(o, known);
  for (std::vector<std::string>* words : {&o.caches, &o.collectives}) {
    std::set<std::string> known_words;  // each once
    std::erase_if(*words, [&](const auto& word) { return !known_words.insert(word).second; });
  }
  if (o.dry_run) {
    o.repetitions = 1;
    o.min_time = o.most_time = "0";
    o.speed = "any";
  }
  if (o.plans.empty()) throw usage_error("--plans: expected heuristic, measured or a result file");
  if (!o.resume.empty() && o.out.empty()) {
    if (o.out_format != "json" || o.file_aggregates_only) {
      throw usage_error(
          "--resume: its file would be replaced by one that cannot be resumed; name another with "
          "--benchmark_out");
    }
    std::error_code unknown;
    if (o.resume == "-" || std::filesystem::is_other(o.resume, unknown)) {
      throw usage_error(fmt::format(
          "--resume={}: cannot be continued, since it is no regular file; name the result file "
          "with --benchmark_out",
          o.resume));
    }
    o.out = o.resume;
  }
}

}  // namespace detail

LAYERBENCH_INLINE std::optional<options> parse(int argc, char** argv, const program& what,
                                               const registry& known) {
  options o;
  CLI::App app(what.purpose, what.name);
  app.set_version_flag("--version", std::string(what.name) + " " + version_text());
  app.formatter(std::make_shared<help::formatter>());
  if (!what.models.empty()) o.models = what.models;
  if (what.collective) o.models.emplace_back(model::sweep_model);
  detail::add_model_options(app, o);
  detail::add_condition_options(app, o);
  detail::add_form_options(app, o);
  detail::add_phase_options(app, o);
  if (what.whole_model()) detail::add_step_options(app, o);
  detail::add_measuring_options(app, o);
  if (what.whole_model()) detail::add_energy_options(app, o);
  detail::add_google_options(app, o);
  detail::add_google_timing_options(app, o);
  detail::add_actions(app, o);
  if (!what.is_predictable()) detail::keep_options_of(what, app, o);
  if (what.collective) {
    app.option_defaults()->group(detail::what_is_measured);
    detail::add_collective_options(app, o);
  }
  const auto names = [&known](const std::string& kind) {
    if (kind != "backends") return model::list(model::default_shapes_directory(), kind);
    std::vector<std::string> backends;
    for (const backend_entry& entry : known.backends) backends.emplace_back(entry.name);
    return backends;
  };
  if (help::completes(app, argc, argv, names)) return std::nullopt;
  std::vector<std::string> words = detail::with_named_models(detail::arguments_of(argc, argv), app);
  o.variables = detail::environment_sources(app, words);
  std::vector<std::string> recorded{argv[0]};
  recorded.insert(recorded.end(), words.begin(), words.end());
  for (const auto& [option, variable] : o.variables) {
    recorded.push_back(option + '=' + std::getenv(variable.c_str()));
  }
  const std::vector<std::string> resumed =
      detail::resumed_words({recorded.begin() + 1, recorded.end()}, what, app);
  words.insert(words.end(), resumed.begin(), resumed.end());
  recorded.insert(recorded.end(), resumed.begin(), resumed.end());
  o.words.assign(argv, argv + argc);
  o.command = detail::shell_quoted(recorded);
  try {
    std::ranges::reverse(words);  // as CLI11 wants them
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", fitted(app.help(), terminal_columns()));
    return std::nullopt;
  } catch (const CLI::Success& success) {
    app.exit(success);
    return std::nullopt;
  } catch (const CLI::ParseError& e) {
    throw usage_error(fmt::format(
        "{}\nTry {} --help.",
        detail::about_variable(detail::parse_error_message(e, app), o.variables), argv[0]));
  }
  set_quiet(o.quiet);
  detail::complete_options(o, what, known);
  return o;
}

}  // namespace layerbench::run
