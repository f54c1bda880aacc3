// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/is_name.hpp>
#include <layerbench/base/plain_text.hpp>

#include "commands.hpp"
#include "import/import.hpp"
#include "import/read_gguf.hpp"
#include "import/read_log.hpp"
#include "import/read_verbose.hpp"

namespace layerbench::tool {
namespace {

struct import_command {
  std::string format;
  std::string file;
  std::vector<std::string> inputs;
  std::vector<std::string> bind;
  bool no_softmax = false;
  bool allow_partial = false;
  bool one_step = false;
  common_options output;
  importer::import_options options;
};

/// The sizes of `--bind NAME=SIZE`. Throws usage_error.
void bind(import_command& command) {
  for (const std::string& text : command.bind) {
    const std::size_t equals = text.rfind('=');
    const auto size = importer::size_of(
        equals == std::string::npos ? "" : std::string_view(text).substr(equals + 1));
    if (!size || equals == 0) {
      throw usage_error(fmt::format("--bind: '{}' is not NAME=SIZE, such as tokens=128", text));
    }
    command.options.bound[text.substr(0, equals)] = *size;
  }
}

/// The extents of `--input NAME=1x3x224x224`. Throws usage_error.
void give_inputs(import_command& command) {
  for (const std::string& text : command.inputs) {
    const std::size_t equals = text.rfind('=');
    importer::given_input given{equals == std::string::npos ? "" : text.substr(0, equals), {}};
    std::string_view rest = std::string_view(text).substr(equals + 1);  // npos + 1 is 0
    for (bool more = true; more;) {
      const std::size_t end = rest.find('x');
      given.extents.emplace_back(rest.substr(0, end));
      more = end != std::string_view::npos;
      if (more) rest.remove_prefix(end + 1);
    }
    const auto is_extent = [](const std::string& one) {
      return importer::size_of(one) || (is_name(one) && one.front() > '9');
    };
    if (equals == 0 || !std::ranges::all_of(given.extents, is_extent)) {
      throw usage_error(
          fmt::format("--input: '{}' is not NAME=SIZExSIZE..., such as x=1x3x224x224", text));
    }
    command.options.inputs.push_back(std::move(given));
  }
}

/// Converts a log of calls, to which the options for graphs do not apply.
void run_verbose(const import_command& command) {
  const importer::import_options& options = command.options;
  if (options.batch || !options.bound.empty() || !options.inputs.empty() || command.no_softmax) {
    throw usage_error("--batch, --bind, --input and --no-softmax are for models, not for logs");
  }
  const result::verbose_log log = importer::read_log(command.file);
  const result::verbose_step step = result::step_of(log, command.one_step);
  const std::string name =
      options.name.empty() ? importer::model_name_of(command.file) : options.name;
  importer::logged_model model = importer::logged_model_of(log, step);
  importer::report_logged(log, step, model, command.allow_partial);
  write(command.output,
        importer::shape_file_of(log, step, std::move(model), name,
                                options.title.empty() ? "Calls of a log, " + name : options.title));
}

void run(import_command& command) {
  bind(command);
  give_inputs(command);
  importer::import_options& options = command.options;
  if (!options.name.empty() && !is_name(options.name)) {
    throw usage_error(fmt::format(
        "--name: '{}' is not a name; use lower-case letters, digits and _", options.name));
  }
  if (without_controls(options.title, /*one_line=*/true) != options.title) {
    throw usage_error("--title: has a control character or an end of a line");
  }
  if (command.format == "verbose") return run_verbose(command);
  if (command.one_step) throw usage_error("--one-step: only logs have steps");
  if (command.format == "gguf") {
    if (!options.bound.empty() || !options.inputs.empty() || command.no_softmax ||
        command.allow_partial) {
      throw usage_error("--allow-partial, --bind, --input and --no-softmax are not for gguf");
    }
    return write(command.output, importer::import_gguf(command.file, options));
  }
  const bool is_traced = command.format == "torch";
  const importer::graph model =
      is_traced ? importer::read_torch(command.file) : importer::read_onnx(command.file);
  if (options.name.empty() && !is_traced) options.name = importer::model_name_of(command.file);
  options.softmax = !command.no_softmax;
  const importer::imported imported = importer::import_model(model, options, command.allow_partial);
  write(command.output, imported.text);
}

}  // namespace

void add_import(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "import",
      "Writes the shape file of an ONNX, GGUF or PyTorch model, or of the calls in "
      "an application's log");
  const auto options = std::make_shared<import_command>();
  command
      ->add_option(
          "format", options->format,
          "Form of the model: onnx; gguf, the header of a llama.cpp model; torch, the "
          "calls that tools/from_torch.py --export writes; or verbose, the log of an "
          "application: oneDNN's with ONEDNN_VERBOSE=2, ONNX Runtime's profile, PyTorch's trace, "
          "OpenVINO's graph or counters, or Nsight Systems' export to SQLite")
      ->required()
      ->check(CLI::IsMember({"onnx", "gguf", "torch", "verbose"}));
  command->add_option("file", options->file, "The model, whose weights are not read; or the log")
      ->required();
  add_output(*command, options->output, "The shape file; - or nothing: stdout");
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
  command
      ->add_option("--input", options->inputs,
                   "Sizes of an input whose axes the file leaves open, such as x=1x3x48x192")
      ->type_name("NAME=SIZES")
      ->allow_extra_args(false);
  add_values(*command, "--bind", "NAME=SIZE", options->bind,
             "Sizes of axes with names, such as tokens=128");
  command->add_flag("--no-softmax", options->no_softmax,
                    "Add no softmax behind a classifier that ends without one");
  command->add_flag("--allow-partial", options->allow_partial,
                    "Write the shape file without the nodes that no op computes");
  command->add_flag("--one-step", options->one_step,
                    "The log is one step of the application [find the step that repeats]");
  command->callback([options] { run(*options); });
}

}  // namespace layerbench::tool
