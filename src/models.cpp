// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/model/collectives-inl.hpp>
#include <layerbench/model/find-inl.hpp>
#include <layerbench/model/fusion-inl.hpp>
#include <layerbench/model/graph-inl.hpp>
#include <layerbench/model/memory_reuse-inl.hpp>
#include <layerbench/model/peak-inl.hpp>
#include <layerbench/model/quantization-inl.hpp>
#include <layerbench/model/reuse_distance-inl.hpp>
#include <layerbench/model/shape_file-inl.hpp>
#include <layerbench/model/step-inl.hpp>
#include <layerbench/model/step_layout-inl.hpp>
#include <layerbench/model/training-inl.hpp>
