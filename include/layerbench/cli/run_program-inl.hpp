// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/backend/host_buffer.hpp>
#include <layerbench/backend/registry.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/processor_name.hpp>
#include <layerbench/base/quiet.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/base/version.hpp>
#include <layerbench/cli/context.hpp>
#include <layerbench/cli/curve_run.hpp>
#include <layerbench/cli/launcher.hpp>
#include <layerbench/cli/measure_suite.hpp>
#include <layerbench/cli/run_program.hpp>
#include <layerbench/cli/select.hpp>
#include <layerbench/machine/core_latency.hpp>
#include <layerbench/machine/frequency_probe.hpp>
#include <layerbench/machine/machine_watch.hpp>
#include <layerbench/ranks/communicator.hpp>
#include <layerbench/ranks/data_parallel.hpp>
#include <layerbench/ranks/worker.hpp>
#include <layerbench/session/backend_selection.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/session/other_stream.hpp>
#include <layerbench/session/streams.hpp>
#include <layerbench/session/suite.hpp>
#include <layerbench/topology/numa.hpp>
#include <layerbench/topology/this_machine.hpp>
#include <layerbench/topology/thread_binding.hpp>

namespace layerbench::run {

namespace detail {

inline void print_list(const std::vector<benchmark_row*>& selected) {
  fmt::print("{:>5}  {:>12}  {:>10}  name\n", "count", "FLOPs", "bytes");
  for (const benchmark_row* item : selected) {
    const row_spec& what = item->spec();
    const plan_request& request = what.request;
    const auto flops = static_cast<double>(what.op.work(request.pass).flops);
    const auto bytes =
        static_cast<double>(op::least_bytes(what.op.operands(request.pass, request.type)));
    fmt::print("{:>5}  {:>12}  {:>10}  {}\n", what.count, units::si(flops, "FLOP"),
               units::si(bytes, "B"), item->name().text());
  }
}

inline void print_backends(const registry& known) {
  for (const auto& [name, reason] : probe_all(known)) {
    fmt::print("{:<10} {}\n", name, reason ? "no: " + *reason : "available");
  }
}

/// What the rows of these options use of the machine.
[[nodiscard]] inline machine::resource_request resources_of(const options& o, const suite& all,
                                                            const registry& known) {
  machine::resource_request most;
  const int asked = std::ranges::max(o.threads);
  for (const backend_entry& entry : known.backends) {
    const bool used =
        o.backends.empty() || std::ranges::find(o.backends, entry.name) != o.backends.end();
    if (!used || entry.threads_used(asked) < most.threads) continue;
    most.threads = entry.threads_used(asked);
    most.processors = entry.processors();
  }
  most.machine = machine::this_machine();
  most.binding = binding_of(known);
  most.numa = from_name<machine::numa_policy>(o.numa).value();
  most.processes = launched_processes();
  for (const auto& [model_case, bytes] : all.footprint)
    most.footprint = std::max(most.footprint, bytes);
  return most;
}

inline void warn_of_crowding(const machine::resource_request& of) {
  if (of.threads <= of.processors) return;
  note(
      fmt::format("--threads={}: oversubscribed ({} threads, {} CPU{}): timings will be unreliable",
                  of.threads, of.threads, of.processors, of.processors == 1 ? "" : "s"));
}

/// Places the memory of the backends on processors as the options say.
inline void place_memory(const options& o, const registry& known) {
  const machine::processor_list first = machine::processors_by_thread(binding_of(known), 1).front();
  host_buffer::use_nodes(machine::nodes_for(from_name<machine::numa_policy>(o.numa).value(),
                                            machine::this_machine(), first));
}

/// Throws usage_error where several copies of a program were started that know nothing of each
/// other: they would disturb each other, and replace each other's results.
inline void require_one_copy(const program& what, const registry& known) {
  const launch of = this_launch();
  if (of.processes <= 1 || leads_ranks(known)) return;
  const std::string_view alone =
      of.launcher == "srun" ? "start one, with srun --ntasks=1" : "start it without mpirun";
  throw usage_error(fmt::format(
      "{} copies of {} were started by {}, which would measure beside each other; {}", of.processes,
      what.name, of.launcher,
      what.collective ? "configure with -DLAYERBENCH_MPI=ON for ranks of one program" : alone));
}

/// What the libraries say of themselves.
[[nodiscard]] inline machine::check_result check_library(const backend_entry& entry) {
  const std::string backend(entry.name);
  if (const auto reason = entry.probe()) {
    return {backend, machine::verdict::note, "cannot run here: " + *reason};
  }
  description facts;
  entry.describe(facts);
  machine::check_result result{backend, machine::verdict::ok, "can run here"};
  const std::string prefix = backend + "_";
  for (const auto& [name, fact] : facts) {
    if (!name.starts_with(prefix) || name == prefix + "hash") continue;
    result.what += fmt::format("; {} {}", name.substr(prefix.size()), fact.value);
  }
  const auto compiled = facts.find(prefix + "compiled_version");
  if (compiled != facts.end() && compiled->second.value != facts[prefix + "version"].value) {
    result.how = machine::verdict::note;
    result.remedy = "LD_LIBRARY_PATH puts another library before the one it was built with";
  }
  return result;
}

/// Looks for a second at the machine, and at the processors that the rows would use, if there are
/// any rows and so many processors.
inline std::vector<machine::check_result> probe_machine(
    const suite& all, const machine::resource_request& resource_request) {
  const machine_watch watch(resource_request);
  const auto threads = [](const auto& item) { return item->threads(); };
  const auto most = std::ranges::max_element(all.rows, {}, threads);
  if (most == all.rows.end() || resource_request.threads > resource_request.processors) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    return watch.check_results(std::nullopt, std::nullopt);
  }
  const std::unique_ptr<frequency_probe> speed = frequency_probe_of((*most)->device());
  const double end = stopwatch::now() + 1;
  while (stopwatch::now() < end) static_cast<void>(speed->at_usual_speed());
  return watch.check_results(speed->slow_share(), longest_core_to_core_latency((*most)->device()));
}

/// Prints whether the machine is fit to measure, on one screen.
[[nodiscard]] inline exit_code check_machine(const suite& planned,
                                             const machine::resource_request& resource_request,
                                             const registry& known) {
  std::vector<machine::check_result> all = probe_machine(planned, resource_request);
  for (const backend_entry& entry : known.backends) all.push_back(check_library(entry));
  fmt::print("layerbench {} on {}\n\n{}", version_text(), machine::processor_name(),
             machine::report(all));
  return machine::summary(all) == "fit" ? exit_code::done : exit_code::incomplete;
}

/// Whether ranks use GPUs: if a backend of these is named. It is the same on all ranks, whatever
/// their hosts have.
[[nodiscard]] inline bool ranks_use_gpus(const options& o, const registry& known) {
  return std::ranges::any_of(entries_of(o.backends, known),
                             [](const backend_entry& entry) { return !entry.on_host; });
}

/// Notes if this rank lacks processors that it needs beside the one which starts calls: for the
/// thread of the driver that holds a stream, and for the one that starts overlapped all-reduces.
inline void note_processors_of_gpu_rank(const options& o, const registry& known) {
  const std::size_t least = o.during.empty() ? 2 : 3;
  const std::size_t processors = binding_of(known).processors().size();
  if (processors >= least) return;
  note(
      fmt::format("--ranks: a rank has {} CPU{} and needs {} beside its GPU, or timings will be "
                  "too long; start with mpirun --map-by slot:PE={}",
                  processors, processors == 1 ? "" : "s", least, least));
}

/// The ranks that train together; null where they are not to. Throws usage_error, unavailable and
/// unsupported.
[[nodiscard]] inline std::unique_ptr<communicator> ranks_for(const options& o,
                                                             const registry& known,
                                                             const communicator_factory& make) {
  if (!o.data_parallel && !o.during.empty())
    throw usage_error("--during: an allreduce needs several ranks; add --ranks");
  if (!o.data_parallel) return nullptr;
  if (o.phase != "training")
    throw usage_error("--ranks: only training needs several; add --phase=training");
  if (o.turns)
    throw usage_error("--turns: would stop one of the ranks only; leave it out with --ranks");
  if (!make)
    throw usage_error("--ranks: configure with -DLAYERBENCH_MPI=ON for ranks of one program");
  if (o.plans == "measured") {
    throw usage_error(
        "--ranks: each would choose plans of its own; measure them without --ranks, and use them "
        "with --plans=FILE");
  }
  require_connection();
  std::unique_ptr<communicator> result = make();
  require_all_ranks(result->size());
  if (result->size() == 1) {
    throw usage_error(
        "--ranks: there is one; mpirun -np N (as root with --allow-run-as-root) or srun --mpi=pmix "
        "--ntasks=N starts N of them");
  }
  if (!o.list && !o.list_tests && ranks_use_gpus(o, known)) {
    if (o.device_number() != 0) {
      throw usage_error(
          fmt::format("--device={}: --ranks gives each rank a GPU; leave it out", o.device));
    }
    result->take_gpus();
    if (result->is_leader()) note_processors_of_gpu_rank(o, known);
  }
  if (!o.during.empty()) result->prepare_background_allreduce();
  return result;
}

/// Throws unavailable if all all-reduces are of a single rank, unless the user insists.
inline void require_communication(const options& o, const registry& known,
                                  const std::vector<benchmark_row*>& selected) {
  const auto sends = [&](const benchmark_row* row) {
    return ranks_of(row->name().model_case.backend, known).value_or(o.ranks) > 1;
  };
  if (o.yes || std::ranges::any_of(selected, sends)) return;
  const backend_entry* used = known.find(selected.front()->name().model_case.backend);
  // A note of the suite says how to start more processes.
  throw unavailable(fmt::format("one rank sends nothing{}; --yes times the calls alone",
                                used->more_ranks.empty() ? "; start more with --ranks=N" : ""));
}

/// A worker's suite. Errors of its device end all ranks, since the leader may have none; others
/// are thrown on all ranks.
template <class Plan>
[[nodiscard]] suite planned_or_abort(communicator& ranks, const Plan& plan) {
  try {
    return plan();
  } catch (const error& e) {
    if (e.code() == exit_code::failure) ranks.abort_all(e.what());
    throw;
  }
}

}  // namespace detail

