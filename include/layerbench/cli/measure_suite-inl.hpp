// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <layerbench/backend/timing_mode.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/plain_text.hpp>
#include <layerbench/base/quiet.hpp>
#include <layerbench/cli/context.hpp>
#include <layerbench/cli/google_formats.hpp>
#include <layerbench/cli/measure_suite.hpp>
#include <layerbench/cli/result_sink.hpp>
#include <layerbench/machine/energy_counter.hpp>
#include <layerbench/machine/frequency_probe.hpp>
#include <layerbench/machine/machine_watch.hpp>
#include <layerbench/machine/processor_energy.hpp>
#include <layerbench/session/chain.hpp>
#include <layerbench/session/runner.hpp>
#include <layerbench/session/stopping_criterion.hpp>

namespace layerbench::run {

namespace detail {

/// The limits that the options set; `clocks` is the state that GPUs reached. In a program of whole
/// models the sum of the rows counts.
[[nodiscard]] inline stopping_limits limits_of(const options& o, const std::string& clocks,
                                               bool whole_model) {
  stopping_limits limits{.min_rounds = o.repetitions,
                         .min_time = std::stod(o.min_time),
                         .precision = std::stod(o.precision) / 100,
                         .max_time = std::stod(o.most_time),
                         .steady_clocks = clocks == "steady",
                         .sum_rows = whole_model,
                         .single_call = o.dry_run};
  if (!o.budget.empty()) {
    limits.budget = std::stod(o.budget);
    limits.started = o.started;
  }
  return limits;
}

/// The chains that the options ask for, of cases of which a row was selected.
[[nodiscard]] inline std::vector<chain_spec> selected_chains(
    const options& o, const suite& all, const std::vector<benchmark_row*>& selected) {
  std::vector<chain_spec> chains;
  if (o.chain.empty()) return chains;
  for (const chain_spec& chain : all.chains) {
    const auto belongs = [&](const benchmark_row* row) {
      return row->name().model_case == chain.model_case;
    };
    if (std::ranges::none_of(selected, belongs)) continue;
    chains.push_back(chain);
    if (o.chain != "layers") chains.back().primitives.clear();
  }
  return chains;
}

/// The counter for the energy of these rows; null where none is wanted. Throws usage_error where
/// they are on processors and on a GPU, or are to be measured and replayed as graphs; unavailable.
[[nodiscard]] inline std::shared_ptr<energy_counter> energy_counter_for(
    const options& o, const std::vector<benchmark_row*>& rows) {
  if (o.energy.empty() || o.dry_run || rows.empty()) return nullptr;
  const auto replays = [](const benchmark_row* row) {
    return row->device().timing() == timing_mode::graph;
  };
  if (o.energy == "layers" && std::ranges::any_of(rows, replays)) {
    throw usage_error(
        "--energy=layers: windows have no calls that are replayed as a graph; add --timing=stream");
  }
  if (!o.meter.empty()) {
    try {
      return meter_by_command(o.meter, o.meter_unit);
    } catch (const energy_error& e) {
      throw unavailable(fmt::format("--meter: {}", e.what()));
    }
  }
  compute_device& device = rows.front()->device();
  if (!std::ranges::all_of(rows, [&](const benchmark_row* row) {
        return row->device().is_host() == device.is_host();
      })) {
    throw usage_error(
        "--energy: processors and GPUs have different counters; choose one --backend, or --meter");
  }
  return device.is_host() ? processor_energy() : gpu_energy(device);
}

/// Measures the selected rows and their chains into `sink`, which writes and prints them. Returns
/// whether the user interrupted. `watch` leaves out the turns of other programs. Throws device_lost
/// when what was measured is written.
inline bool measure(const options& o, const suite& all, const stopping_limits& limits,
                    const std::vector<benchmark_row*>& selected, machine_watch& watch,
                    const energy_request& energy, const registry& known, result_sink& sink) {
  if (!all.lost.empty()) {
    sink.finish(/*interrupted=*/true);
    throw device_lost(all.lost);
  }
  std::optional<stream_group> streams;
  if (std::ranges::max(o.streams) > 1) streams.emplace(o, binding_of(known));
  runner measuring(selected, selected_chains(o, all, selected), limits,
                   {.seed = o.seed, .verify_every_output = o.verify}, processor_times_now,
                   o.speed == "any" ? any_speed : frequency_probe_of, stopwatch::now, energy,
                   streams ? &*streams : nullptr);
  const auto take_turns = [&] {
    if (o.turns) watch.leave_out([] { static_cast<void>(std::raise(SIGSTOP)); });
  };
  const auto note_machine_state = [&] {
    if (streams) watch.set_other_streams(streams->processor_seconds());
    sink.set_machine_state(o.speed == "any" ? std::nullopt : measuring.slow_share(),
                           measuring.core_latency());
  };
  const auto measured = [&] { return sink.results().rows.size() + sink.results().chains.size(); };
  const std::size_t before = measured();
  const bool interrupted = measuring.run(
      sink.results(),
      [&] {
        note_machine_state();
        sink.checkpoint();
      },
      take_turns);
  streams.reset();
  watch.set_other_streams(0);  // their time is that of children from now on
  note_machine_state();
  const bool lost = !measuring.lost().empty();
  if (!interrupted && !lost && before > 0 && measured() == before) {
    note(fmt::format(
        "nothing left to do: {} has {} rounds of every selected row; for more{}, raise "
        "--benchmark_repetitions",
        o.resume, o.repetitions, energy.counter ? ", or for energies that are missing" : ""));
  }
  for (const auto& [model_case, ending] : measuring.endings()) {
    sink.set_ending(model_case, ending);
  }
  sink.set_energy_failure(measuring.energy_failure());
  sink.set_shortfall(measuring.shortfall(), measuring.rest_seconds());
  sink.finish(interrupted || lost);
  if (lost) throw device_lost(measuring.lost());
  return interrupted;
}

inline void add_user_context(const options& o, result::results& results) {
  for (const std::string& pair : o.user_context) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw usage_error("--benchmark_context: expected key=value, found " + pair);
    }
    const std::string name = printable(pair.substr(0, equals));
    const bool is_new = results.context.emplace(name, printable(pair.substr(equals + 1))).second;
    if (!is_new || result::known_dimensions().contains(name)) {
      throw usage_error("--benchmark_context: layerbench sets this key: " + pair);
    }
  }
}

