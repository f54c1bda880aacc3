// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/model/totals.hpp>
#include <layerbench/model/training.hpp>
#include <layerbench/op/conv.hpp>
#include <layerbench/op/gemm.hpp>

#include "support/program.hpp"
#include "support/temporary_directory.hpp"

/// The shipped models against published totals (tests/data), and against the program that writes
/// their files.
namespace layerbench::model {
namespace model_zoo_test {

const std::string data = LAYERBENCH_SOURCE_DIR "/tests/data/";

using row = std::map<std::string, std::string>;

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> all;
  std::istringstream stream(line + ',');
  for (std::string cell; std::getline(stream, cell, ',');) all.push_back(cell);
  return all;
}

/// The rows of a CSV file, by the names of its columns; lines that begin with # are comments.
std::vector<row> read_rows(const std::string& path) {
  std::vector<row> rows;
  std::vector<std::string> columns;
  std::istringstream file(json::read_text(path));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    const std::vector<std::string> values = cells(line);
    if (columns.empty()) {
      columns = values;
      continue;
    }
    row next;
    for (std::size_t i = 0; i < columns.size(); ++i) next[columns[i]] = values.at(i);
    rows.push_back(std::move(next));
  }
  return rows;
}

graph load_named(const std::string& name) { return load(find(name, LAYERBENCH_SHAPES_DIR), 1); }

std::int64_t training_macs(const graph& g) {
  std::int64_t sum = 0;
  for (const call& item : training_step(g, dtype::f32).calls) sum += item.op.work(item.pass).macs;
  return sum;
}

/// What the table has beyond model::totals.
struct layer_totals {
  std::int64_t conv_macs = 0, fc_macs = 0, fc_layers = 0;
  std::int64_t linear = 0;  ///< elements written by convolutions and fully connected layers
  /// Elements between the pool and the pad of a shortcut without weights. The model writes them,
  /// the table counts the two layers as one.
  std::int64_t between = 0;
};

layer_totals count_layers(const graph& g) {
  layer_totals sum;
  for (const layer& next : g.layers) {
    if (!next.op.has(op::pass::fwd)) continue;
    const std::int64_t written = elements(detail::result_of(next));
    if (next.op.get<op::conv>() != nullptr) {
      sum.conv_macs += next.op.work(op::pass::fwd).macs;
      sum.linear += written;
    } else if (next.op.get<op::gemm>() != nullptr) {
      sum.fc_macs += next.op.work(op::pass::fwd).macs;
      sum.linear += written;
      ++sum.fc_layers;
    } else if (next.op.name() == "pad") {
      sum.between += elements(detail::result_of(g.layers[next.inputs.front()]));
    }
  }
  return sum;
}

/// The totals of a model, as texts, by the names of the table's columns.
row totals_of(const std::string& id) {
  const graph g = load_named(id);
  const totals all = count(g);
  const layer_totals layers = count_layers(g);
  row result{{"id", id}};
  for (const auto& [column, value] : std::initializer_list<std::pair<const char*, std::int64_t>>{
           {"parameters", all.parameters},
           {"macs", all.macs},
           {"conv_macs", layers.conv_macs},
           {"fc_macs", layers.fc_macs},
           {"training_macs", training_macs(g)},
           {"conv_layers", all.conv_layers},
           {"unique_conv_shapes", all.unique_conv_shapes},
           {"fc_layers", layers.fc_layers},
           {"act_lin", layers.linear},
           {"act_all", all.activations - layers.between}}) {
    result[column] = std::to_string(value);
  }
  return result;
}

/// Of a parameterized test: the model's name, with the characters that such names may have.
std::string test_name(const ::testing::TestParamInfo<row>& tested) {
  std::string name = tested.param.at("id");
  std::ranges::replace(name, '.', '_');
  return name;
}

class TotalsOfTheTable : public ::testing::TestWithParam<row> {};

TEST_P(TotalsOfTheTable, AreTheModels) {
  const row& expected = GetParam();
  row found = totals_of(expected.at("id"));
  for (auto& [column, value] : found) {
    if (expected.at(column).empty()) value.clear();
  }
  EXPECT_EQ(found, expected);
}

INSTANTIATE_TEST_SUITE_P(Zoo, TotalsOfTheTable,
                         ::testing::ValuesIn(read_rows(data + "model_totals.csv")), test_name);

class PublishedTotals : public ::testing::TestWithParam<row> {};

