// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/backend/device-inl.hpp>
#include <layerbench/backend/plan-inl.hpp>
#include <layerbench/machine/check-inl.hpp>
#include <layerbench/machine/energy_counter-inl.hpp>
#include <layerbench/machine/frequency_probe-inl.hpp>
#include <layerbench/machine/processor_energy-inl.hpp>
#include <layerbench/machine/telemetry-inl.hpp>
