// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "suite.hpp"

namespace layerbench::programs {

run::communicator_factory ranks() { return {}; }

}  // namespace layerbench::programs
