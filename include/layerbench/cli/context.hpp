// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <sys/utsname.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/host_backend.hpp>
#include <layerbench/backend/registry.hpp>
#include <layerbench/base/description.hpp>
#include <layerbench/base/processor_name.hpp>
#include <layerbench/base/version.hpp>
#include <layerbench/cli/openmp_places.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/optimizer.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/topology/this_machine.hpp>
#include <layerbench/topology/thread_binding.hpp>
#include <layerbench/topology/thread_places.hpp>
#include <layerbench/topology/topology.hpp>

namespace layerbench::run {

/// What a result file says of the machine, the libraries and the settings (docs/formats.md). GPUs
/// are described if a backend of a name in `used` has one, so that files of a CPU alone do not
/// depend on the GPU beside it.
[[nodiscard]] inline description describe_run(const options& o, const registry& known,
                                              const std::set<std::string>& used) {
  using enum field_dimension;
  description facts{{"layerbench_schema", {std::string(result::format_version), version}},
                    {"layerbench_version", {LAYERBENCH_VERSION, version}}};
  if (!commit().empty()) facts["layerbench_commit"] = {std::string(commit()), condition};
  facts["device"] = {machine::processor_name(), device};
  constexpr std::array caches{"l1d_bytes", "l2_bytes", "l3_bytes"};
  const machine::thread_binding binding = binding_of(known);
  const machine::used_caches sizes = host_caches(binding, o.default_threads);
  for (std::size_t i = 0; i < caches.size(); ++i)
    facts[caches[i]] = {std::to_string(sizes.core[i]), device};
  facts["topology"] = {machine::text(machine::this_machine()), device};
  const bool is_free = binding.order == machine::thread_order::free;
  facts["places"] = {is_free ? "none" : machine::places_text(binding.places), device_setting};
  facts["numa"] = {o.numa, setting};
  utsname system{};
  if (::uname(&system) == 0) facts["kernel"] = {system.release, driver};
  facts["threads"] = {std::to_string(o.default_threads), device_setting};
  facts["clock"] = {"thread CPU time for 1 thread, else wall time", version};
  const std::set in_place(o.in_place.begin(), o.in_place.end());
  facts["in_place"] = {fmt::format("{}", fmt::join(in_place, ",")), setting};
  if (o.phase == "training") facts["optimizer"] = {model::text(o.training()), setting};
  if (o.workspace_limit != plan_request{}.workspace_limit) {
    facts["workspace_limit"] = {std::to_string(o.workspace_limit), setting};
  }
  if (o.registered) facts["registered"] = {"true", setting};
  if (o.speed != "usual") facts["speed"] = {o.speed, setting};
  if (o.turns) facts["turns"] = {"true", condition};
  if (o.dry_run) facts["dry_run"] = {"true", setting};
  if (o.plans != "heuristic") {
    facts["plans"] = {o.plans == "measured" ? "measured" : "replayed", setting};
  }
  facts["seed"] = {std::to_string(o.seed), setting};
  facts["command"] = {o.command, condition};
  std::vector<std::string> shape_files;
  for (const std::string& name : o.models) {
    std::error_code unknown;  // pipes can be read once only
    if (model::is_path(name) && std::filesystem::is_regular_file(name, unknown)) {
      shape_files.push_back(std::filesystem::absolute(name).string());
    }
  }
  if (!shape_files.empty())
    facts["shape_files"] = {fmt::format("{}", fmt::join(shape_files, ",")), condition};
  if (detail::takes_threads_of_openmp(o)) {
    add_variables(facts, {detail::openmp_threads_variable}, condition);
  }
  double load = 0;
  if (::getloadavg(&load, 1) == 1) {
    facts["load_at_start"] = {fmt::format("{:.2f}", load), condition};
  }
  add_variables(facts, {"OMP_PROC_BIND", "OMP_WAIT_POLICY", "OMP_DYNAMIC", "OMP_SCHEDULE",
                        "OMP_THREAD_LIMIT", "GOMP_SPINCOUNT", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"});
  add_variables(facts, {"OMP_PLACES"}, device_setting);
  for (const backend_entry& entry : known.backends) {
    const bool is_default = entry.on_host && !entry.only_when_named;
    const bool matters = is_default || used.contains(std::string(entry.name));
    if (matters && !entry.probe()) entry.describe(facts);
  }
  return facts;
}

}  // namespace layerbench::run
