// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/memory/json.hpp>
#include <layerbench/analysis/memory/memory.hpp>
#include <layerbench/analysis/memory/text.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/op/update.hpp>

#include "model_options.hpp"

namespace layerbench::tool {
namespace {

struct memory_options {
  std::shared_ptr<model_options> model = std::make_shared<model_options>();
  std::vector<std::string> policies;
  model::training how;
  std::vector<std::string> results;
  std::int64_t contexts = 0;
  std::optional<std::int64_t> limit;

  [[nodiscard]] std::string phase() const { return model->phase.value_or("inference"); }
};

/// The largest batch within the limit under each policy. Throws nothing_matched if there is none.
std::vector<std::int64_t> largest_batches(const analysis::memory_report& of,
                                          const memory_options& asked,
                                          const common_options& common) {
  std::vector<std::int64_t> batches;
  for (const analysis::memory_total& total : of.totals) {
    batches.push_back(analysis::largest_batch(*asked.limit, [&](std::int64_t batch) {
      model_options other = *asked.model;
      other.sizes["batch"] = batch;
      return analysis::memory_of(load(other, common), of.phase, asked.model->type(), total.policy,
                                 total.beside, asked.how)
          .bytes();
    }));
  }
  if (std::ranges::max(batches) == 0) {
    throw nothing_matched(fmt::format("--fits: no batch of '{}' fits in {}", of.graph.name,
                                      units::si(static_cast<double>(*asked.limit), "B")));
  }
  return batches;
}

analysis::memory_report report_of(const memory_options& asked, const common_options& common) {
  const std::vector<result::results> files = read_files(asked.results);
  model::graph graph = load(*asked.model, common);
  const dtype type = asked.model->type();
  const auto scratch = analysis::scratch_memory(files, graph, asked.phase(), type);
  if (!files.empty() && !scratch) {
    throw nothing_matched(fmt::format("--scratch: no row is of '{}', {}, {}, batch {}", graph.name,
                                      asked.phase(), name(type), model::batch(graph)));
  }
  model::step step = analysis::step_in_memory(graph, asked.phase(), type, asked.how);
  analysis::live_memory live = analysis::live_memory_of(step);
  analysis::memory_report result{std::move(graph),   asked.phase(),   asked.how,
                                 std::move(step),    std::move(live), {},
                                 scratch.has_value()};
  for (const analysis::memory_policy policy :
       {analysis::memory_policy::kept, analysis::memory_policy::reused,
        analysis::memory_policy::pytorch}) {
    const bool wanted = asked.policies.empty() ||
                        std::ranges::find(asked.policies, name(policy)) != asked.policies.end();
    if (!wanted) continue;
    result.totals.push_back(
        analysis::memory_of(result.step, policy, {scratch.value_or(0), asked.contexts}));
  }
  result.limit = asked.limit;
  if (asked.limit) result.batches = largest_batches(result, asked, common);
  return result;
}

std::string render(const analysis::memory_report& of, const std::string& format) {
  if (format == "csv") return csv(analysis::records(of));
  return format == "json" ? json_text(analysis::to_json(of)) : analysis::text(of);
}

}  // namespace

void add_memory(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "memory", "Predicts the memory of a model's step, and the largest batch that fits");
  const auto options = std::make_shared<memory_options>();
  add_model(*command, options->model, "Name of a model, or path of a shape file or an ONNX model");
  add_values(*command, "--policy", "NAME", options->policies,
             "Who gives memory to tensors; kept: each has its own; reused: each takes that of one "
             "that no later call needs; pytorch: PyTorch's caching allocator [all "
             "three]\n--policy=reused,pytorch")
      ->check(CLI::IsMember({"kept", "reused", "pytorch"}));
  command
      ->add_option_function<std::string>(
          "--optimizer",
          [options](const std::string& rule) {
            options->how.rule = from_name<op::update_rule>(rule).value();
          },
          "How a training step updates the weights [momentum]")
      ->check(
          CLI::IsMember(std::vector<std::string>(op::optimizers.begin(), op::optimizers.end())));
  command
      ->add_option("--contexts", options->contexts,
                   "Memory of driver and libraries, to add: it is not predicted "
                   "[0]\n--contexts=500MB")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true));
  CLI::Option* results =
      add_values(*command, "--scratch", "FILE", options->results,
                 "Result files with rows of the step: add the most scratch memory that a call has");
  command
      ->add_option("--fits", options->limit,
                   "Also name the largest batch that needs at most this much\n--fits=16GB")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true))
      ->excludes(results);
  const std::shared_ptr<const common_options> common = add_common(*command);
  command->callback(
      [common, options] { write(*common, render(report_of(*options, *common), common->format)); });
}

}  // namespace layerbench::tool
