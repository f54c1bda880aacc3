// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/base/engine_overhead.hpp>
#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/analysis/base/repeated_rounds.hpp>
#include <layerbench/analysis/predict/bmf.hpp>
#include <layerbench/analysis/predict/fusion_gain.hpp>
#include <layerbench/analysis/predict/json.hpp>
#include <layerbench/analysis/predict/service_mix.hpp>
#include <layerbench/analysis/predict/text.hpp>
#include <layerbench/analysis/predict/training_cost.hpp>
#include <layerbench/analysis/scaling/contention.hpp>
#include <layerbench/analysis/scaling/json.hpp>
#include <layerbench/analysis/scaling/text.hpp>
#include <layerbench/base/program_path.hpp>

#include "commands.hpp"
#include "scaling.hpp"

namespace layerbench::tool {
namespace {

/// The layers that are shown.
struct listed_layers {
  std::size_t top = 0;  ///< 0: ten in text
  bool all = false;
  analysis::layer_order order = analysis::layer_order::share;

  /// Whether CSV is of layers.
  [[nodiscard]] bool asked() const {
    return top > 0 || all || order != analysis::layer_order::share;
  }
  [[nodiscard]] std::size_t most(std::size_t usual) const {
    return all ? SIZE_MAX : top > 0 ? top : usual;
  }
};

struct predict_options {
  std::vector<std::string> files;
  std::vector<std::string> peaks;
  std::vector<std::string> engine_overheads;
  std::string engine;
  analysis::options predict;
  listed_layers layers;
  scaling_request scaling;
  std::optional<std::int64_t> epochs;
  std::optional<std::int64_t> images;
  std::optional<double> price_per_hour;
  std::string mix;
  std::string draft;
  std::optional<double> acceptance;

