// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <istream>
#include <string>

#include <layerbench/result/verbose_log.hpp>

namespace layerbench::tool::importer {

/// Reads the log of an application, by its content: oneDNN's verbose lines, ONNX Runtime's profile,
/// PyTorch's Chrome trace, OpenVINO's execution graph or performance counters, Nsight Systems'
/// export. "-" is stdin. Throws bad_input for a file that cannot be read or has no call.
[[nodiscard]] result::verbose_log read_log(const std::filesystem::path& path);

/// Reads a trace in the Trace Event Format: ONNX Runtime's profile, or PyTorch's (Kineto). Of
/// events within each other those that compute are calls. Throws bad_input where no call can be
/// read.
[[nodiscard]] result::verbose_log read_trace(std::istream& text, std::string file);

/// Reads OpenVINO's execution graph (XML), whose layers are calls in the order in which they ran.
/// Throws bad_input if none has a time.
[[nodiscard]] result::verbose_log read_execution_graph(const std::filesystem::path& path);

/// Reads the performance counters that OpenVINO's benchmark_app writes (CSV). Throws bad_input if
/// no layer was executed.
[[nodiscard]] result::verbose_log read_counters(std::istream& text, std::string file);

/// Reads a report that Nsight Systems exported to SQLite; `name` is that of the file for people.
/// The work of a GPU that starts in a range with sizes, as PyTorch's emit_nvtx() writes them, is a
/// call; other work is a call without sizes. Throws bad_input where there is none, and unavailable
/// in a build without SQLite.
[[nodiscard]] result::verbose_log read_nsys(const std::filesystem::path& path,
                                            const std::string& name);

}  // namespace layerbench::tool::importer
