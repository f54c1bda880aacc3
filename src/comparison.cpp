// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/analysis/base/caching_allocator-inl.hpp>
#include <layerbench/analysis/base/memory-inl.hpp>
#include <layerbench/analysis/compare/bisection-inl.hpp>
#include <layerbench/analysis/compare/change_points-inl.hpp>
#include <layerbench/analysis/compare/comparison-inl.hpp>
#include <layerbench/analysis/compare/dimension-inl.hpp>
#include <layerbench/analysis/compare/json-inl.hpp>
#include <layerbench/analysis/compare/nodes-inl.hpp>
#include <layerbench/analysis/compare/pair_verdicts-inl.hpp>
#include <layerbench/analysis/compare/program_output-inl.hpp>
#include <layerbench/analysis/compare/sign_flip_test-inl.hpp>
#include <layerbench/analysis/compare/text-inl.hpp>
#include <layerbench/analysis/compare/time_series-inl.hpp>
#include <layerbench/analysis/compare/timed_sum-inl.hpp>
#include <layerbench/analysis/compare/usual_nodes-inl.hpp>
#include <layerbench/analysis/curve/curve-inl.hpp>
#include <layerbench/analysis/curve/text-inl.hpp>
#include <layerbench/analysis/explain/explain-inl.hpp>
#include <layerbench/analysis/memory/text-inl.hpp>
#include <layerbench/analysis/study/memory_figures-inl.hpp>
#include <layerbench/analysis/study/own_figures-inl.hpp>
#include <layerbench/analysis/study/study_file-inl.hpp>
