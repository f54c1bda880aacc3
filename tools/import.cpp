// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/name.hpp>

#include "commands.hpp"
#include "onnx/shape_file.hpp"

namespace layerbench::tool {
namespace {

struct import_command {
  std::string format;
  std::string file;
  std::vector<std::string> bind;
  bool no_softmax = false;
  bool allow_partial = false;
  common_options output;
  onnx::import_options options;
};

/// The sizes of `--bind NAME=SIZE`. Throws usage_error.
void bind(import_command& command) {
  for (const std::string& text : command.bind) {
    const std::size_t equals = text.rfind('=');
    const std::string size = equals == std::string::npos ? "" : text.substr(equals + 1);
    std::int64_t value = 0;
    const auto [end, failed] = std::from_chars(size.data(), size.data() + size.size(), value);
    if (failed != std::errc() || end != size.data() + size.size() || value < 1 ||
        value > max_size || equals == 0) {
      throw usage_error(fmt::format("--bind: '{}' is not NAME=SIZE, such as tokens=128", text));
    }
    command.options.bound[text.substr(0, equals)] = value;
  }
}

/// A model's name from that of its file.
std::string name_of(const std::string& file) {
  const std::string name = onnx::legal_name(std::filesystem::path(file).stem().string());
  return name.empty() ? "model" : name;
}

/// Says on stderr what the shape file has and what it lacks.
void report(const onnx::imported& imported, const std::string& name) {
  const onnx::conversion& created = imported.created;
  std::vector<std::pair<std::string, onnx::missing>> unknown(created.unknown.begin(),
                                                             created.unknown.end());
  std::ranges::stable_sort(unknown, std::ranges::greater{}, [](const auto& one) {
    return std::pair(one.second.flops, one.second.count);
  });
  for (const auto& [key, of] : unknown) {
    const std::size_t more = of.count - of.places.size();
    fmt::print(stderr, "no op computes {}: {} node{}, {:.1f} % of the FLOPs, at {}{}\n", key,
               of.count, of.count == 1 ? "" : "s",
               created.flops > 0 ? 100 * of.flops / created.flops : 0.0, fmt::join(of.places, "; "),
               more > 0 ? fmt::format("; and {} more", more) : "");
  }
  std::vector<std::string> following;
  for (const auto& [op, count] : created.following)
    following.push_back(fmt::format("{} {}", count, op));
  if (!following.empty()) {
    fmt::print(stderr, "left out with them, since they read their results: {}\n",
               fmt::join(following, ", "));
  }
  for (const auto& [note, count] : created.notes) {
    fmt::print(stderr, "note: {}{}\n", note, count > 1 ? fmt::format(" ({} times)", count) : "");
  }
  if (created.folded_batchnorms > 0) {
    fmt::print(stderr,
               "note: the exporter folded batch norm into the weights of {} layers; the shape file "
               "is for inference only\n",
               created.folded_batchnorms);
  }
  fmt::print(stderr, "{}: {} layers, {} parameters\n", name, created.layers.size(),
             imported.parameters);
}

void run(import_command& command) {
  bind(command);
  onnx::import_options& options = command.options;
  if (!options.name.empty() && !is_name(options.name)) {
    throw usage_error(fmt::format(
        "--name: '{}' is not a name; use lower-case letters, digits and _", options.name));
  }
  if (options.name.empty()) options.name = name_of(command.file);
  options.softmax = !command.no_softmax;
  onnx::imported imported;
  try {
    imported = onnx::shape_file_of(onnx::read(command.file), options);
  } catch (const std::overflow_error& wrong) {
    throw bad_input(command.file, "graph", wrong.what());
  }
  report(imported, options.name);
  const bool lacks_nodes = !imported.created.unknown.empty() || !imported.created.following.empty();
  if (lacks_nodes && !command.allow_partial) {
    throw error(fmt::format("{}: nothing is written; --allow-partial writes the shape file without "
                            "these nodes",
                            command.file),
                exit_code::incomplete);
  }
  if (imported.created.layers.empty()) {
    throw bad_input(command.file, "graph", "no node of it is a layer");
  }
  write(command.output, imported.text);
}

}  // namespace

void add_import(CLI::App& app) {
  CLI::App* command = app.add_subcommand("import", "Writes the shape file of an ONNX model");
  const auto options = std::make_shared<import_command>();
  command->add_option("format", options->format, "Form of the model: onnx")
      ->required()
      ->check(CLI::IsMember({"onnx"}));
  command->add_option("file", options->file, "The model; its weights are not read")->required();
  command->add_option("-o,--output", options->output.output, "The shape file; - or nothing: stdout")
      ->type_name("FILE");
  command->add_option("--name", options->options.name, "Name of the model [that of the file]")
      ->type_name("NAME");
  command
      ->add_option("--title", options->options.title,
                   "Title of the model, for people [its name and the sizes of its inputs]")
      ->type_name("TEXT");
  command
      ->add_option("--batch", options->options.batch,
                   "Value of the parameter batch [the model's, or 1]")
      ->check(CLI::Range(std::int64_t{1}, max_size));
  command->add_option("--bind", options->bind, "Sizes of axes with names, such as tokens=128")
      ->type_name("NAME=SIZE")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_flag("--no-softmax", options->no_softmax,
                    "Add no softmax behind a classifier that ends without one");
  command->add_flag("--allow-partial", options->allow_partial,
                    "Write the shape file without the nodes that no op computes");
  command->callback([options] { run(*options); });
}

}  // namespace layerbench::tool
