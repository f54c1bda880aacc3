// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/analysis/study/json.hpp>
#include <layerbench/analysis/study/memory_figures.hpp>
#include <layerbench/analysis/study/own_figures.hpp>
#include <layerbench/analysis/study/planned_runs.hpp>
#include <layerbench/analysis/study/study_file.hpp>
#include <layerbench/analysis/study/text.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/result/read_results.hpp>

#include "support/golden.hpp"
#include "support/mentions.hpp"
#include "support/program.hpp"
#include "support/scaling.hpp"
#include "support/timings.hpp"

namespace layerbench::analysis {
namespace analysis_study_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::mentions;
using ::testing::Not;
using ::testing::SizeIs;

/// The cell of a study with this label and batch.
const study_cell& cell_of(const study& of, const std::string& label, std::int64_t batch) {
  const auto found = std::ranges::find_if(
      of.cells, [&](const study_cell& cell) { return cell.label == label && cell.batch == batch; });
  EXPECT_NE(found, of.cells.end()) << label;
  return found == of.cells.end() ? of.cells.front() : *found;
}

std::optional<double> figure(const study& of, const study_cell& cell, const std::string& column) {
  const auto found = std::ranges::find(of.columns, column);
  EXPECT_NE(found, of.columns.end()) << column;
  return cell.published.at(static_cast<std::size_t>(found - of.columns.begin()));
}

TEST(ShippedStudy, LoadsAndEveryModelIsThere) {
  const std::vector<std::string> names = list_studies(LAYERBENCH_SHAPES_DIR);
  EXPECT_THAT(names,
              ::testing::IsSupersetOf({"upv_2018", "tf_cnn_benchmarks", "cnn_benchmarks",
                                       "convnet_benchmarks", "mxnet_perf", "deep_learning_examples",
                                       "dawnbench", "dlbench_hkbu", "dlbs_hpe", "elshawi_2021",
                                       "ilkarman_2018", "lerat_2021", "resbench_2022"}));
  for (const std::string& name : names) {
    const study item = load_study(name, LAYERBENCH_SHAPES_DIR);
    EXPECT_EQ(item.name, name);
    EXPECT_GT(item.source.size(), 20U) << name;
    EXPECT_THAT(item.unanswered, Not(IsEmpty())) << name;
    EXPECT_THAT(runs_of(item.cells), Not(IsEmpty())) << name;
    const bool says_what_lacks = std::ranges::any_of(item.notes, [](const std::string& note) {
      return note.starts_with("Published figures: ");
    });
    const auto has_figure = [](const study_cell& cell) {
      return std::ranges::any_of(cell.published,
                                 [](const auto& value) { return value.has_value(); });
    };
    const bool publishes_none = name == "lerat_2021" || name == "resbench_2022";
    EXPECT_NE(std::ranges::any_of(item.cells, has_figure), publishes_none) << name;
    for (const study_cell& cell : item.cells) {
      EXPECT_TRUE(says_what_lacks || has_figure(cell)) << name << ": " << cell.label;
      if (!cell.answerable()) continue;
      const model::graph graph =
          model::load(model::find(cell.model, LAYERBENCH_SHAPES_DIR), cell.batch);
      EXPECT_EQ(graph.name, cell.model) << name;
      EXPECT_THAT(graph.studies, ::testing::Contains(name)) << cell.model;
    }
  }
}

TEST(ShippedStudy, HasThePublishedFigures) {
  const auto load = [](const std::string& name) { return load_study(name, LAYERBENCH_SHAPES_DIR); };
  const study upv = load("upv_2018");
  const study_cell& resnet = cell_of(upv, "ImageNet ResNet50, PyTorch", 8);
  EXPECT_EQ(resnet.model, "resnet50");
  EXPECT_EQ(figure(upv, resnet, "1x P100"), 125);
  EXPECT_EQ(figure(upv, resnet, "CPU"), 3);
  const study torch = load("cnn_benchmarks");
  EXPECT_EQ(figure(torch, cell_of(torch, "ResNet-50", 16), "CPU: Dual Xeon E5-2630 v3"), 2477.61);
  const study tensorflow = load("tf_cnn_benchmarks");
  EXPECT_EQ(figure(tensorflow, cell_of(tensorflow, "AlexNet", 512), "8x P100"), 17822);
  EXPECT_EQ(figure(tensorflow, cell_of(tensorflow, "ResNet-50", 32), "1x K80"), std::nullopt);
  const study mxnet = load("mxnet_perf");
  EXPECT_EQ(figure(mxnet, cell_of(mxnet, "ResNet-50", 32), "c5.18xlarge"), 193);
}

TEST(ShippedStudy, SaysWhichCellsCannotBeAnswered) {
  const study dawn = load_study("dawnbench", LAYERBENCH_SHAPES_DIR);
  const auto open = std::ranges::find_if_not(dawn.cells, &study_cell::answerable);
  ASSERT_NE(open, dawn.cells.end());
  const std::vector<study_row> rows = own_figures(dawn, {&*open, 1}, {});
  EXPECT_EQ(rows.at(0).reason, open->unanswered);
  EXPECT_THAT(text(dawn, rows), AllOf(HasSubstr(open->unanswered), mentions("6420")));
}

/// The row of a cell of upv_2018.
study_row row_of_upv(const std::string& label) {
  const study item = load_study("upv_2018", LAYERBENCH_SHAPES_DIR);
  const auto found = std::ranges::find(item.cells, label, &study_cell::label);
  EXPECT_NE(found, item.cells.end()) << label;
  return own_figures(item, {&*found, 1}, {}, {LAYERBENCH_SHAPES_DIR}).at(0);
}

TEST(ShippedStudy, HasTheMemoryOfEachFramework) {
  struct golden_memory {
    std::string cell;
    memory_policy policy;
    double tensors;  // MiB
    double contexts_of_p100;
  };
  using enum memory_policy;
  for (const auto& [cell, policy, tensors, contexts] :
       std::vector<golden_memory>{{"ImageNet ResNet50, Caffe", kept, 1776.6, 0},
                                  {"CIFAR10 ResNet50, Caffe", kept, 1210.5, 0},
                                  {"ImageNet ResNet50, PyTorch", pytorch, 1018, 334},
                                  {"MNIST LeNet, PyTorch", pytorch, 24, 334},
                                  {"ImageNet VGG16, MXNet", reused, 2128.1, 0},
                                  {"CIFAR10 ResNet50, MXNet", reused, 387.6, 0},
                                  {"ImageNet AlexNet, CNTK", reused, 1602.5, 0},
                                  {"CIFAR10 ResNet50, CNTK", reused, 208.5, 0}}) {
    const study_row row = row_of_upv(cell + ", memory");
    EXPECT_THAT(row.reason, IsEmpty()) << cell;
    ASSERT_THAT(row.memory, SizeIs(2)) << cell << ": one K20m, one P100";
    for (const memory_figure& figure : row.memory) {
      const bool is_p100 = figure.column == 2;
      EXPECT_EQ(figure.policy, policy) << cell;
      EXPECT_NEAR(figure.value, tensors + (is_p100 ? contexts : 0), 0.06) << cell;
      EXPECT_DOUBLE_EQ(figure.error, figure.value / *row.cell.published[figure.column] - 1);
      EXPECT_LE(figure.live, figure.value) << cell;
    }
  }
}

TEST(ShippedStudy, SaysWhyTensorFlowHasNoMemory) {
  const study_row row = row_of_upv("ImageNet VGG16, TensorFlow, memory");
  EXPECT_THAT(row.memory, IsEmpty());
  EXPECT_THAT(row.reason, mentions("TensorFlow", "GPU"));
  const study item = load_study("upv_2018", LAYERBENCH_SHAPES_DIR);
  EXPECT_THAT(text(item, {&row, 1}), AllOf(HasSubstr(row.reason), mentions("14354")));
}

TEST(MemoryErrors, AreOfEachFrameworkAndColumn) {
  study item;
  item.columns = {"x", "y"};
  item.memory.frameworks = {{"F", memory_policy::kept, {}, "", ""},
                            {"G", memory_policy::reused, {}, "", ""}};
  const auto figure = [](const std::string& framework, std::size_t column, double published) {
    return memory_figure{framework, memory_policy::kept, column, {}, 90, 85,
                         published, 90 / published - 1};
  };
  const std::vector<memory_error> errors = memory_errors(
      item, std::vector{figure("G", 0, 100), figure("F", 1, 100), figure("F", 1, 75)});
  ASSERT_THAT(errors, SizeIs(2));
  EXPECT_EQ(errors[0].like.framework, "F");
  EXPECT_EQ(errors[0].figures, 2U);
  EXPECT_EQ(errors[0].below_live, 1U) << "75 of 85";
  EXPECT_NEAR(errors[0].mean, 0.15, 1e-9);
  EXPECT_NEAR(errors[0].bias, 0.05, 1e-9);
  EXPECT_EQ(errors[1].like.framework, "G");
}

/// A study file in a directory of its own.
class StudyFile : public ::testing::Test {
 protected:
  std::string write(const std::string& text, const std::string& name = "s.json") {
    return scratch_.write(name, text).string();
  }

