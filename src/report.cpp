// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/report/html-inl.hpp>
#include <layerbench/report/label_layout-inl.hpp>
#include <layerbench/report/markdown-inl.hpp>
#include <layerbench/report/page-inl.hpp>
#include <layerbench/report/svg-inl.hpp>
