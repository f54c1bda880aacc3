// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/analysis/compare/comparison-inl.hpp>
#include <layerbench/analysis/compare/nodes-inl.hpp>
#include <layerbench/analysis/predict/configurations-inl.hpp>
#include <layerbench/analysis/predict/model_selection-inl.hpp>
#include <layerbench/analysis/predict/predictor-inl.hpp>
#include <layerbench/analysis/predict/text-inl.hpp>
#include <layerbench/analysis/predict/validation-inl.hpp>
#include <layerbench/analysis/roofline/peaks-inl.hpp>
#include <layerbench/analysis/scaling/contention-inl.hpp>
