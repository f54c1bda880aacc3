// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/run/company.hpp>
#include <layerbench/run/program.hpp>

/// The main function of all programs here: every op of the library on every backend of this build,
/// compiled once. `make_company` finds other ranks. Returns the exit code.
int run_suite(int argc, char** argv, const layerbench::run::program& what,
              const layerbench::run::company_maker& make_company = {});
