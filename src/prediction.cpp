// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/analysis/predict/breakdown-inl.hpp>
#include <layerbench/analysis/predict/configurations-inl.hpp>
#include <layerbench/analysis/predict/engine_overhead-inl.hpp>
#include <layerbench/analysis/predict/fusion_gain-inl.hpp>
#include <layerbench/analysis/predict/interval-inl.hpp>
#include <layerbench/analysis/predict/json-inl.hpp>
#include <layerbench/analysis/predict/layer_table-inl.hpp>
#include <layerbench/analysis/predict/model_selection-inl.hpp>
#include <layerbench/analysis/predict/predictor-inl.hpp>
#include <layerbench/analysis/predict/repeated_rounds-inl.hpp>
#include <layerbench/analysis/predict/service_mix-inl.hpp>
#include <layerbench/analysis/predict/text-inl.hpp>
#include <layerbench/analysis/predict/timings-inl.hpp>
#include <layerbench/analysis/predict/training_cost-inl.hpp>
#include <layerbench/analysis/predict/validation-inl.hpp>
#include <layerbench/analysis/predict/validation_json-inl.hpp>
#include <layerbench/analysis/predict/validation_text-inl.hpp>