LAYERBENCH_INLINE exit_code run_program(const options& asked, char* self, const program& what,
                                        const registry& known, const epilogue& after,
                                        const communicator_factory& make_communicator) {
  if (asked.list_backends) {
    detail::print_backends(known);
    return exit_code::done;
  }
  std::vector<std::string> notes;
  const options o = detail::with_defaults_of_backends(asked, what, known, notes);
  detail::place_memory(o, known);
  initialize_google_benchmark(self);
  if (is_other_stream()) {
    serve_stream(o, what, known);
    return exit_code::done;
  }
  if (o.curve && !o.list && !o.list_tests && !o.check_machine) {
    return measure_curve(o, what, known, [&](const options& one) {
      const auto no_summary = [](const auto&, const auto&, bool) {};
      return run_program(one, self, what, known, no_summary, make_communicator);
    });
  }
  const std::unique_ptr<communicator> ranks = detail::ranks_for(o, known, make_communicator);
  // Listing and measuring plan what the filter selects; the machine is checked for all.
  const auto plan_all = [&] {
    return make_suite(o, what, known, ranks.get(),
                      o.check_machine ? name_filter{} : name_filter_of(o.filter));
  };
  if (ranks && !ranks->is_leader()) {
    const suite own = detail::planned_or_abort(*ranks, plan_all);
    worker(*ranks, own, {.seed = o.seed, .verify_every_output = o.verify}).serve();
    return exit_code::done;
  }
  suite all = plan_all();
  if (ranks) distribute(all, *ranks);
  notes.insert(notes.end(), all.notes.begin(), all.notes.end());
  if (detail::takes_threads_of_openmp(o)) {
    notes.push_back(fmt::format("threads: {}, by {}", fmt::join(o.threads, ", "),
                                detail::openmp_threads_variable));
  }
  for (const std::string& text : notes) note(text);
  if (!machine::this_machine().note.empty()) note(machine::this_machine().note);
  const machine::resource_request resource_request = detail::resources_of(o, all, known);
  if (o.check_machine) return detail::check_machine(all, resource_request, known);
  const std::vector<benchmark_row*> selected = select(all.rows, o.filter);
  if (selected.empty() && all.lost.empty()) {
    const std::vector<std::string> names =
        names_of(make_suite(o, what, known, ranks.get(), /*wanted=*/{}).rows);
    if (!names.empty()) throw no_match(names, o.filter);
    throw nothing_matched(fmt::format("no model of {} has a layer that {} measures",
                                      fmt::join(o.models, ", "), what.name));
  }
  if (o.list || o.list_tests) {
    if (o.list) detail::print_list(selected);
    for (const benchmark_row* item : selected) {
      if (o.list_tests) fmt::print("{}\n", item->name().text());
    }
    return exit_code::done;
  }
  if (!ranks) detail::require_one_copy(what, known);
  if (what.collective && all.lost.empty()) detail::require_communication(o, known, selected);
  detail::warn_of_crowding(resource_request);
  return measure_suite(o, what, known, all, selected, resource_request, after);
}

}  // namespace layerbench::run