/// Multiply-adds are published in thousands of millions, with few decimals.
TEST_P(PublishedTotals, AreTheModels) {
  const totals found = count(load_named(GetParam().at("id")));
  const std::int64_t left_out = std::stoll(GetParam().at("parameters_left_out"));
  EXPECT_EQ(std::to_string(found.parameters + left_out), GetParam().at("parameters"));
  const std::string& published = GetParam().at("gigamacs");
  if (published.empty()) return;
  const auto decimals = published.size() - published.find('.') - 1;
  EXPECT_EQ(fmt::format("{:.{}f}", static_cast<double>(found.macs) / 1e9, decimals), published);
}

INSTANTIATE_TEST_SUITE_P(Zoo, PublishedTotals,
                         ::testing::ValuesIn(read_rows(data + "published_totals.csv")), test_name);

/// Models that are imported from PyTorch, and what torch counts of them.
const std::string imported = LAYERBENCH_SOURCE_DIR "/results/torch_import/shipped.csv";

class ImportedTotals : public ::testing::TestWithParam<row> {};

TEST_P(ImportedTotals, AreTorchs) {
  const std::string& name = GetParam().at("model");
  const totals found = count(load_named(name));
  // Two biases and a table of queries that two layers read each.
  const std::int64_t twice = name == "dit_s_2" ? 2 * 384 : name == "detr" ? 100 * 256 : 0;
  EXPECT_EQ(std::to_string(found.parameters - twice), GetParam().at("torch_parameters"));
  EXPECT_EQ(std::to_string(found.macs), GetParam().at("torch_macs"));
}

INSTANTIATE_TEST_SUITE_P(Zoo, ImportedTotals, ::testing::ValuesIn(read_rows(imported)),
                         [](const auto& tested) { return tested.param.at("model"); });

TEST(Zoo, HasAllRowsOfTheTables) {
  EXPECT_EQ(read_rows(data + "model_totals.csv").size(), 81U);
  EXPECT_EQ(read_rows(data + "published_totals.csv").size(), 21U);
  EXPECT_EQ(read_rows(imported).size(), 8U);
}

class ShippedModel : public ::testing::TestWithParam<std::string> {};

TEST_P(ShippedModel, IsDescribedAndFoundByItsNames) {
  const graph g = load_named(GetParam());
  EXPECT_EQ(g.name, GetParam());
  EXPECT_FALSE(g.title.empty() || g.source.empty() || g.family.empty() || g.data.empty());
  for (const std::string& alias : g.aliases) EXPECT_EQ(load_named(alias).name, g.name);
}

TEST_P(ShippedModel, HasAStepOfBothPhases) {
  const graph g = load_named(GetParam());
  EXPECT_FALSE(step_of(g, "inference").calls.empty());
  const bool has_experts = GetParam() == "qwen3_moe_2_layers" || GetParam() == "gpt_oss_1_layer";
  EXPECT_EQ(g.inference_only.empty(), !has_experts);
  if (!g.inference_only.empty()) {
    EXPECT_THROW(static_cast<void>(step_of(g, "training")), usage_error) << g.inference_only;
  } else {
    EXPECT_FALSE(step_of(g, "training").calls.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, ShippedModel, ::testing::ValuesIn(list(LAYERBENCH_SHAPES_DIR)),
                         [](const auto& tested) { return tested.param; });

TEST(Zoo, IsWhatTheGeneratorWrites) {
  const testing::temporary_directory folder;
  const testing::outcome done = testing::run(
      LAYERBENCH_PYTHON, {LAYERBENCH_SOURCE_DIR "/tools/make_models.py", folder.path().string()});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  std::vector<std::string> written;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    written.push_back(entry.path().filename());
  }
  std::ranges::sort(written);
  std::vector<std::string> shipped = list(LAYERBENCH_SHAPES_DIR);
  // Those take PyTorch to write.
  for (const row& one : read_rows(imported)) std::erase(shipped, one.at("model"));
  for (std::string& name : shipped) name += ".json";
  EXPECT_EQ(written, shipped);
  for (const std::string& name : written) {
    EXPECT_EQ(json::read_text(folder.path() / name),
              json::read_text(LAYERBENCH_SHAPES_DIR "/models/" + name))
        << name << " differs; run tools/make_models.py";
  }
}

}  // namespace model_zoo_test
}  // namespace layerbench::model