  /// A study with this text instead of `from`.
  static std::string changed(const std::string& from, const std::string& to) {
    std::string text = R"({"name": "s", "title": "S", "source": "a paper", "unit": "ms",
      "columns": ["x", "y"],
      "cells": [{"label": "c", "model": "lenet5", "phase": "training", "batch": 2, "dtype": "f32",
                 "parts": ["forward"], "published": {"x": 1.5}},
                {"label": "d", "published": {"y": 3}, "unanswered": "no reason"}],
      "unanswered": [{"question": "q", "reason": "r"}], "notes": ["n"]})";
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  }

  /// Expects that the file is refused at this place, with these words.
  template <class... Words>
  void expect_refused(const std::string& text, const Words&... words) {
    const std::string file = write(text);
    try {
      static_cast<void>(load_study(file, LAYERBENCH_SHAPES_DIR));
      ADD_FAILURE() << "was accepted: " << text;
    } catch (const bad_input& e) {
      EXPECT_EQ(e.code(), exit_code::bad_input);
      EXPECT_THAT(e.what(), AllOf(HasSubstr(file), mentions(words...)));
    }
  }

 private:
  testing::temporary_directory scratch_;
};

TEST_F(StudyFile, IsRead) {
  const study item = load_study(write(changed("lenet5", "lenet5_caffe")), LAYERBENCH_SHAPES_DIR);
  ASSERT_THAT(item.cells, SizeIs(2));
  EXPECT_EQ(item.cells[0].model, "lenet5") << "found by its alias";
  EXPECT_THAT(item.cells[0].parts, ElementsAre(model::step_part::forward));
  EXPECT_THAT(item.cells[0].published, ElementsAre(std::optional(1.5), std::nullopt));
  EXPECT_FALSE(item.cells[1].answerable());
}

