// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <layerbench/report/tables.hpp>

/// A report as one self-contained HTML file without scripts.
namespace layerbench::report {

/// The report as HTML that is XML as well.
[[nodiscard]] std::string page(const report_data& of);

}  // namespace layerbench::report

#ifndef LAYERBENCH_COMPILED
#include <layerbench/report/page-inl.hpp>
#endif
