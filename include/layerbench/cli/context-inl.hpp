// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <sys/utsname.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/host_buffer.hpp>
#include <layerbench/backend/registry.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/processor_name.hpp>
#include <layerbench/base/version.hpp>
#include <layerbench/cli/context.hpp>
#include <layerbench/cli/wanted_places.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/optimizer.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/topology/places.hpp>
#include <layerbench/topology/this_machine.hpp>
#include <layerbench/topology/thread_binding.hpp>
#include <layerbench/topology/topology.hpp>

namespace layerbench::run {

namespace detail {

/// Adds the environment variables that change what NVIDIA's libraries do; not those that only have
/// them write a log.
inline void add_gpu_variables(description& facts) {
  for (char** variable = ::environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = std::min(text.find('='), text.size() - 1);
    const std::string_view name = text.substr(0, equals);
    constexpr std::array<std::string_view, 4> names{"NVIDIA_TF32_OVERRIDE", "CUDA_VISIBLE_DEVICES",
                                                    "CUDA_MODULE_LOADING", "CUDA_LAUNCH_BLOCKING"};
    const bool of_a_library =
        name.starts_with("CUBLASLT_") || name.starts_with("CUDNN_") || name.starts_with("NCCL_");
    if (!of_a_library && std::ranges::find(names, name) == names.end()) continue;
    if (name.find("_LOG") != name.npos || name.starts_with("NCCL_DEBUG")) continue;
    facts[std::string(name)] = text.substr(equals + 1);
  }
}

}  // namespace detail

LAYERBENCH_INLINE description describe_run(const options& o, const registry& known,
                                           const std::set<std::string>& used) {
  description facts{{"layerbench_schema", std::string(result::format_version)},
                    {"layerbench_version", LAYERBENCH_VERSION}};
  if (!commit().empty()) facts["layerbench_commit"] = commit();
  facts["device"] = machine::processor_name();
  constexpr std::array caches{"l1d_bytes", "l2_bytes", "l3_bytes"};
  const machine::thread_binding binding = binding_of(known);
  const machine::used_caches sizes = host_caches(binding, o.default_threads);
  for (std::size_t i = 0; i < caches.size(); ++i) facts[caches[i]] = std::to_string(sizes.core[i]);
  facts["topology"] = machine::text(machine::this_machine());
  facts["places"] =
      binding.order == machine::thread_order::free ? "none" : machine::places_text(binding.places);
  facts["numa"] = o.numa;
  utsname system{};
  if (::uname(&system) == 0) facts["kernel"] = system.release;
  facts["threads"] = std::to_string(o.default_threads);
  facts["clock"] = "thread CPU time for 1 thread, else wall time";
  facts["in_place"] =
      fmt::format("{}", fmt::join(std::set(o.in_place.begin(), o.in_place.end()), ","));
  if (o.phase == "training") facts["optimizer"] = model::text(o.training());
  if (o.workspace_limit != plan_request{}.workspace_limit) {
    facts["workspace_limit"] = std::to_string(o.workspace_limit);
  }
  if (o.registered) facts["registered"] = "true";
  if (o.speed != "usual") facts["speed"] = o.speed;
  if (o.turns) facts["turns"] = "true";
  if (o.dry_run) facts["dry_run"] = "true";
  if (o.plans != "heuristic") facts["plans"] = o.plans == "measured" ? "measured" : "replayed";
  facts["seed"] = std::to_string(o.seed);
  facts["command"] = o.command;
  std::vector<std::string> shape_files;
  for (const std::string& name : o.models) {
    std::error_code unknown;  // pipes can be read once only
    if (model::is_path(name) && std::filesystem::is_regular_file(name, unknown)) {
      shape_files.push_back(std::filesystem::absolute(name).string());
    }
  }
  if (!shape_files.empty()) facts["shape_files"] = fmt::format("{}", fmt::join(shape_files, ","));
  if (detail::takes_threads_of_openmp(o)) {
    facts[detail::openmp_threads_variable] = std::getenv(detail::openmp_threads_variable);
  }
  double load = 0;
  if (::getloadavg(&load, 1) == 1) facts["load_at_start"] = fmt::format("{:.2f}", load);
  for (const std::string_view switched :
       {"OMP_PROC_BIND", "OMP_PLACES", "OMP_WAIT_POLICY", "OMP_DYNAMIC", "OMP_SCHEDULE",
        "OMP_THREAD_LIMIT", "GOMP_SPINCOUNT", "GOMP_CPU_AFFINITY", "KMP_AFFINITY",
        "DNNL_MAX_CPU_ISA", "DNNL_CPU_ISA_HINTS", "ONEDNN_CPU_ISA_HINTS", "ONEDNN_MAX_CPU_ISA"}) {
    if (const char* value = std::getenv(std::string(switched).c_str())) {
      facts[std::string(switched)] = value;
    }
  }
  for (const backend_entry& entry : known.backends) {
    const bool matters = entry.on_host || used.contains(std::string(entry.name));
    if (matters && !entry.probe()) entry.describe(facts);
  }
  if (facts.contains("gpu")) detail::add_gpu_variables(facts);
  return facts;
}

}  // namespace layerbench::run
