// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/split.hpp>
#include <layerbench/result/field_dimensions.hpp>
#include <layerbench/result/name.hpp>

namespace layerbench::result {

LAYERBENCH_INLINE std::string write_dimensions(const field_dimensions& all) {
  const auto is_plain = [](const std::string& field) {  // variables can have any name
    return std::ranges::all_of(field,
                               [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  };
  std::string out;
  for (std::size_t i = 0; i < enum_names<field_dimension>.size(); ++i) {
    std::string fields;
    for (const auto& [field, dimension] : all) {
      if (dimension == static_cast<field_dimension>(i) && is_plain(field)) fields += " " + field;
    }
    if (fields.empty()) continue;
    out += fmt::format("{}{}:{}", out.empty() ? "" : ";", enum_names<field_dimension>[i], fields);
  }
  return out;
}

LAYERBENCH_INLINE field_dimensions read_dimensions(std::string_view text, std::string_view file) {
  field_dimensions all;
  if (text.empty()) return all;
  for (const std::string_view list : split(text, ';')) {
    const std::size_t colon = list.find(": ");
    const auto dimension = from_name<field_dimension>(std::string(list.substr(0, colon)));
    if (colon == list.npos || !dimension) {
      throw bad_input(file, "/context/field_dimensions",
                      fmt::format("expected a dimension and its fields, found {}", list));
    }
    for (const std::string_view field : split(list.substr(colon + 2), ' ')) {
      all.emplace(field, *dimension);
    }
  }
  return all;
}

LAYERBENCH_INLINE const field_dimensions& known_dimensions() {
  static const field_dimensions all = read_dimensions(
      "version: clock cublas_compiled_version cublas_version cuda_clock cuda_compiled_version "
      "cuda_version cudnn_compiled_version cudnn_version layerbench_schema layerbench_version "
      "mpi_clock mpi_version nccl_compiled_version nccl_version onednn_compiled_version "
      "onednn_hash onednn_threading onednn_version;"
      "device: caches device gpu gpu_compute_capability gpu_l2_bytes "
      "gpu_memory_bytes gpu_multiprocessors host_name l1d_bytes l2_bytes l3_bytes "
      "num_cpus topology;"
      "instruction_set: onednn_isa;"
      "driver: cuda_driver_version gpu_max_mem_mhz gpu_max_sm_mhz kernel nvidia_driver_version;"
      "setting: OMP_DYNAMIC OMP_PROC_BIND OMP_SCHEDULE OMP_THREAD_LIMIT OMP_WAIT_POLICY clocks "
      "dry_run engine_environment in_place mpi_hosts mpi_ranks nccl_hosts nccl_processes "
      "nccl_ranks numa optimizer plans registered seed speed workspace_limit;"
      "device_setting: OMP_PLACES gpu_mig_mode gpu_persistence_mode gpu_power_limit_w places "
      "threads;"
      "condition: CUDA_VISIBLE_DEVICES OMP_NUM_THREADS aslr_enabled candidates command "
      "cpu_scaling_enabled date executable field_dimensions gpu_peaks gpu_uuid interrupted "
      "json_schema_version layerbench_commit layerbench_program library_build_type "
      "library_version load_at_start load_avg machine_check manifest mhz_per_cpu shape_files "
      "stopped turns",
      "");
  return all;
}

}  // namespace layerbench::result
