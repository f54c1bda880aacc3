// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "read_log.hpp"

#include <cstddef>
#include <fstream>
#include <string_view>
#include <system_error>

#include <layerbench/base/error.hpp>
#include <layerbench/base/input_path.hpp>

namespace layerbench::tool::importer {

result::verbose_log read_log(const std::filesystem::path& path) {
  std::ifstream text(input_path(path));
  std::error_code unknown;
  std::string head(std::size_t{1} << 16, '\0');
  if (text && !std::filesystem::is_directory(path, unknown)) {
    text.read(head.data(), static_cast<std::streamsize>(head.size()));
    head.resize(static_cast<std::size_t>(text.gcount()));
    text.clear();
    text.seekg(0);
  }
  const auto has = [&](std::string_view part) { return head.find(part) != std::string::npos; };
  if (head.starts_with("\x1f\x8b")) {
    throw bad_input(path.string(), "", "is compressed; unpack it with gunzip");
  }
  if (head.starts_with("SQLite format 3")) return read_nsys(input_path(path), path.string());
  if (head.starts_with("NVIDIA Tegra Profiler Report")) {
    throw bad_input(path.string(), "",
                    "is a report, not an export; make one by 'nsys export --type=sqlite'");
  }
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  // What an application prints beside oneDNN's lines may begin in the same way.
  const bool is_onednn = has("onednn_verbose,") || has("dnnl_verbose,");
  const bool is_json =
      !is_onednn && first != std::string::npos && (head[first] == '[' || head[first] == '{');
  if (is_json && (has("\"traceEvents\"") || has("\"ph\""))) return read_trace(text, path.string());
  if (first != std::string::npos && head[first] == '<' && has("<net")) {
    return read_execution_graph(path);
  }
  if (head.starts_with("layerName;execStatus;")) return read_counters(text, path.string());
  return result::read_verbose(path);
}

}  // namespace layerbench::tool::importer