TEST_F(StudyFile, IsRefusedWithTheWrongPlace) {
  expect_refused("", "empty");
  expect_refused("[]", "/", "object");
  expect_refused(changed(R"("name": "s", )", ""), "/", "name");
  expect_refused(changed(R"("name": "s")", R"("name": "S 1")"), "/name");
  expect_refused(changed(R"("ms")", R"("min")"), "/unit", "images/s", "hours");
  expect_refused(changed(R"("notes")", R"("remarks")"), "/remarks", "notes");
  expect_refused(changed(R"(["x", "y"])", R"(["x", "x"])"), "/columns/1");
  expect_refused(changed(R"("lenet5")", R"("no_model")"), "/cells/0/model", "no_model");
  expect_refused(changed(R"("training")", R"("test")"), "/cells/0/phase", "inference");
  expect_refused(changed(R"("batch": 2)", R"("batch": 0)"), "/cells/0/batch");
  expect_refused(changed(R"("f32")", R"("fp32")"), "/cells/0/dtype", "fp32");
  expect_refused(changed(R"(["forward"])", R"(["loss"])"), "/cells/0/parts/0", "loss", "backward");
  expect_refused(changed(R"("training")", R"("inference")"), "/cells/0/parts");
  expect_refused(changed(R"("ms")", R"("images/s")"), "/cells/0/parts");
  const std::string no_parts = R"("parts": ["forward"])";
  expect_refused(changed(no_parts, no_parts + R"(, "devices": 2)"), "/cells/0/parts", "device");
  expect_refused(changed(no_parts, R"("devices": 0)"), "/cells/0/devices");
  expect_refused(changed(no_parts, R"("unit": "share", "ops": ["conv"], "devices": 2)"),
                 "/cells/0/devices", "shares");
  expect_refused(changed(no_parts, R"("threads": 0)"), "/cells/0/threads");
  expect_refused(changed(no_parts, R"("unit": "GB")"), "/cells/0/unit", "MiB");
  expect_refused(changed(no_parts, R"("steps": 0)"), "/cells/0/steps");
  expect_refused(changed(no_parts, R"("steps": 2, "unit": "W")"), "/cells/0/steps", "W");
  expect_refused(changed(no_parts, R"("epochs": 2, "unit": "images/s")"), "/cells/0/epochs");
  expect_refused(changed(no_parts, R"("unit": "share")"), "/cells/0", "ops");
  expect_refused(changed(no_parts, R"("ops": ["conv"])"), "/cells/0", "share");
  expect_refused(changed(no_parts, R"("unit": "share", "ops": ["norm"])"), "/cells/0/ops/0",
                 "norm");
  expect_refused(changed(R"({"x": 1.5})", R"({"z": 1.5})"), "/cells/0/published/z");
  const auto with_memory = [](const std::string& columns, const std::string& framework) {
    return changed(R"("cells")", fmt::format(R"("memory": {{"columns": {}, "frameworks": [{}]}},
      "cells")",
                                             columns, framework));
  };
  const std::string framework = R"({"name": "F", "policy": "kept", "source": "s"})";
  EXPECT_NO_THROW(static_cast<void>(
      load_study(write(with_memory(R"(["x"])", framework)), LAYERBENCH_SHAPES_DIR)));
  expect_refused(with_memory(R"(["z"])", framework), "/memory/columns/0", "z");
  expect_refused(with_memory(R"(["x"])", R"({"name": "F", "policy": "all", "source": "s"})"),
                 "/memory/frameworks/0/policy", "kept");
  expect_refused(with_memory(R"(["x"])", R"({"name": "F", "policy": "kept"})"),
                 "/memory/frameworks/0", "source");
  expect_refused(with_memory(R"(["x"])", R"({"name": "F", "policy": "kept", "unanswered": "r"})"),
                 "/memory/frameworks/0/policy");
  expect_refused(changed(no_parts, R"("framework": "F", "unit": "MiB")"), "/cells/0/framework",
                 "F");
  expect_refused(changed(no_parts, R"("framework": "F")"), "/cells/0/framework", "memory");
  expect_refused(changed("1.5", "0"), "/cells/0/published/x", "0");
  expect_refused(changed(R"("no reason")", R"("")"), "/cells/1/unanswered");
  expect_refused(changed(R"("unanswered": "no reason")", R"("batch": 1)"), "/cells/1", "model");
  expect_refused(changed(R"("reason": "r")", R"("why": "r")"), "/unanswered/0/why", "reason");
  EXPECT_THROW(static_cast<void>(load_study("nowhere", LAYERBENCH_SHAPES_DIR)), nothing_matched);
}

