// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/machine/check.hpp>
#include <layerbench/shape/record.hpp>
#include <layerbench/topology/thread_places.hpp>

namespace layerbench::machine {

LAYERBENCH_INLINE std::vector<processor_list> resource_request::thread_processors() const {
  if (binding.places.empty()) return processors_by_thread({{machine.processors()}}, threads);
  return processors_by_thread(binding, threads);
}

LAYERBENCH_INLINE int resource_request::usable_cores() const {
  const bool known = !binding.places.empty();
  return static_cast<int>(cores_of(machine, known ? binding.processors() : machine.processors()));
}

LAYERBENCH_INLINE std::optional<disturbance> disturbance_between(
    const std::optional<processor_times>& before, const std::optional<processor_times>& after,
    double own) {
  constexpr std::int64_t least_ticks = 20;  // per processor; a tick is 10 ms
  if (!before || !after) return std::nullopt;
  const std::int64_t busy = after->busy - before->busy;
  const std::int64_t stolen = after->stolen - before->stolen;
  const std::int64_t all = busy + stolen + after->idle - before->idle;
  if (all < least_ticks * after->processors) return std::nullopt;
  const auto ticks = static_cast<double>(all);
  const double others = std::max(0.0, static_cast<double>(busy) - own) / ticks;
  return disturbance{others * after->processors, static_cast<double>(stolen) / ticks,
                     after->processors};
}

LAYERBENCH_INLINE check_result check_load(const path& root, const resource_request& of,
                                          const std::optional<disturbance>& seen) {
  check_result result{"load", verdict::ok, ""};
  if (const auto line = line_of(root / "proc/loadavg")) {
    result.what = fmt::format("{} in the last minute", line->substr(0, line->find(' ')));
  }
  if (const auto running = field_of(root / "proc/stat", "procs_running")) {
    result.what +=
        fmt::format("{}{} in the run queue besides this", result.what.empty() ? "" : ", ",
                    std::max<std::int64_t>(0, *running - 1));
  }
  if (!seen) return result;
  result.what += fmt::format("; other programs keep {:.2f} of {} processors busy", seen->others,
                             seen->processors);
  constexpr double much = 0.5;
  if (seen->others > little_load) result.how = verdict::note;
  // Others that run on processors which this program leaves free take no time, only bandwidth.
  if (seen->others > much && seen->processors - seen->others < of.threads) {
    result.how = verdict::bad;
    result.remedy = "end the other programs (top shows them), or measure later";
  }
  return result;
}

LAYERBENCH_INLINE check_result check_steal(const std::optional<disturbance>& seen) {
  if (!seen) return {"steal", verdict::note, "/proc/stat does not say"};
  check_result result{
      "steal", verdict::ok,
      fmt::format("the host took {:.1f} % of the processors' time", 100 * seen->stolen)};
  constexpr double little = 0.005;
  constexpr double much = 0.02;
  if (seen->stolen > little) result.how = verdict::note;
  if (seen->stolen > much) {
    result.how = verdict::bad;
    result.remedy = "measure later, or on a host that is not shared";
  }
  return result;
}

LAYERBENCH_INLINE check_result check_slowdown(std::optional<double> slow_share) {
  if (!slow_share) return {"speed", verdict::note, "not checked"};
  check_result result{"speed", verdict::ok,
                      fmt::format("slower than usual for {:.0f} % of the time", 100 * *slow_share)};
  constexpr double little = 0.05;
  constexpr double much = 0.3;
  if (*slow_share > little) {
    result.how = verdict::note;
    result.what += ": something else uses the cores; disturbed samples are repeated";
  }
  if (*slow_share > much) {
    result.how = verdict::bad;
    result.remedy = "measure later, or on a host whose cores are not shared (SMT)";
  }
  return result;
}

LAYERBENCH_INLINE std::string disturbers(const std::optional<disturbance>& seen,
                                         std::optional<double> slow_share) {
  std::vector<std::string> found;
  if (seen && seen->others > little_load) {
    found.push_back(
        fmt::format("other programs ({:.2f} of {} processors)", seen->others, seen->processors));
  }
  if (seen && check_steal(seen).how != verdict::ok) {
    found.push_back(fmt::format("the host ({:.1f} % of the time)", 100 * seen->stolen));
  }
  if (slow_share && check_slowdown(slow_share).how != verdict::ok) {
    found.push_back(
        fmt::format("cores slower than usual ({:.0f} % of the time)", 100 * *slow_share));
  }
  return fmt::format("{}", fmt::join(found, ", "));
}

LAYERBENCH_INLINE check_result check_frequency_scaling(const path& root) {
  const std::set<std::string> governors = per_processor(root, "cpufreq/scaling_governor");
  const std::set<std::string> drivers = per_processor(root, "cpufreq/scaling_driver");
  const auto boost = turbo(root);
  check_result result{"frequency", verdict::ok, ""};
  if (governors.empty() && !boost) {
    result.what = "cannot be read or set here (no cpufreq), as in most virtual machines";
    result.how = verdict::note;
    return result;
  }
  const std::string turbo_text = !boost ? "unknown" : *boost ? "on" : "off";
  result.what = fmt::format(
      "governor {}, turbo {}",
      governors.empty() ? "unknown" : fmt::format("{}", fmt::join(governors, " ")), turbo_text);
  if (boost.value_or(false)) {
    result.how = verdict::note;
    result.what += ": the rate depends on heat and on how many cores work";
  }
  if (governors.empty() || governors == std::set<std::string>{"performance"}) return result;
  result.how = verdict::note;
  result.remedy = "cpupower frequency-set -g performance";
  // "powersave" scales the rate dynamically with these drivers; with others it holds the lowest.
  const bool dynamic = drivers.contains("intel_pstate") || drivers.contains("amd-pstate-epp");
  if (governors.contains("powersave") && !dynamic) result.how = verdict::bad;
  return result;
}

LAYERBENCH_INLINE check_result check_topology(const resource_request& of) {
  if (of.machine.cores.empty()) return {"topology", verdict::note, "not checked"};
  check_result result{"topology", verdict::ok, text(of.machine)};
  if (of.machine.note.empty()) return result;
  result.how = verdict::note;
  result.remedy = "compare with lscpu: cache states follow from these sizes";
  return result;
}

LAYERBENCH_INLINE check_result check_cores(const resource_request& of,
                                           std::optional<double> core_latency) {
  const std::size_t cores = of.machine.cores.size();
  const std::size_t processors = of.machine.processors().size();
  check_result result{"cores", verdict::ok, ""};
  if (cores == 0) return {"cores", verdict::note, "not checked"};
  result.what = fmt::format("{} processors on {} cores{}", processors, cores,
                            cores < processors ? " (SMT)" : "; no SMT, or hidden by the host");
  const std::vector<processor_list> threads = of.thread_processors();
  const int sharing = threads_sharing_cores(of.machine, threads);
  if (cores < processors && sharing > 0) {
    result.how = verdict::note;
    result.what += fmt::format("; {} of {} threads share a core with another", sharing, of.threads);
    result.remedy = of.threads > of.usable_cores()
                        ? fmt::format("--threads={}", of.usable_cores())
                        : "leave out --places, and unset OMP_PLACES: the programs use other cores";
  }
  if (!core_latency) return result;
  result.what += fmt::format("; a cache line takes {} from core to core and back",
                             units::si(*core_latency, "s"));
  constexpr double far = 250e-9;  // measured on an EPYC: 60 ns in one LLC, 320 ns between two
  const bool one_cache = last_level_caches(of.machine, united(threads)).size() == 1;
  if (*core_latency > far && one_cache) {
    result.how = verdict::bad;
    result.what +=
        ": too long for cores that share a cache, as the system claims; small layers on several "
        "threads will be slow, and vary";
    result.remedy = "--threads=1, or measure later: hosts move the processors of virtual machines";
  }
  return result;
}

LAYERBENCH_INLINE check_result check_binding(const resource_request& of) {
  check_result result{"binding", verdict::ok, ""};
  for (const auto& [name, value] : of.environment) {
    result.what += fmt::format("{}{}={}", result.what.empty() ? "" : " ", name, value);
  }
  result.what += fmt::format(
      "{}{} thread{} on {} of {} processors", result.what.empty() ? "" : "; ", of.threads,
      of.threads == 1 ? "" : "s", of.processors, of.machine.processors().size());
  const bool bound = of.binding.order != thread_order::free;
  if (bound) {
    std::vector<processor_list> used = processors_by_thread(of.binding, of.threads);
    used.erase(std::ranges::unique(used).begin(), used.end());
    result.what += ", at " + places_text(used);
  } else if (of.usable_cores() != 1) {
    const auto bind = of.environment.find("OMP_PROC_BIND");
    result.how = verdict::note;
    result.what += "; they may move";
    if (of.processes > 1) {
      result.remedy = "bind the ranks: --bind-to core of mpirun, --cpu-bind=cores of srun";
    } else if (bind != of.environment.end() && leaves_threads_free(bind->second)) {
      result.remedy = "unset OMP_PROC_BIND: the programs bind threads to cores";
    }
  }
  if (of.threads > of.processors) {
    result.how = verdict::bad;
    result.remedy = fmt::format("--threads={}", of.processors);
  }
  return result;
}

LAYERBENCH_INLINE check_result check_nodes(const resource_request& of) {
  const int all = node_count(of.machine, of.machine.processors());
  if (all <= 1) return {"nodes", verdict::ok, "the system reports one NUMA node"};
  const std::vector<processor_list> threads = of.thread_processors();
  const int used = node_count(of.machine, united(threads));
  check_result result{"nodes", verdict::ok,
                      fmt::format("the threads are on {} of {} NUMA nodes, memory is placed by {}",
                                  used, all, name(of.numa))};
  std::vector<std::string> remedies;
  if (used > 1) {
    std::size_t most = 0;
    for (const memory_node* node : innermost_nodes(of.machine))
      most = std::max(most, cores_of(of.machine, node->processors));
    result.how = verdict::note;
    result.what += "; memory of another node is slower";
    remedies.push_back(fmt::format("--threads={}, the cores of one node", most));
  }
  const std::int64_t needed = of.needed_bytes();
  const std::int64_t there = node_bytes(of.numa, of.machine, threads);
  if (needed > there && knows_node_sizes(of.machine)) {
    result.how = verdict::note;
    result.what += fmt::format("; the largest case needs {}, these nodes have {}",
                               units::si(static_cast<double>(needed), "B"),
                               units::si(static_cast<double>(there), "B"));
    remedies.emplace_back(of.numa == numa_policy::interleave
                              ? "a smaller --batch"
                              : "--numa=interleave, or a smaller --batch");
  }
  result.remedy = fmt::format("{}", fmt::join(remedies, "; "));
  return result;
}

LAYERBENCH_INLINE check_result check_quota(const path& root, const resource_request& of) {
  const auto quota = processor_quota(root);
  if (!quota) return {"quota", verdict::ok, "no limit of processor time"};
  check_result result{"quota", verdict::ok,
                      fmt::format("a control group grants {:.4g} processors", *quota)};
  if (*quota < of.threads) {
    result.how = verdict::bad;
    result.what += fmt::format(": {} threads will be stopped repeatedly", of.threads);
    result.remedy = *quota >= 1
                        ? fmt::format("--threads={}, or lift cpu.max", static_cast<int>(*quota))
                        : "lift cpu.max of the control group (docker run --cpus)";
  }
  return result;
}

LAYERBENCH_INLINE check_result check_hypervisor(const path& root) {
  const auto name = hypervisor(root);
  if (!name) return {"machine", verdict::ok, "no hypervisor is reported"};
  return {"machine", verdict::note,
          fmt::format("virtual{}: other guests of the host may use its caches and memory bandwidth",
                      name->empty() ? "" : " (" + *name + ")")};
}

LAYERBENCH_INLINE check_result check_memory(const path& root, const resource_request& of) {
  const auto available = available_memory_bytes(root);
  if (!available) return {"memory", verdict::note, "the system does not say how much is free"};
  check_result result{"memory", verdict::ok,
                      units::si(static_cast<double>(*available), "B") + " available"};
  if (of.footprint == 0) return result;
  const std::int64_t needed = of.needed_bytes();
  result.what +=
      fmt::format(", the largest case needs {}", units::si(static_cast<double>(needed), "B"));
  if (*available < needed) {
    result.how = verdict::bad;
    result.remedy = "a smaller --batch, or another --model";
  }
  return result;
}

LAYERBENCH_INLINE check_result check_clock_source(const path& root, const resource_request& of) {
  const auto source =
      line_of(root / "sys/devices/system/clocksource/clocksource0/current_clocksource");
  check_result result{
      "clock", verdict::ok,
      fmt::format("{}, resolution {}, a reading takes {}", source.value_or("unknown"),
                  units::si(of.clock_resolution, "s"), units::si(of.clock_cost, "s"))};
  constexpr double slow = 1e-6;
  if (of.clock_cost > slow) result.how = verdict::note;
  if (of.clock_resolution > slow) result.how = verdict::bad;
  if (result.how != verdict::ok) {
    result.remedy =
        "boot with a faster clock source; /sys/devices/system/clocksource/clocksource0/"
        "available_clocksource lists them";
  }
  return result;
}

LAYERBENCH_INLINE check_result check_huge_pages(const path& root) {
  const auto line = line_of(root / "sys/kernel/mm/transparent_hugepage/enabled");
  std::string mode = "not in this kernel";
  if (line) {  // "always [madvise] never"
    const std::size_t begin = line->find('[') + 1;
    mode = line->substr(begin, line->find(']') - begin);
  }
  return {"huge pages", verdict::ok, "transparent ones: " + mode};
}

LAYERBENCH_INLINE std::vector<check_result> check(const path& root, const resource_request& of,
                                                  const std::optional<disturbance>& seen,
                                                  std::optional<double> slow_share,
                                                  std::optional<double> core_latency) {
  return {check_load(root, of, seen), check_steal(seen),
          check_slowdown(slow_share), check_frequency_scaling(root),
          check_topology(of),         check_cores(of, core_latency),
          check_binding(of),          check_nodes(of),
          check_quota(root, of),      check_hypervisor(root),
          check_memory(root, of),     check_clock_source(root, of),
          check_huge_pages(root)};
}

}  // namespace layerbench::machine