  [[nodiscard]] std::optional<analysis::training_run> training_run() const {
    if (!epochs) return std::nullopt;
    return analysis::training_run{*epochs, *images, price_per_hour};
  }
};

std::string render(const std::vector<analysis::prediction>& predictions,
                   const std::vector<analysis::measured_contention>& measured,
                   const std::optional<analysis::training_run>& run,
                   const std::optional<analysis::service_mix>& mix,
                   const std::vector<std::string>& notes, const listed_layers& layers,
                   const std::string& format) {
  if (format == "csv") {
    return csv(layers.asked()
                   ? analysis::layer_records(predictions, layers.most(SIZE_MAX), layers.order)
                   : analysis::records(predictions));
  }
  std::vector<analysis::service> services;
  if (mix) services = analysis::services_of(predictions, *mix);
  if (format == "text") {
    return analysis::text(predictions, layers.most(10), layers.order) +
           (run ? analysis::text(predictions, *run) : "") +
           (mix ? analysis::text(services, *mix) : "") +
           analysis::text(analysis::fusion_gains(predictions)) + analysis::text(measured);
  }
  if (format == "bmf") return json_text(analysis::to_bmf(predictions));
  json::value result = analysis::to_json(predictions);
  result["notes"] = notes;
  analysis::add_contentions(result, measured);
  analysis::add_fusion_gains(result, analysis::fusion_gains(predictions));
  if (run) analysis::add_training_runs(result, predictions, *run);
  if (mix) analysis::add_services(result, services, *mix);
  return json_text(result);
}

std::string check_seconds(const std::string& text) {
  return check_number(text, 0, 1e6, "a number of seconds, such as 2e-6");
}

/// Options that say how long a training is; text and JSON have what it takes.
void add_training_run(CLI::App& command, predict_options& chosen) {
  CLI::Option* epochs = command
                            .add_option("--epochs", chosen.epochs,
                                        "Epochs of a training, to know what it takes\n--epochs=90 "
                                        "--images=1281167 --price-per-hour=3.06")
                            ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  CLI::Option* images =
      command.add_option("--images", chosen.images, "Images in an epoch, such as 1281167")
          ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000'000}));
  epochs->needs(images);
  images->needs(epochs);
  command
      .add_option("--price-per-hour", chosen.price_per_hour,
                  "Price of the machine, in any currency, to know what the training costs")
      ->type_name("NUMBER")
      ->check([](const std::string& text) {
        return check_number(text, 0, 1e9, "a price, such as 3.06");
      })
      ->needs(epochs);
}

/// The options that add the overhead of an engine.
void add_engine(CLI::App& command, predict_options& chosen) {
  CLI::Option* engine =
      command
          .add_option("--as", chosen.engine,
                      "Add what this engine takes beside the calls\n--as=openvino "
                      "--engine-overhead=o.json")
          ->check(CLI::IsMember({"torch", "torch_compile", "onnxruntime", "openvino"}))
          ->excludes("--overhead-per-layer")
          ->excludes("--overhead-per-step");
  CLI::Option* overheads = add_engine_overheads(command, chosen.engine_overheads);
  engine->needs(overheads);
  overheads->needs(engine);
}

/// Adds the engine's overhead to the predictions, and prints which have none. Throws
/// nothing_matched if no prediction has one.
void add_overheads(std::vector<analysis::prediction>& predictions,
                   const std::vector<result::results>& files, const predict_options& chosen) {
  const std::vector<result::results> overheads = read_engine_overheads(chosen.engine_overheads);
  for (const std::string& other : analysis::notes_on_engine(chosen.engine, files, overheads))
    note(other);
  std::string left_out;
  for (analysis::prediction& one : predictions) {
    if (!one.step) continue;
    const std::string reason = analysis::add_engine_overhead(one, files, chosen.engine, overheads);
    if (!reason.empty()) left_out += fmt::format("\n{}: {}", one.model_case.text(), reason);
  }
  const auto has_one = [](const analysis::prediction& p) { return p.engine || !p.step; };
  if (std::ranges::none_of(predictions, has_one)) {
    throw nothing_matched(fmt::format("--as={}: no case has an overhead of this engine:{}\n{}",
                                      chosen.engine, left_out,
                                      analysis::known_overheads(overheads)));
  }
  if (!left_out.empty()) {
    note(fmt::format("predicted without an overhead:{}\n{}", left_out,
                     analysis::known_overheads(overheads)));
  }
}

/// The options that say which layers are shown.
void add_layers(CLI::App& command, listed_layers& chosen) {
  add_table_options(command, chosen.top, chosen.order);
  command
      .add_flag("--all", chosen.all,
                "Show all layers; CSV then has one row per layer, not per case, as with --top and "
                "--sort")
      ->excludes("--top");
}

/// The option that says what a request of a service takes.
void add_mix(CLI::App& command, predict_options& chosen) {
  CLI::Option* mix =
      command
          .add_option(
              "--mix", chosen.mix,
              "Requests/s and tokens/s of a service: each request takes PROMPTS prompt steps "
              "and DECODES "
              "decode steps, one after the other\n--mix=1:255")
          ->type_name("PROMPTS:DECODES")
          ->check([](const std::string& text) {
            if (analysis::service_mix::parse(text)) return std::string();
            return "expected two counts with a colon between them, such as 1:255; found " + text;
          });
  CLI::Option* draft =
      command
          .add_option("--draft", chosen.draft,
                      "Model in the results that guesses tokens in speculative decoding, for every "
                      "measured number of --tokens; needs --acceptance\n--mix=1:255 "
                      "--draft=gpt2 --acceptance=0.8")
          ->type_name("MODEL")
          ->check([](const std::string& text) { return text.empty() ? "expected a model" : ""; })
          ->needs(mix);
  draft->needs(command
                   .add_option("--acceptance", chosen.acceptance,
                               "Share of the guesses that the model accepts, 0 to 1")
                   ->check([](const std::string& text) {
                     return check_number(text, 0, 1, "a share, such as 0.8");
                   })
                   ->type_name("SHARE")
                   ->needs(draft));
}

/// Throws nothing_matched where no model both reads prompts and decodes. Steps that are refused,
/// because layers are missing, are another error.
void require_service(const std::vector<analysis::prediction>& predictions,
                     const analysis::service_mix& mix) {
  const std::vector<analysis::service> services = analysis::services_of(predictions, mix);
  const auto has_guesses = [](const analysis::service& one) { return one.speculative.size() > 1; };
  if (std::ranges::any_of(services, has_guesses)) return;
  if (!services.empty() && mix.draft.empty()) return;
  const auto is_refused = [](const analysis::prediction& p) { return !p.step; };
  if (std::ranges::any_of(predictions, is_refused)) return;
  if (!services.empty()) {
    throw nothing_matched(fmt::format(
        "--draft: the results lack prompts and decode steps of '{0}', or steps of the model with "
        "several tokens, at equal batch, prompt and context; measure them, and give all files: "
        "bench_model --model={0} --tokens=1 --context=512, and the model with --tokens=2,3,5",
        mix.draft));
  }
  throw nothing_matched(
      "--mix: the results have no model both with a prompt (context 0) and behind a cache, on the "
      "same machine; measure both, and give both files: bench_model --model=gpt2 "
      "--benchmark_out=FILE, and with --tokens=1 --context=512");
}

}  // namespace

void add_prediction_options(CLI::App& command, analysis::options& chosen) {
  add_values(command, "--model", "NAME|FILE", chosen.models,
             "Models, by name or path of a shape file [all that were planned]\n--model=resnet50");
  command.add_option("--phase", chosen.phase, "Phase [all that were planned]")
      ->check(CLI::IsMember({"inference", "training"}));
  command.add_flag("--allow-partial", chosen.allow_partial,
                   "Add up what was measured although layers are missing");
  command
      .add_option("--cache", chosen.cache,
                  "State of the timings to add up [model where it was measured, else hot]")
      ->check(CLI::IsMember({"hot", "model"}));
  command
      .add_option("--overhead-per-layer", chosen.overhead_per_layer,
                  "Seconds that your framework adds to each layer")
      ->type_name("SECONDS")
      ->check(check_seconds)
      ->capture_default_str();
  command
      .add_option("--overhead-per-step", chosen.overhead_per_step,
                  "Seconds that your framework adds to each step")
      ->type_name("SECONDS")
      ->check(check_seconds)
      ->capture_default_str();
}

CLI::Option* add_values(CLI::App& command, const std::string& name, const char* type,
                        std::vector<std::string>& values, const std::string& help) {
  return command.add_option(name, values, help)
      ->type_name(type)
      ->delimiter(',')
      ->allow_extra_args(false);
}

void add_peaks(CLI::App& command, std::vector<std::string>& files) {
  add_values(command, "--peaks", "FILE", files,
             "Result files of bench_peak, measured on the same device [the "
             "results]\n--peaks=p.json");
}

CLI::Option* add_engine_overheads(CLI::App& command, std::vector<std::string>& files) {
  return add_values(command, "--engine-overhead", "FILE", files,
                    "Result files of tools/engines.py --overhead, measured on the same device");
}

nothing_matched no_training(std::string_view option) {
  return nothing_matched(
      fmt::format("{}: the results have no training; measure it: {} --phase=training "
                  "--benchmark_out=FILE",
                  option, program_path("bench_model")));
}

void require_complete(const std::vector<analysis::prediction>& predictions,
                      const std::vector<result::results>& files, bool listed) {
  std::string missing;
  for (const analysis::prediction& prediction : predictions) {
    if (prediction.missing.empty()) continue;
    missing += fmt::format("\n  {}", prediction.model_case.text());
    if (!listed) missing += fmt::format(": {}", fmt::join(prediction.missing, " "));
  }
  if (missing.empty()) return;
  const std::string program = "bench_model";
  const bool resumable =
      files.size() == 1 && files[0].context_value("layerbench_program") == program;
  throw error(
      fmt::format(
          "layers without a timing; measure them{}, or add up the others with "
          "--allow-partial:{}",
          resumable ? fmt::format(" ({} --resume={})", program_path(program), files[0].file) : "",
          missing),
      exit_code::incomplete);
}

namespace {

/// Throws usage_error for options that exclude each other.
void require_fitting(const predict_options& options, bool has_run, bool has_mix,
                     const common_options& common) {
  if (options.files.empty() && !options.scaling.throughput) {
    throw usage_error(fmt::format("result files are required; try: {} predict --help",
                                  program_path("layerbench")));
  }
  if (options.scaling.throughput && !options.peaks.empty()) {
    throw usage_error("--throughput has no timings to hold to --peaks");
  }
  if (options.scaling.throughput || !options.scaling.devices.empty()) {
    if (has_run) {
      throw usage_error("--epochs: not with --devices or --throughput; it is of measured machines");
    }
    if (has_mix) {
      throw usage_error("--mix: not with --devices or --throughput; it is of one device");
    }
    if (options.layers.asked()) {
      throw usage_error(
          "--top, --all, --sort: not with --devices or --throughput, which list no "
          "layers");
    }
    if (!options.engine.empty()) {
      throw usage_error("--as: not with --devices or --throughput; engines run inference");
    }
  }
  for (const char* option : {has_run ? "--epochs" : "", has_mix ? "--mix" : ""}) {
    if (*option == 0 || common.format == "text" || common.format == "json") continue;
    throw usage_error(fmt::format("{}: only with --format text or json", option));
  }
}

}  // namespace

void add_predict(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("predict", "Predicts the throughput of models from timings of layers");
  const auto options = std::make_shared<predict_options>();
  command->add_option("results", options->files, "Result files of the benchmark programs");
  add_prediction_options(*command, options->predict);
  add_engine(*command, *options);
  add_peaks(*command, options->peaks);
  add_layers(*command, options->layers);
  add_scaling_options(*command, options->scaling);
  add_training_run(*command, *options);
  add_mix(*command, *options);
  const std::shared_ptr<const common_options> common =
      add_common(*command, {"text", "json", "csv", "bmf"});
  command->callback([common, options] {
    const std::optional<analysis::training_run> run = options->training_run();
    auto mix = analysis::service_mix::parse(options->mix);
    if (mix && options->acceptance) {
      mix->draft = options->draft;
      mix->acceptance = *options->acceptance;
    }
    require_fitting(*options, run.has_value(), mix.has_value(), *common);
    options->predict.shapes = common->shapes;
    const std::vector<result::results> peaks = read_peaks(options->peaks);
    options->predict.peaks = peaks;
    if (!options->scaling.devices.empty()) {
      predict_scaling(options->scaling, options->files, options->predict, *common);
      return;
    }
    const std::vector<result::results> files = read_results(options->files);
    std::vector<analysis::prediction> predictions = analysis::predict(files, options->predict);
    if (!options->engine.empty()) add_overheads(predictions, files, *options);
    const auto trains = [](const analysis::prediction& p) {
      return p.model_case.phase() == "training";
    };
    if (run && std::ranges::none_of(predictions, trains)) throw no_training("--epochs");
    if (mix) require_service(predictions, *mix);
    write(*common,
          render(predictions, analysis::contentions(files, options->predict), run, mix,
                 analysis::notes_of(analysis::group_of(files)), options->layers, common->format));
    if (!options->predict.allow_partial) {
      require_complete(predictions, files, common->format == "text");
    }
  });
}

}  // namespace layerbench::tool