TEST_F(StudyFile, HasASchema) {
  constexpr auto validator = R"(
import json, sys
from jsonschema import Draft202012Validator as Validator
schema = json.load(open(sys.argv[1]))
Validator.check_schema(schema)
print(sum(1 for path in sys.argv[2:] if not Validator(schema).is_valid(json.load(open(path)))))
)";
  std::vector<std::string> words{"-c", validator, LAYERBENCH_SHAPES_DIR "/study_schema.json"};
  for (const auto& entry : std::filesystem::directory_iterator(LAYERBENCH_SHAPES_DIR "/studies")) {
    words.push_back(entry.path().string());
  }
  words.push_back(write(changed("1.5", "2.5")));
  ASSERT_GE(words.size(), 10U);
  const testing::outcome good = testing::run(LAYERBENCH_PYTHON, words);
  EXPECT_EQ(good.out, "0\n") << good.err;
  words.resize(3);
  words.push_back(write(changed(R"("ms")", R"("min")"), "a.json"));
  words.push_back(write(changed("1.5", "0"), "b.json"));
  words.push_back(write(changed(R"("batch": 2, )", ""), "c.json"));
  words.push_back(write(changed(R"("unanswered": "no reason")", R"("batch": 1)"), "d.json"));
  words.push_back(write(changed(R"("cells")", R"("memory": {"columns": ["x"], "frameworks": [
    {"name": "F", "policy": "kept", "source": "s", "unanswered": "r"}]}, "cells")"),
                        "e.json"));
  EXPECT_EQ(testing::run(LAYERBENCH_PYTHON, words).out, "5\n");
}

/// A study of one column and one cell of the case testing::net.
study study_of_net(const std::string& unit) {
  return {"s",  "S",   "a paper",
          unit, {"x"}, {{"c", "net", "inference", 4, "f32", {}, {7.5}, "", unit}},
          {},   {}};
}

TEST(OwnFigures, AreThePredictionInTheStudysUnit) {
  const std::vector<result::results> files{
      testing::file_of_a_and_b({0.1, 0.11, 0.12}, {0.2, 0.21, 0.22})};
  const prediction p = testing::only(files);
  for (const std::string unit : {"ms", "images/s"}) {
    const study item = study_of_net(unit);
    const std::vector<study_row> rows = own_figures(item, item.cells, files);
    ASSERT_THAT(rows.at(0).own, SizeIs(1));
    const own_figure& own = rows[0].own[0];
    EXPECT_DOUBLE_EQ(own.value.value(),
                     unit == "ms" ? 1e3 * p.step->seconds : *p.images_per_second());
    EXPECT_LT(own.low, own.value);
    EXPECT_GT(own.high, own.value);
    EXPECT_THAT(own.machine, mentions("reference", "3"));
    EXPECT_EQ(own.device, "x");
    EXPECT_THAT(rows[0].reason, IsEmpty());
    EXPECT_THAT(text(item, rows),
                mentions("7.5", "reference", format::four_digits(own.value.value())));
  }
}

TEST(OwnFigures, OfTimesAreOfAllSteps) {
  const std::vector<result::results> files{testing::file_of_a_and_b({0.1, 0.1}, {0.2, 0.2})};
  study item = study_of_net("s");
  const auto own = [&] { return own_figures(item, item.cells, files).at(0).own.at(0).value; };
  EXPECT_NEAR(own().value(), 0.4, 1e-9) << "a mini-batch";
  item.cells[0].epochs = 10;
  item.cells[0].steps = 2.5;
  EXPECT_NEAR(own().value(), 10, 1e-9);
  item.cells[0].unit = "hours";
  EXPECT_NEAR(own().value(), 10.0 / 3600, 1e-12);
  EXPECT_THAT(text(item, own_figures(item, item.cells, files)), mentions("hours", "25"));
}

TEST(OwnFigures, OfMemoryAndPowerAreNotThoseOfTimings) {
  const std::vector<result::results> files{testing::file_of_a_and_b({0.1, 0.1}, {0.2, 0.2})};
  study item = study_of_net("ms");
  const auto row = [&](const std::string& unit) {
    item.cells[0].unit = unit;
    const std::vector<study_row> rows = own_figures(item, item.cells, files);
    EXPECT_THAT(rows.at(0).own, IsEmpty());
    EXPECT_THAT(text(item, rows), mentions(unit, "7.5"));
    return rows[0];
  };
  EXPECT_THAT(row("MiB").reason, HasSubstr("MiB"));
  EXPECT_THAT(runs_of(item.cells), IsEmpty());
  EXPECT_THAT(row("W").reason, HasSubstr("--energy"));
  EXPECT_THAT(runs_of(item.cells), SizeIs(1));
}

