// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "scaling.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include <layerbench/analysis/scaling/json.hpp>
#include <layerbench/analysis/scaling/network_file.hpp>
#include <layerbench/analysis/scaling/text.hpp>
#include <layerbench/analysis/scaling/trace.hpp>
#include <layerbench/base/output_file.hpp>
#include <layerbench/base/split.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>

namespace layerbench::tool {
namespace {

[[noreturn]] void refuse(const std::string& devices, std::string_view why) {
  throw usage_error(
      fmt::format("--devices: {}: {}; expected numbers such as 8 or 1,2,4,...,64", devices, why));
}

/// Continues the series of numbers up to `last`.
void continue_series(std::vector<std::int64_t>& numbers, std::int64_t last,
                     const std::string& text) {
  constexpr std::size_t most = 100'000;
  const std::size_t n = numbers.size();
  if (n < 2) refuse(text, "'...' follows two numbers at least");
  const std::int64_t step = numbers[n - 1] - numbers[n - 2];
  const std::int64_t factor = numbers[n - 1] / numbers[n - 2];
  const bool by_steps = n > 2 && numbers[n - 2] - numbers[n - 3] == step;
  if (step < 1 || (!by_steps && numbers[n - 1] != factor * numbers[n - 2])) {
    refuse(text, "what '...' stands for is not clear");
  }
  while (numbers.back() < last && numbers.size() < most) {
    numbers.push_back(by_steps ? numbers.back() + step : numbers.back() * factor);
  }
  if (numbers.size() >= most) refuse(text, "too many");
  if (numbers.back() != last) refuse(text, fmt::format("'...' does not lead to {}", last));
}

analysis::network network_of(const scaling_request& given, const common_options& common) {
  if (given.network.empty()) {
    throw usage_error(fmt::format("--devices needs --network FILE|NAME; there are: {}",
                                  fmt::join(analysis::list_networks(common.shapes), " ")));
  }
  return analysis::load_network(given.network, common.shapes);
}

/// Scales a case of which only the throughput is known.
analysis::data_parallel of_throughput(const scaling_request& given, const analysis::options& chosen,
                                      const analysis::scaling_options& how) {
  if (chosen.models.size() != 1) throw usage_error("--throughput is of one model: give --model");
  if (how.scaling == analysis::scaling::strong) {
    throw usage_error(
        "--scaling=strong needs timings at smaller batches: measure them with bench_model "
        "--phase=training --batch=..., and give the result files instead of --throughput");
  }
  if (chosen.overhead_per_layer > 0 || chosen.overhead_per_step > 0) {
    throw usage_error(
        "a throughput has the framework's overhead in it already: --throughput goes "
        "without --overhead-per-layer and --overhead-per-step");
  }
  if (traits(dtype_from(given.dtype).value()).bytes < 2) {
    throw usage_error(fmt::format("--dtype={}: it has no training, only inference", given.dtype));
  }
  const auto path = model::find(chosen.models.front(), chosen.shapes);
  const model::graph graph = model::load_model(path, given.batch);
  const analysis::prediction single =
      analysis::spread_throughput(graph, dtype_from(given.dtype).value(), *given.throughput);
  const analysis::device_work work{
      std::make_shared<const analysis::compute_step>(analysis::compute_step_of(single, graph, {})),
      analysis::given_contention(how)};
  const auto same = [&work](std::int64_t) -> const analysis::device_work& { return work; };
  return analysis::scale_up(single, how, same);
}

/// Throws error for models of which the import left nodes out: their steps are too short.
void require_whole(const std::vector<analysis::prediction>& predictions) {
  std::string partial;
  for (const analysis::prediction& one : predictions) {
    if (one.left_out) partial += fmt::format("\n  {}", one.model_case.text());
  }
  if (partial.empty()) return;
  throw error(
      fmt::format("--devices: not of partial models; import all of their nodes:{}", partial),
      exit_code::incomplete);
}

std::string render(std::span<const analysis::data_parallel> all, const std::string& format) {
  if (format == "csv") return csv(analysis::records(all));
  return format == "json" ? json_text(analysis::to_json(all)) : analysis::text(all);
}

void validate_options(const scaling_request& given, const std::vector<std::string>& files,
                      const analysis::options& chosen, const std::string& format) {
  if (chosen.phase == "inference") {
    throw usage_error("--devices is for training: devices send each other nothing in inference");
  }
  if (format == "bmf") throw usage_error("--devices goes with the formats text, json and csv");
  if (chosen.allow_partial) {
    throw usage_error("--devices needs all layers: it goes without --allow-partial");
  }
  if (given.throughput && !files.empty()) {
    throw usage_error("--throughput stands for result files: give one or the other");
  }
}

/// Prints which files are not merged. Files with contention are expected to differ and are skipped.
void print_other_incompatible_files(std::vector<result::results> files,
                                    const std::vector<analysis::measured_contention>& measured) {
  std::erase_if(files, [&](const result::results& file) {
    return std::ranges::any_of(measured, [&](const analysis::measured_contention& contention) {
      return std::ranges::find(contention.files, file.file) != contention.files.end();
    });
  });
  print_incompatible_files(files);
}

/// Writes the timeline of the only step. Throws usage_error if there are several.
void write_trace(const std::string& file, overwrite_rule rule,
                 std::span<const analysis::data_parallel> all) {
  if (all.size() != 1 || all.front().steps.size() != 1) {
    std::vector<std::string> cases;
    for (const analysis::data_parallel& of : all) {
      cases.push_back(of.single.model_case.text());
    }
    throw usage_error(fmt::format(
        "--trace is of one step: give one number of devices and one case, by --model or "
        "by a file that has one alone; here are: {}",
        fmt::join(cases, ", ")));
  }
  output_file(file, rule).write(json_text(analysis::trace(all.front(), 0)));
}

std::string check_dtype(const std::string& text) {
  return dtype_from(text) ? "" : "unknown data type " + text;
}

auto within(double least, double most, std::string_view what) {
  return [=](const std::string& text) { return check_number(text, least, most, what); };
}

/// Adds the options that replace result files.
void add_throughput_options(CLI::App& command, scaling_request& given, CLI::Option* devices) {
  CLI::Option* throughput =
      command
          .add_option("--throughput", given.throughput,
                      "Images/s of one device in training, where there are no results of it")
          ->type_name("IMAGES/S")
          ->check(within(1e-9, 1e12, "images/s between 1e-9 and 1e12"))
          ->needs(devices);
  command.add_option("--batch", given.batch, "Images in a batch of that throughput")
      ->check(CLI::Range(std::int64_t{1}, max_size))
      ->needs(throughput);
  command.add_option("--dtype", given.dtype, "Data type of its gradients")
      ->type_name("TYPE")
      ->check(check_dtype)
      ->needs(throughput)
      ->capture_default_str();
}

}  // namespace

std::vector<std::int64_t> device_counts(const std::string& text) {
  std::vector<std::int64_t> numbers;
  bool ellipsis = false;
  for (const std::string_view part : split(text, ',')) {
    if (part == "..." && !ellipsis) {
      ellipsis = true;
      continue;
    }
    const auto number = result::detail::count_of(part);
    if (!number || *number > max_size) refuse(text, fmt::format("'{}' is no such number", part));
    if (ellipsis) {
      continue_series(numbers, *number, text);
    } else {
      numbers.push_back(*number);
    }
    ellipsis = false;
  }
  if (ellipsis) refuse(text, "'...' leads to nothing");
  return numbers;
}

void add_scaling_options(CLI::App& command, scaling_request& given) {
  CLI::Option* devices = command
                             .add_option("--devices", given.devices,
                                         "Numbers of devices that train together, such as "
                                         "1,2,4,...,64; gradients are added up")
                             ->type_name("N,...");
  devices->check([](const std::string& text) {
    return std::string(text.empty() ? "expected numbers such as 8 or 1,2,4,...,64" : "");
  });
  add_values(
      command, "--network", "NAME|FILE", given.network,
      "What joins them: name or path of a network file, or results of bench_allreduce, a file "
      "for each number of ranks")
      ->needs(devices);
  command
      .add_option("--contention", given.contention,
                  "How many times as long computing takes while gradients are sent [as "
                  "measured (bench_model --during), else 1]")
      ->type_name("FACTOR")
      ->check(within(1, 100, "a factor from 1 on"))
      ->needs(devices);
  command
      .add_option("--scaling", given.scaling,
                  "weak: each device has the batch; strong: all of them together have it")
      ->check(CLI::IsMember({"weak", "strong"}))
      ->needs(devices)
      ->capture_default_str();
  command.add_option("--trace", given.trace, "File for the step's timeline, as Chrome trace JSON")
      ->type_name("FILE")
      ->needs(devices);
  add_throughput_options(command, given, devices);
}

void predict_scaling(const scaling_request& given, const std::vector<std::string>& files,
                     const analysis::options& chosen, const common_options& common) {
  validate_options(given, files, chosen, common.format);
  const analysis::scaling_options how{device_counts(given.devices), network_of(given, common),
                                      given.contention,
                                      from_name<analysis::scaling>(given.scaling).value()};
  std::vector<result::results> results;
  std::vector<analysis::prediction> single;
  std::vector<analysis::data_parallel> all;
  if (given.throughput) {
    all.push_back(of_throughput(given, chosen, how));
  } else {
    results = read_files(files);
    const auto trains = [](const result::measurement& row) {
      return row.name.model_case.phase() == "training";
    };
    if (std::ranges::none_of(results, [&](const result::results& file) {
          return std::ranges::any_of(file.rows, trains);
        })) {
      throw no_training("--devices");
    }
    analysis::options training = chosen;
    training.phase = "training";
    single = analysis::predict(results, training);
    const auto measured = analysis::contentions(results, training);
    if (results.size() > 1) print_other_incompatible_files(results, measured);
    all = analysis::predict_data_parallel(single, results, training, how, measured);
  }
  if (all.empty()) require_whole(single);
  if (!given.trace.empty()) write_trace(given.trace, common.rule(), all);
  write(common, render(all, common.format));
  require_complete(single, results);
  require_whole(single);
}

}  // namespace layerbench::tool
