// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <layerbench/backend/device.hpp>
#include <layerbench/backend/registry.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/cache_state/device_context.hpp>
#include <layerbench/op/gemm.hpp>

#include "backends.hpp"

/// The backends that our programs are compiled with, for tests of all of them.
namespace layerbench::testing {

/// The backends of this build.
inline const run::registry& built_backends() {
  static const run::registry all = programs::compute_registry();
  return all;
}
inline const run::backend_entry& reference_backend() { return *built_backends().find("reference"); }

/// Whether a backend has matrix products alone, without post-ops and integers.
inline bool has_products_alone(const run::backend_entry& backend) {
  return backend.name == "mkl" || backend.name == "openblas" || backend.name == "blis";
}

/// Whether the CPU's instructions let a backend compute in a type.
inline bool has_type(const run::backend_entry& backend, dtype type) {
  if (has_products_alone(backend)) {
    if (type == dtype::f32) return true;
    try {
      return backend.make_device(1)->plan(op::any(op::gemm{}), {.type = type}) != nullptr;
    } catch (const unsupported&) {
      return false;
    }
  }
  description facts;
  backend.describe(facts);
  const auto isa = facts.find("onednn_isa");
  if (isa == facts.end()) return true;
  const std::string& name = isa->second.value;
  if (type == dtype::bf16) return name.starts_with("avx512_core");
  if (type == dtype::f16) return name == "avx512_core_fp16" || name == "avx512_core_amx";
  return true;
}

/// Whether oneDNN is too old for recurrent layers in 16 bits on this CPU with AMX.
inline bool has_early_amx() {
  const run::backend_entry* const onednn = built_backends().find("onednn");
  if (onednn == nullptr) return false;
  description facts;
  onednn->describe(facts);
  const std::string& version = facts.at("onednn_version").value;
  return facts.at("onednn_isa").value.starts_with("avx512_core_amx") &&
         (version.starts_with("3.0") || version.starts_with("3.1") || version.starts_with("3.2"));
}

inline std::shared_ptr<run::device_context> make_context(const run::backend_entry& on,
                                                         int threads) {
  return std::make_shared<run::device_context>(on.make_device(threads));
}

}  // namespace layerbench::testing