TEST(OwnFigures, OfPowerAreMeasuredEnergyByTime) {
  result::results file = testing::chain_results();
  for (const auto& [field, value] :
       std::vector<std::pair<std::string, std::string>>{{"energy_counter", "powercap"},
                                                        {"energy_class", "processor's counter"},
                                                        {"energy_coverage", "package"}}) {
    file.context[field] = value;
    file.dimensions[field] = field_dimension::condition;
  }
  const result::case_name measured = file.chains.front().name.model_case;
  for (result::measurement& chain : file.chains) {  // a step takes 50 ms
    if (chain.name.model_case != measured || chain.round >= 5) continue;
    const double gross = 5 + 0.1 * static_cast<double>(chain.round);
    chain.counters.insert({{"energy_gross_j", gross},
                           {"energy_net_j", gross - 2},
                           {"idle_w", 40},
                           {"energy_disturbed", 0}});
  }
  study item = study_of_net("W");
  item.cells = {
      {"c", measured.model, measured.phase(), measured.batch, measured.dtype, {}, {90}, "", "W"}};
  const auto row = [&] { return own_figures(item, item.cells, {&file, 1}).at(0); };
  const study_row power = row();
  ASSERT_THAT(power.own, SizeIs(1)) << power.reason;
  EXPECT_NEAR(power.own[0].value.value(), 5.2 / 0.05, 1e-6);
  EXPECT_LT(power.own[0].low, 104);
  EXPECT_GT(power.own[0].high, 104);
  EXPECT_THAT(text(item, {&power, 1}),
              AllOf(HasSubstr("processor's counter (package)"), mentions("90", "104.0", "W")));
  item.cells[0].devices = 2;
  item.cells[0].phase = "training";
  EXPECT_THAT(row().reason, HasSubstr("one device"));
}

TEST(OwnFigures, OfANumberOfThreadsAreOfItAlone) {
  const std::vector<result::results> files{testing::file_of_a_and_b({0.1, 0.1}, {0.2, 0.2})};
  study item = study_of_net("s");
  item.cells.push_back(item.cells[0]);
  const auto own = [&](std::int64_t threads) {
    item.cells[1].threads = threads;
    const std::vector<study_row> rows = own_figures(item, item.cells, files);
    return std::vector{rows.at(0).own.size(), rows.at(1).own.size()};
  };
  EXPECT_THAT(own(0), ElementsAre(1, 1));
  EXPECT_THAT(own(2), ElementsAre(1, 0)) << "the files are of 3 threads";
  EXPECT_THAT(own(3), ElementsAre(0, 1)) << "which the second cell names";
  EXPECT_THAT(runs_of(item.cells), SizeIs(2));
  EXPECT_THAT(runs_of(item.cells)[1].options(), ::testing::Contains("--threads=3"));
}

/// The value of a study's cell for these results, on a network that mostly takes no time.
double own_value(const study& of, const study_cell& cell, const std::vector<result::results>& files,
                 const network& joined = testing::ring_of(0, 1e18)) {
  const figure_options chosen{LAYERBENCH_SHAPES_DIR, joined};
  const study_row row = own_figures(of, {&cell, 1}, files, chosen).at(0);
  EXPECT_THAT(row.own, SizeIs(1)) << of.name << ": " << cell.label << ": " << row.reason;
  return row.own.empty() ? 0 : row.own[0].value.value_or(0);
}

/// A cell and its figure where each image takes 10.1 ms, by layers in proportion to their FLOPs.
struct golden_cell {
  std::string study;
  study_cell cell;  ///< its model, batch, threads, devices and ops find it in the file
  double value;
};

study_cell golden(const std::string& model, std::int64_t batch, std::int64_t threads = 0,
                  std::int64_t devices = 1, const std::vector<std::string>& ops = {}) {
  study_cell cell{"", model, "training", batch, "f32", {}, {}, ""};
  cell.threads = threads;
  cell.devices = devices;
  cell.ops = ops;
  return cell;
}

