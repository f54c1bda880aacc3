// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <layerbench/backend/registry.hpp>
#include <layerbench/cache_state/device_context.hpp>

#include "backends.hpp"

/// The backends that our programs are compiled with, for tests of all of them.
namespace layerbench::testing {

/// The backends of this build.
inline const run::registry& built_backends() {
  static const run::registry all = programs::compute_registry();
  return all;
}
inline const run::backend_entry& reference_backend() { return *built_backends().find("reference"); }

/// Whether the CPU's instructions let a backend compute in a type.
inline bool has_type(const run::backend_entry& backend, dtype type) {
  description facts;
  backend.describe(facts);
  const auto isa = facts.find("onednn_isa");
  if (isa == facts.end()) return true;
  const std::string& name = isa->second.value;
  if (type == dtype::bf16) return name.starts_with("avx512_core");
  if (type == dtype::f16) return name == "avx512_core_fp16" || name == "avx512_core_amx";
  return true;
}

inline std::shared_ptr<run::device_context> make_context(const run::backend_entry& on,
                                                         int threads) {
  return std::make_shared<run::device_context>(on.make_device(threads));
}

}  // namespace layerbench::testing
