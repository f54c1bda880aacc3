// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>
#include <system_error>

#include <layerbench/base/error.hpp>
#include <layerbench/base/output_file.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/predict/plan.hpp>
#include <layerbench/result/google_json.hpp>

#include "commands.hpp"

namespace layerbench::tool {

std::shared_ptr<const common_options> add_common(CLI::App& command) {
  const auto common = std::make_shared<common_options>();
  common->shapes = model::default_shapes_directory().string();
  command.add_option("--format", common->format, "Form of the result")
      ->check(CLI::IsMember({"text", "json", "csv"}))
      ->capture_default_str();
  command.add_option("-o,--output", common->output, "File for the result, instead of stdout");
  command.add_option("--shapes", common->shapes, "Directory of the shape files")
      ->envname("LAYERBENCH_SHAPES")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  return common;
}

void write(const common_options& common, const std::string& result) {
  if (!common.output.empty()) return output_file(common.output).write(result);
  if (std::fwrite(result.data(), 1, result.size(), stdout) != result.size() ||
      std::fflush(stdout) != 0) {
    throw error("cannot write to stdout: " + std::generic_category().message(errno));
  }
}

std::vector<result::results> read_results(const std::vector<std::string>& files) {
  std::vector<result::results> read;
  for (const std::string& each : files) read.push_back(result::read(each));
  const std::vector<predict::group> groups = predict::group_by_context(read);
  for (std::size_t i = 1; i < groups.size(); ++i) {
    const result::results& first = *groups.front().front();
    const result::results& other = *groups[i].front();
    fmt::print(stderr, "layerbench: {} and {} are not merged: they differ in {}\n", first.file,
               other.file, fmt::join(result::differing_context(first, other), ", "));
  }
  return read;
}

std::string json_text(const json::value& value) {
  return value.dump(2, ' ', false, json::value::error_handler_t::replace) + '\n';
}

}  // namespace layerbench::tool
