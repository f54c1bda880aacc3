// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/op/builtin-inl.hpp>
#include <layerbench/result/bootstrap_interval-inl.hpp>
#include <layerbench/result/context_difference-inl.hpp>
#include <layerbench/result/field_dimensions-inl.hpp>
#include <layerbench/result/manifest_json-inl.hpp>
#include <layerbench/result/measurement-inl.hpp>
#include <layerbench/result/name-inl.hpp>
#include <layerbench/result/plan_candidates-inl.hpp>
#include <layerbench/result/program_output-inl.hpp>
#include <layerbench/result/protocol_error-inl.hpp>
#include <layerbench/result/read_results-inl.hpp>
#include <layerbench/result/short_names-inl.hpp>
#include <layerbench/result/step_time-inl.hpp>
#include <layerbench/result/stream_latency-inl.hpp>
#include <layerbench/result/timing-inl.hpp>
#include <layerbench/result/verbose_log-inl.hpp>
