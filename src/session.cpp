// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/cache_state/buffer_layout-inl.hpp>
#include <layerbench/cache_state/device_context-inl.hpp>
#include <layerbench/cache_state/ring_buffers-inl.hpp>
#include <layerbench/cache_state/setup_op-inl.hpp>
#include <layerbench/cache_state/uses_to_repeat-inl.hpp>
#include <layerbench/session/autotuner-inl.hpp>
#include <layerbench/session/backend_selection-inl.hpp>
#include <layerbench/session/case_state-inl.hpp>
#include <layerbench/session/insert_reorders-inl.hpp>
#include <layerbench/session/other_stream-inl.hpp>
#include <layerbench/session/runner-inl.hpp>
#include <layerbench/session/stopping_criterion-inl.hpp>
#include <layerbench/session/streams-inl.hpp>
#include <layerbench/session/suite-inl.hpp>
#include <layerbench/session/verify-inl.hpp>
#include <layerbench/session/work_queue-inl.hpp>
