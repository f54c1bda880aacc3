// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "suite.hpp"

#include <memory>

#include <layerbench/ranks/nccl/communicator.hpp>

namespace layerbench::programs {

run::communicator_factory ranks() {
  return [] { return std::make_unique<run::nccl_communicator>(); };
}

}  // namespace layerbench::programs