TEST(ShippedStudy, HasTheFiguresOfAMadeUpMachine) {
  const std::vector<golden_cell> cells{
      {"ilkarman_2018", golden("cnn_cifar_ilkarman", 64), 10 * 781 * 64 * 0.0101},
      {"ilkarman_2018", golden("gru_imdb_ilkarman", 64), 3 * 390 * 64 * 0.0101},
      {"dlbench_hkbu", golden("fcn5_mnist", 1024, 1), 1024 * 0.0101},
      {"dlbench_hkbu", golden("fcn5_mnist", 2048, 0, 2), 2048 * 0.0101},
      {"dlbs_hpe", golden("alexnet_ungrouped_227", 16), 1 / 0.0101},
      {"dlbs_hpe", golden("alexnet_ungrouped_227", 16, 0, 4), 4 / 0.0101},
      {"elshawi_2021", golden("mnist_cnn_elshawi", 128), 15 * 469 * 128 * 0.0101 / 3600},
      {"elshawi_2021", golden("lstm_imdb_elshawi", 64), 50 * 391 * 64 * 0.0101 / 3600},
      {"resbench_2022", golden("resnet50", 128), 1 / 0.0101},
      {"resbench_2022", golden("resnet50_32px", 128, 0, 2), 2 / 0.0101},
      {"lerat_2021", golden("alexnet", 32, 1, 1, {"conv"}), 0.91219},
      {"lerat_2021", golden("alexnet", 32, 1, 1, {"gemm"}), 0.084593}};
  std::vector<testing::trained> models;
  for (const golden_cell& one : cells) {
    const testing::trained model{one.cell.model, one.cell.batch};
    if (std::ranges::find(models, model) == models.end()) models.push_back(model);
  }
  testing::temporary_directory scratch;
  const std::vector<result::results> files{
      result::read(scratch.write("r.json", testing::results_of(models)))};
  for (const auto& [name, wanted, value] : cells) {
    const study item = load_study(name, LAYERBENCH_SHAPES_DIR);
    const auto found = std::ranges::find_if(item.cells, [&, &like = wanted](const auto& cell) {
      return cell.same_step(like) && cell.devices == like.devices && cell.ops == like.ops;
    });
    ASSERT_NE(found, item.cells.end()) << name << ' ' << wanted.model;
    EXPECT_NEAR(own_value(item, *found, files), value, 1e-4 * value) << name << ' ' << wanted.model;
  }
}

/// Results of training LeNet-5 with a batch of 8.
result::results trained_lenet5() {
  testing::temporary_directory scratch;
  return result::read(scratch.write("r.json", testing::training_results({8})));
}

/// A study of one cell: LeNet-5, trained on devices that have 8 images each.
study study_of_devices(std::int64_t devices) {
  study item = study_of_net("images/s");
  item.cells = {{"c", "lenet5", "training", 8, "f32", {}, {7.5}, "", "images/s"}};
  item.cells[0].devices = devices;
  return item;
}

TEST(OwnFigures, OfSeveralDevicesNeedANetworkThatHoldsThem) {
  const std::vector<result::results> files{trained_lenet5()};
  const study item = study_of_devices(2);
  figure_options chosen{LAYERBENCH_SHAPES_DIR};
  const auto row = [&] { return own_figures(item, item.cells, files, chosen).at(0); };
  EXPECT_THAT(row().own, IsEmpty());
  EXPECT_THAT(row().reason, mentions("--network", "2"));
  chosen.interconnect = testing::ring_of(0, 1e18);
  const double fast = row().own.at(0).value.value();
  EXPECT_NEAR(fast, 2 / 0.0101, 0.1);
  chosen.interconnect = testing::ring_of(0.01, 1e8);
  EXPECT_LT(row().own.at(0).value, fast);
  chosen.interconnect->max_devices = 1;
  EXPECT_THAT(row().own, IsEmpty());
  EXPECT_THAT(row().reason, mentions("ring", "1", "2"));
}

/// The same rows, with a parameter in their names.
std::vector<result::measurement> with_parameter(std::vector<result::measurement> rows,
                                                const std::string& name, const std::string& value) {
  for (result::measurement& row : rows) row.name.model_case.parameters[name] = value;
  return rows;
}

/// The same results of two ranks.
result::results of_two_ranks(const result::results& one) {
  result::results two = one;
  two.file = "two.json";
  two.rows = with_parameter(one.rows, "ranks", "2");
  two.manifest.clear();
  for (auto [model_case, planned] : one.manifest) {
    model_case.parameters["ranks"] = "2";
    two.manifest[model_case] = planned;
  }
  return two;
}

TEST(OwnFigures, OfSeveralRanksAreOfAsManyDevices) {
  const std::vector<result::results> files{of_two_ranks(trained_lenet5())};
  const auto own = [&](std::int64_t devices, const figure_options& chosen) {
    const study item = study_of_devices(devices);
    return own_figures(item, item.cells, files, chosen).at(0).own;
  };
  const figure_options joined{LAYERBENCH_SHAPES_DIR, testing::ring_of(1, 1)};
  EXPECT_THAT(own(1, joined), IsEmpty());
  EXPECT_THAT(own(4, joined), IsEmpty());
  for (const figure_options& chosen : {figure_options{LAYERBENCH_SHAPES_DIR}, joined}) {
    ASSERT_THAT(own(2, chosen), SizeIs(1));
    EXPECT_NEAR(own(2, chosen)[0].value.value(), 2 / 0.0101, 0.1) << "as measured";
  }
}

