// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <set>
#include <string>

#include <sys/utsname.h>
#include <unistd.h>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/registry.hpp>
#include <layerbench/session/options.hpp>

namespace layerbench::run {

/// What a result file says of the machine, the libraries and the settings (docs/formats.md). GPUs
/// are described if a backend of a name in `used` has one, so that files of a CPU alone do not
/// depend on the GPU beside it.
[[nodiscard]] description describe_run(const options& o, const registry& known,
                                       const std::set<std::string>& used);

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/cli/context-inl.hpp>
#endif
