// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <layerbench/report/html.hpp>
#include <layerbench/report/tables.hpp>

/// A report as one self-contained HTML file without scripts.
namespace layerbench::report {

/// A page, as HTML that is XML as well. `more_head` is the rest of its head.
[[nodiscard]] std::string document(const std::string& title, const markup& body,
                                   const markup& more_head = {});

/// The report as a page. `above` its title may be links to others.
[[nodiscard]] std::string page(const report_data& of, const markup& above = {},
                               const markup& more_head = {});

}  // namespace layerbench::report

#ifndef LAYERBENCH_COMPILED
#include <layerbench/report/page-inl.hpp>
#endif