TEST(OwnFigures, OfSeveralDevicesHaveTheMeasuredContention) {
  std::vector<result::results> files{trained_lenet5(), of_two_ranks(trained_lenet5())};
  const study item = study_of_devices(4);
  const auto value = [&] {
    return own_value(item, item.cells[0], files, testing::ring_of(0.01, 1e8));
  };
  const double alone = value();
  std::vector<result::measurement>& rows = files[1].rows;
  std::vector<result::measurement> during = with_parameter(rows, "during", "allreduce");
  for (result::measurement& row : during) row.seconds *= 3;
  rows.insert(rows.end(), during.begin(), during.end());
  EXPECT_LT(value(), 0.99 * alone);
}

TEST(OwnFigures, OfDevicesSayWhyTheyAreNotScaledUp) {
  std::vector<result::results> files{trained_lenet5()};
  files[0].manifest.begin()->second.front().left_out = 0.5;
  const study item = study_of_devices(2);
  const study_row row =
      own_figures(item, item.cells, files, {LAYERBENCH_SHAPES_DIR, testing::ring_of(0.01, 1e8)})
          .at(0);
  ASSERT_THAT(row.own, SizeIs(1));
  EXPECT_EQ(row.own[0].value, std::nullopt);
  EXPECT_THAT(text(item, {&row, 1}), HasSubstr("several devices need all layers"));
}

TEST(OwnFigures, SayWhyThereAreNone) {
  study item = study_of_net("ms");
  EXPECT_THAT(own_figures(item, item.cells, {}).at(0).own, IsEmpty());
  EXPECT_THAT(own_figures(item, item.cells, {}).at(0).reason, Not(IsEmpty()));

  const std::vector<result::results> files{result::read(testing::tiny_file)};
  item.cells[0].model = "tiny";  // of batch 4, of which a row failed
  const std::vector<study_row> rows = own_figures(item, item.cells, files);
  ASSERT_THAT(rows.at(0).own, SizeIs(1));
  EXPECT_EQ(rows[0].own[0].value, std::nullopt);
  EXPECT_THAT(rows[0].own[0].reason, HasSubstr("f32 conv is not there"));
  EXPECT_THAT(text(item, rows), HasSubstr("f32 conv is not there"));

  item.cells[0].dtype = "bf16";
  EXPECT_THAT(own_figures(item, item.cells, files).at(0).own, IsEmpty());
}

TEST(OwnFigures, OfPartsAddUpToTheStep) {
  testing::temporary_directory scratch;
  const std::vector<result::results> files{
      result::read(scratch.write("r.json", testing::training_results({8})))};
  using enum model::step_part;
  study item = study_of_net("ms");
  item.cells.clear();
  for (const auto& parts : std::vector<std::vector<model::step_part>>{
           {forward}, {backward}, {update}, {forward, backward}, {}}) {
    item.cells.push_back({"c", "lenet5", "training", 8, "f32", parts, {7.5}, "", "ms"});
  }
  const std::vector<study_row> rows = own_figures(item, item.cells, files);
  std::vector<double> values;
  for (const study_row& row : rows) {
    ASSERT_THAT(row.own, SizeIs(1));
    values.push_back(row.own[0].value.value());
  }
  EXPECT_NEAR(values[0] + values[1], values[3], 1e-9 * values[3]);
  EXPECT_NEAR(values[3] + values[2], values[4], 1e-9 * values[4]);
  EXPECT_GT(values[1], values[0]);
  EXPECT_THAT(text(item, rows), mentions("x", format::four_digits(values[1])));
}

TEST(OwnFigures, OfSeveralMachinesStandSideBySide) {
  std::vector<result::results> files{testing::file_of_a_and_b({0.1, 0.1}, {0.2, 0.2}),
                                     testing::file_of_a_and_b({0.3, 0.3}, {0.4, 0.4})};
  files[1].file = "other.json";
  files[1].context["threads"] = "5";
  const study item = study_of_net("ms");
  const std::vector<study_row> rows = own_figures(item, item.cells, files);
  ASSERT_THAT(rows.at(0).own, SizeIs(2));
  EXPECT_THAT(machines(rows), SizeIs(2));
  files[1].context["threads"] = "3";
  files[1].context["device"] = "y";
  EXPECT_THAT(own_figures(item, item.cells, files).at(0).own, SizeIs(2)) << "files not merged";
}

TEST(StudyText, HasEveryFigureHoweverManySystems) {
  for (const std::string& name : list_studies(LAYERBENCH_SHAPES_DIR)) {
    const study item = load_study(name, LAYERBENCH_SHAPES_DIR);
    const std::string table =
        text(item, own_figures(item, item.cells, {}, {LAYERBENCH_SHAPES_DIR}));
    for (const study_cell& cell : item.cells) {
      EXPECT_THAT(table, HasSubstr(cell.label));
      for (std::size_t i = 0; i < item.columns.size(); ++i) {
        if (!cell.published[i]) continue;
        EXPECT_THAT(table,
                    AllOf(HasSubstr(item.columns[i]), mentions(format::exact(cell.published[i]))));
      }
    }
    EXPECT_THAT(table, HasSubstr(item.source));
    for (const unanswered_question& open : item.unanswered) {
      EXPECT_THAT(table, AllOf(HasSubstr(open.question), HasSubstr(open.reason)));
    }
  }
}

