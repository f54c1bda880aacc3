// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <fmt/format.h>

#include <layerbench/backend/algorithm_parts.hpp>
#include <layerbench/backend/device.hpp>
#include <layerbench/backend/host_buffer.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/op/allreduce.hpp>

namespace layerbench::run {

LAYERBENCH_INLINE std::unique_ptr<compute_device> backend_entry::make_device(int threads) const {
  return std::make_unique<compute_device>(*this, threads);
}

LAYERBENCH_INLINE compute_device::compute_device(backend_entry of, int threads)
    : entry_(of), threads_(of.threads_used(threads)) {}

LAYERBENCH_INLINE any_backend& compute_device::opened() {
  if (!backend_) backend_ = entry_.open(threads_);
  return *backend_;
}

LAYERBENCH_INLINE const compute_device::machine_parts& compute_device::used_parts() const {
  if (used_parts_) return *used_parts_;
  used_parts_.emplace();
  if (entry_.binding != nullptr) {
    const auto processors = machine::processors_by_thread(entry_.binding(), threads_);
    used_parts_->caches = machine::caches_used_by(entry_.host(), processors);
    used_parts_->node_by_thread = host_buffer::nodes_by_first_touch(entry_.host(), processors);
  }
  return *used_parts_;
}

LAYERBENCH_INLINE std::size_t compute_device::cache_bytes() const {
  if (entry_.binding == nullptr) return entry_.cache_bytes();
  return static_cast<std::size_t>(used_parts().caches.last_bytes);
}

LAYERBENCH_INLINE std::size_t compute_device::core_cache_bytes() const {
  return static_cast<std::size_t>(used_parts().caches.private_bytes);
}

LAYERBENCH_INLINE std::vector<int> compute_device::node_by_thread() const {
  return used_parts().node_by_thread;
}

LAYERBENCH_INLINE device_clock* compute_device::clock() {
  return timing_ == timing_mode::single ? nullptr : opened().clock();
}

LAYERBENCH_INLINE void compute_device::finish() {
  if (clock() == nullptr) synchronize();
}

LAYERBENCH_INLINE std::unique_ptr<recording> compute_device::record(
    const std::function<void()>& work) {
  try {
    return opened().record(work);
  } catch (const error& e) {
    throw unsupported(fmt::format(
        "it cannot be recorded in a graph ({}); --timing=stream does without", e.what()));
  }
}

LAYERBENCH_INLINE bool compute_device::implements_op(const op::any& op) const {
  const backend_entry* const entry = entry_for(op);
  return (between_ranks_ && op.name() == op::allreduce::name) ||
         (entry != nullptr && entry->has_plan(op));
}

LAYERBENCH_INLINE const backend_entry* compute_device::entry_for(const op::any& op) const {
  if (op.backend().empty() || op.backend() == entry_.name) return &entry_;
  const auto found = std::ranges::find(others_, op.backend(), &backend_entry::name);
  return found == others_.end() ? nullptr : &*found;
}

LAYERBENCH_INLINE std::unique_ptr<any_plan> compute_device::plan(const op::any& op,
                                                                 plan_request request) {
  if (between_ranks_ && op.name() == op::allreduce::name) return between_ranks_(op, request);
  if (choice_ && request.algorithm.empty()) request.algorithm = choice_(op, request);
  return make_plan(op, std::move(request));
}

LAYERBENCH_INLINE std::unique_ptr<any_plan> compute_device::make_plan(const op::any& op,
                                                                      plan_request request) {
  const backend_entry* const entry = entry_for(op);
  if (entry == nullptr) {
    throw unsupported(fmt::format("{} cannot be used beside {}", op.backend(), entry_.name));
  }
  if (entry != &entry_) {
    std::unique_ptr<compute_device>& other = opened_others_[op.backend()];
    if (!other) other = entry->make_device(threads_);
    return other->make_plan(op, std::move(request));
  }
  activate();  // libraries choose algorithms by the thread count
  request.type = op.own_type().value_or(request.type);
  request.how = op.how();
  request.recorded = plans_record() && timing() == timing_mode::graph;
  request.algorithm = current_algorithm(request.algorithm);
  std::unique_ptr<any_plan> result;
  if (entry_.has_plan(op)) {
    if (!op.has(request.pass)) {
      throw unsupported(fmt::format("{} has no pass {}", op.name(), name(request.pass)));
    }
    result = entry_.make_plan(opened(), op, request);
  }
  if (!result) throw unsupported(fmt::format("{} has no {}", entry_.name, op.name()));
  const std::string algorithm = result->algorithm();
  if (!request.algorithm.empty() && library_part(algorithm) != library_part(request.algorithm)) {
    throw unsupported(fmt::format("{} has {} for it, not {}, which was chosen", entry_.name,
                                  algorithm, request.algorithm));
  }
  if (result->workspace_bytes() > request.workspace_limit) {
    throw unsupported(fmt::format("{} needs {} bytes of scratch memory, {} are allowed", algorithm,
                                  result->workspace_bytes(), request.workspace_limit));
  }
  return result;
}

LAYERBENCH_INLINE std::vector<std::unique_ptr<any_plan>> compute_device::alternatives(
    any_plan& chosen, const op::any& op, plan_request request, std::size_t most) {
  std::vector<std::unique_ptr<any_plan>> others;
  const std::string own = library_part(chosen.algorithm());
  for (const alternative& one : chosen.alternatives(most)) {
    if (others.size() == most) break;
    if (!one.built && library_part(one.algorithm) == own) continue;
    request.algorithm = one.algorithm;
    request.built = one.built;
    try {
      others.push_back(make_plan(op, request));
    } catch (const unsupported&) {
      continue;  // it may need too much scratch memory
    }
  }
  return others;
}

LAYERBENCH_INLINE bool compute_device::reject(const op::any& op, const plan_request& request,
                                              const std::string& algorithm,
                                              const std::string& why) {
  return rejection_ && rejection_(op, request, algorithm, why);
}

LAYERBENCH_INLINE std::unique_ptr<any_plan> plan_or_null(compute_device& device, const op::any& op,
                                                         const plan_request& request) {
  try {
    return device.plan(op, request);
  } catch (const unsupported&) {
    return nullptr;
  }
}

}  // namespace layerbench::run
