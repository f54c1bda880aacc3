// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/analysis/base/cases-inl.hpp>
#include <layerbench/analysis/base/engine_overhead-inl.hpp>
#include <layerbench/analysis/base/peaks-inl.hpp>
#include <layerbench/analysis/base/predictor-inl.hpp>
#include <layerbench/analysis/base/ratio-inl.hpp>
#include <layerbench/analysis/base/repeated_rounds-inl.hpp>
#include <layerbench/analysis/base/step_energy-inl.hpp>
#include <layerbench/analysis/base/timings-inl.hpp>
#include <layerbench/analysis/predict/json-inl.hpp>
#include <layerbench/analysis/predict/text-inl.hpp>
#include <layerbench/analysis/roofline/text-inl.hpp>
