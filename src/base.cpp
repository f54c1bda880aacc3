// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/base/child_process-inl.hpp>
#include <layerbench/base/input_path-inl.hpp>
#include <layerbench/base/json-inl.hpp>
#include <layerbench/base/line_socket-inl.hpp>
#include <layerbench/base/number_format-inl.hpp>
#include <layerbench/base/output_file-inl.hpp>
#include <layerbench/base/progress-inl.hpp>
#include <layerbench/base/stats-inl.hpp>
#include <layerbench/base/system-inl.hpp>
#include <layerbench/base/table-inl.hpp>
#include <layerbench/base/terminal-inl.hpp>
#include <layerbench/shape/record_json-inl.hpp>
#include <layerbench/shape/record_key-inl.hpp>
#include <layerbench/topology/hwloc-inl.hpp>
#include <layerbench/topology/this_machine-inl.hpp>
#include <layerbench/topology/thread_binding-inl.hpp>
#include <layerbench/topology/thread_places-inl.hpp>
#include <layerbench/topology/topology-inl.hpp>
