// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/model/find-inl.hpp>
#include <layerbench/model/fusion-inl.hpp>
#include <layerbench/model/quantization-inl.hpp>
#include <layerbench/model/shape_file-inl.hpp>
#include <layerbench/model/training-inl.hpp>
#include <layerbench/op/builtin-inl.hpp>
