// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <layerbench/analysis/compare/comparison.hpp>
#include <layerbench/analysis/compare/text.hpp>
#include <layerbench/report/tables.hpp>

/// A report in GitHub's Markdown, for pull requests.
namespace layerbench::report {

namespace detail {

/// `text` on one line, with all markup escaped.
[[nodiscard]] std::string plain(std::string_view text);

[[nodiscard]] std::string to_markdown(const std::vector<std::string>& texts);

}  // namespace detail

/// The report as Markdown: summary and warnings; each case with its heaviest layers; validation,
/// comparisons and history if there are any; the files.
[[nodiscard]] std::string markdown(const report_data& of);

/// A comparison: the title, the lines of `header` as a list, the tables of `analysis::text`, and
/// remarks.
[[nodiscard]] std::string markdown(const analysis::comparison& all, const std::string& title,
                                   const std::string& header,
                                   const analysis::layers_shown& how = {});

}  // namespace layerbench::report

#ifndef LAYERBENCH_COMPILED
#include <layerbench/report/markdown-inl.hpp>
#endif