TEST(StudyText, LeavesAMachineBlankWhereItsFigureIsUnderItsThreads) {
  std::vector<result::results> files{testing::file_of_a_and_b({0.1, 0.1}, {0.2, 0.2}),
                                     testing::file_of_a_and_b({0.3, 0.3}, {0.4, 0.4})};
  files[1].context["threads"] = "5";
  study item = study_of_net("ms");
  item.cells.push_back(item.cells[0]);
  item.cells[1].threads = 5;
  const auto shown = [&] { return text(item, own_figures(item, item.cells, files)); };
  EXPECT_THAT(shown(), AllOf(mentions("reference", "3"), Not(HasSubstr("not measured"))));
  files.pop_back();
  EXPECT_THAT(shown(), HasSubstr("not measured"));
}

TEST(StudyText, MarksDisturbedFigures) {
  result::results file = testing::file_of_a_and_b({0.1, 0.11}, {0.2, 0.21});
  const study item = study_of_net("ms");
  const auto shown = [&] { return text(item, own_figures(item, item.cells, {&file, 1})); };
  EXPECT_THAT(shown(), Not(HasSubstr("disturbed")));
  for (result::measurement& row : file.rows) row.counters["disturbed"] = 1;
  EXPECT_THAT(shown(), HasSubstr("disturbed"));
}

class StudyJson : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Of, StudyJson,
                         ::testing::Values("convnet_benchmarks", "dlbench_hkbu", "elshawi_2021",
                                           "lerat_2021", "upv_2018"));

TEST_P(StudyJson, IsAStudyFileWithOwnFigures) {
  const study item = load_study(GetParam(), LAYERBENCH_SHAPES_DIR);
  json::value written = to_json(item, own_figures(item, item.cells, {}, {LAYERBENCH_SHAPES_DIR}));
  EXPECT_EQ(written.at("schema"), 1);
  written.erase("schema");
  written.erase("memory_errors");
  for (json::value& cell : written.at("cells")) {
    EXPECT_TRUE(cell.at("own").empty());
    EXPECT_NE(cell.at("reason").is_string(), cell.contains("memory"));
    cell.erase("memory");
    cell.erase("own");
    cell.erase("reason");
  }
  testing::temporary_directory scratch;
  const study again =
      load_study(scratch.write("s.json", written.dump()).string(), LAYERBENCH_SHAPES_DIR);
  EXPECT_EQ(again.columns, item.columns);
  EXPECT_EQ(again.notes, item.notes);
  ASSERT_EQ(again.cells.size(), item.cells.size());
  for (std::size_t i = 0; i < item.cells.size(); ++i) {
    EXPECT_EQ(again.cells[i].published, item.cells[i].published);
    EXPECT_EQ(again.cells[i].parts, item.cells[i].parts);
    EXPECT_EQ(again.cells[i].answerable(), item.cells[i].answerable());
    EXPECT_EQ(again.cells[i].same_step(item.cells[i]), item.cells[i].answerable());
    EXPECT_EQ(again.cells[i].unit, item.cells[i].unit);
    EXPECT_EQ(again.cells[i].epochs, item.cells[i].epochs);
    EXPECT_EQ(again.cells[i].steps, item.cells[i].steps);
    EXPECT_EQ(again.cells[i].devices, item.cells[i].devices);
    EXPECT_EQ(again.cells[i].ops, item.cells[i].ops);
    EXPECT_EQ(again.cells[i].framework, item.cells[i].framework);
  }
}

TEST(StudyRuns, AreOneForEachPhaseDataTypeAndBatch) {
  std::vector<study_cell> cells;
  const auto add = [&](const std::string& model, const std::string& phase, std::int64_t batch) {
    cells.push_back({"c", model, phase, batch, "f32", {}, {}, ""});
  };
  add("resnet50", "inference", 1);
  add("lenet5", "training", 2);
  add("vgg16", "inference", 1);
  add("vgg16", "inference", 1);
  add("lenet5", "inference", 4);
  cells.push_back({"d", "", "", 1, "f32", {}, {}, "cannot"});
  const std::vector<study_run> runs = runs_of(cells);
  ASSERT_THAT(runs, SizeIs(3));
  EXPECT_THAT(runs[0].models, ElementsAre("resnet50", "vgg16"));
  EXPECT_THAT(runs[1].options(),
              ElementsAre("--model=lenet5", "--phase=training", "--batch=2", "--dtype=f32"));
  EXPECT_NE(runs[0].file(), runs[1].file());
  EXPECT_NE(runs[0].file(), runs[2].file());
  const std::vector<study_cell> least = smallest(cells, LAYERBENCH_SHAPES_DIR);
  ASSERT_THAT(least, SizeIs(1));
  EXPECT_EQ(least[0].model, "lenet5");
  EXPECT_EQ(least[0].phase, "inference") << "of 4 images; training of 2 takes 3 passes";
}

}  // namespace analysis_study_test
}  // namespace layerbench::analysis
