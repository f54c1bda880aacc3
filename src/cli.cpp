// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/cli/curve_run-inl.hpp>
#include <layerbench/cli/google_formats-inl.hpp>
#include <layerbench/cli/main-inl.hpp>
#include <layerbench/cli/measure_suite-inl.hpp>
#include <layerbench/cli/run_program-inl.hpp>
