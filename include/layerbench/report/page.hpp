// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include <fmt/format.h>

#include <layerbench/report/html.hpp>
#include <layerbench/report/tables.hpp>

/// A report as one self-contained HTML file without scripts.
namespace layerbench::report {

namespace detail {

[[nodiscard]] markup section(const std::string& id, const std::string& title, const markup& inner);

[[nodiscard]] markup link(const std::string& id, const std::string& text);

[[nodiscard]] inline std::string case_id(std::size_t i) { return fmt::format("case{}", i + 1); }

/// "resnet50, vgg16": each model once, on one line.
[[nodiscard]] std::string models(const report_data& of);

[[nodiscard]] markup head(const std::string& title);

}  // namespace detail

/// The report as HTML that is XML as well.
[[nodiscard]] std::string page(const report_data& of);

}  // namespace layerbench::report

#ifndef LAYERBENCH_COMPILED
#include <layerbench/report/page-inl.hpp>
#endif
