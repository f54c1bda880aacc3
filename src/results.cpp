// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/result/manifest_json-inl.hpp>
#include <layerbench/result/plan_candidates-inl.hpp>
#include <layerbench/result/read_results-inl.hpp>
