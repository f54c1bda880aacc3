// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/base/cases.hpp>
#include <layerbench/analysis/base/memory.hpp>
#include <layerbench/analysis/memory/json.hpp>
#include <layerbench/analysis/memory/text.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/op/update.hpp>

#include "model_options.hpp"

namespace layerbench::tool {
namespace {

constexpr auto policy_names = enum_names<analysis::memory_policy>;

struct memory_options {
  std::shared_ptr<model_options> model = std::make_shared<model_options>();
  std::vector<analysis::memory_policy> policies;  ///< none: all
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
  const auto step_of = [&](std::int64_t batch) {
    model_options other = *asked.model;
    other.sizes["batch"] = batch;
    return analysis::step_in_memory(load(other, common), of.phase, asked.model->type(), asked.how);
  };
  std::map<std::int64_t, std::int64_t> known;  // live bytes by batch, the same for each policy
  const auto live = [&](std::int64_t batch) {
    const auto [found, is_new] = known.try_emplace(batch, 0);
    if (is_new) {
      found->second = analysis::live_memory_of(step_of(batch)).at_peak().total() + asked.contexts;
    }
    return found->second;
  };
  std::vector<std::int64_t> batches;
  for (const analysis::memory_total& total : of.totals) {
    const auto needed = [&](std::int64_t batch) {
      return analysis::memory_of(step_of(batch), total.policy, total.beside).bytes();
    };
    batches.push_back(analysis::largest_batch(*asked.limit, live, needed));
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
  const auto measured =
      analysis::measured_beside_tensors(analysis::group_of(files), graph, asked.phase(), type);
  if (!files.empty() && !measured) {
    throw nothing_matched(fmt::format("--scratch: no row is of '{}', {}, {}, batch {}", graph.name,
                                      asked.phase(), name(type), model::batch(graph)));
  }
  model::step step = analysis::step_in_memory(graph, asked.phase(), type, asked.how);
  analysis::live_memory live = analysis::live_memory_of(step);
  analysis::memory_report result{std::move(graph),    asked.phase(),   asked.how,
                                 std::move(step),     std::move(live), {},
                                 measured.has_value()};
  for (std::size_t i = 0; i < policy_names.size(); ++i) {
    const auto policy = static_cast<analysis::memory_policy>(i);
    const bool wanted =
        asked.policies.empty() || std::ranges::find(asked.policies, policy) != asked.policies.end();
    if (!wanted) continue;
    analysis::memory_beside_tensors beside = measured.value_or(analysis::memory_beside_tensors{});
    beside.contexts = asked.contexts;
    result.totals.push_back(analysis::memory_of(result.step, policy, beside));
  }
  result.limit = asked.limit;
  if (asked.limit) result.batches = largest_batches(result, asked, common);
  return result;
}

/// The bytes of a size, such as "16GB"; empty if it is none.
std::string bytes_of_size(std::string text) {
  try {
    const std::string error = CLI::AsSizeValue(/*kb_is_1000=*/true)(text);
    const bool whole = text.find_first_not_of("0123456789") == std::string::npos;
    return error.empty() && whole ? text : "";
  } catch (const CLI::ValidationError&) {
    return "";
  }
}

/// Replaces a size by its bytes. The result is empty, or an error message if `text` is no size or
/// less than `least` bytes.
std::string read_size(std::string& text, double least) {
  const std::string bytes = bytes_of_size(text);
  constexpr double most = 1e18;
  if (!check_number(bytes, least, most, "").empty()) {
    return fmt::format("expected a size, such as 16GB, found {}", text);
  }
  text = bytes;
  return "";
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
  command
      ->add_option_function<std::vector<std::string>>(
          "--policy",
          [options](const std::vector<std::string>& names) {
            for (const std::string& one : names) {
              options->policies.push_back(from_name<analysis::memory_policy>(one).value());
            }
          },
          "Who gives memory to tensors; kept: each has its own; reused: each takes that of one "
          "that no later call needs; pytorch: PyTorch's caching allocator [all "
          "three]\n--policy=reused,pytorch")
      ->type_name("NAME")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(std::vector<std::string>(policy_names.begin(), policy_names.end())));
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
      ->transform(CLI::Validator([](std::string& text) { return read_size(text, 0); }, ""));
  CLI::Option* results =
      add_values(*command, "--scratch", "FILE", options->results,
                 "Result files with rows of the step, at its batch: add the most scratch memory "
                 "that a call has, and in a chain the tensors of the library's reorders; not with "
                 "--fits");
  command
      ->add_option("--fits", options->limit,
                   "Also name the largest batch that needs at most this much\n--fits=16GB")
      ->type_name("SIZE")
      ->transform(CLI::Validator([](std::string& text) { return read_size(text, 1); }, ""))
      ->excludes(results);
  const std::shared_ptr<const common_options> common = add_common(*command);
  command->callback(
      [common, options] { write(*common, render(report_of(*options, *common), common->format)); });
}

}  // namespace layerbench::tool
