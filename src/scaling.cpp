// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/analysis/scaling/collective_table-inl.hpp>
#include <layerbench/analysis/scaling/compute_step-inl.hpp>
#include <layerbench/analysis/scaling/contention-inl.hpp>
#include <layerbench/analysis/scaling/data_parallel-inl.hpp>
#include <layerbench/analysis/scaling/json-inl.hpp>
#include <layerbench/analysis/scaling/network_file-inl.hpp>
#include <layerbench/analysis/scaling/parallel_step-inl.hpp>
#include <layerbench/analysis/scaling/text-inl.hpp>
#include <layerbench/analysis/validate/text-inl.hpp>
#include <layerbench/analysis/validate/validation-inl.hpp>