/// Predictions and the like, below the rows or on stderr where stdout is for a machine.
inline void print_summary(result_sink& measured, const options& o, const program& what,
                          const epilogue& after) {
  const bool machine_format = o.format != "console";
  if (o.dry_run || (machine_format && is_quiet())) return;
  const std::string cut = measured.keep_predictable();
  if (what.peaks || !measured.results().manifest.empty())
    after(measured.results(), o, machine_format);
  if (cut.empty()) return;
  print_plain(machine_format ? stderr : stdout,
              fmt::format("\nno throughput: --benchmark_filter left out {}\n", cut));
}

}  // namespace detail

LAYERBENCH_INLINE exit_code measure_suite(const options& o, const program& what,
                                          const registry& known, const suite& all,
                                          const std::vector<benchmark_row*>& selected,
                                          const machine::resource_request& resources,
                                          const epilogue& after) {
  using detail::printable;
  using detail::result_sink;
  machine_watch watch(resources);
  result::results results;
  std::set<std::string> used;
  for (const benchmark_row* item : selected) used.insert(item->name().model_case.backend);
  for (const auto& row : all.rows) used.insert(row->spec().op.backend());  // chains run all
  used.erase("");
  description facts = describe_run(o, known, used);
  facts["layerbench_program"] = {std::string(what.name), field_dimension::condition};
  facts.insert(all.between_ranks.begin(), all.between_ranks.end());
  if (all.clocks.state != "burst") {
    facts["clocks"] = {all.clocks.state, field_dimension::setting};
  }
  const energy_request energy{detail::energy_counter_for(o, selected), o.energy == "layers"};
  if (energy.counter) {
    const energy_source& source = energy.counter->source();
    facts["energy_counter"] = {source.counter, field_dimension::condition};
    facts["energy_class"] = {source.evidence, field_dimension::condition};
    facts["energy_coverage"] = {source.coverage, field_dimension::condition};
  }
  for (const auto& [name, fact] : facts) {
    results.context[name] = printable(fact.value);
    results.dimensions[name] = fact.dimension;
  }
  detail::add_user_context(o, results);
  result_sink sink(o, all, watch, selected, std::move(results),
                   /*predicts=*/after && what.whole_model());
  bool interrupted = false;
  try {
    interrupted =
        detail::measure(o, all, detail::limits_of(o, all.clocks.state, what.whole_model()),
                        selected, watch, energy, known, sink);
  } catch (const device_lost& e) {
    if (all.tuner) {
      for (const std::string& text : all.tuner->notes()) note("plan of " + text);
    }
    print_message(sink.interruption());
    throw;
  }
  if (all.tuner) {
    for (const std::string& text : all.tuner->notes()) note("plan of " + text);
    if (all.tuner->fits_nothing()) {
      note(
          fmt::format("--plans: no work of this run is in {}, so libraries chose all plans; it is "
                      "of other sizes, data types, layouts or numbers of threads",
                      o.plans));
    }
  }
  const std::size_t failures = sink.report_failures();
  if (after) detail::print_summary(sink, o, what, after);
  std::fflush(stdout);  // where both are read together, this is the last line
  if (!o.dry_run && !o.in_curve) sink.report_disturbance();
  if (!sink.failure().empty()) throw error(sink.failure());
  if (interrupted) {
    print_message(sink.interruption());
    return exit_code::interrupted;
  }
  return failures == 0 ? exit_code::done : exit_code::incomplete;
}

}  // namespace layerbench::run
