// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/cli/all_devices-inl.hpp>
#include <layerbench/cli/console-inl.hpp>
#include <layerbench/cli/context-inl.hpp>
#include <layerbench/cli/launcher-inl.hpp>
#include <layerbench/cli/main-inl.hpp>
#include <layerbench/cli/measure-inl.hpp>
#include <layerbench/cli/reporter-inl.hpp>
#include <layerbench/cli/result_sink-inl.hpp>
#include <layerbench/cli/run_program-inl.hpp>
#include <layerbench/cli/select-inl.hpp>
#include <layerbench/cli/threads-inl.hpp>
#include <layerbench/cli/wanted_places-inl.hpp>
