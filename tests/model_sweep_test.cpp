// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/sweep.hpp>
#include <layerbench/model/training.hpp>
#include <layerbench/op/conv.hpp>
#include <layerbench/op/gemm.hpp>

#include "support/program.hpp"
#include "support/temporary_directory.hpp"

/// The shipped sweeps against DeepBench's lists (tests/data/deepbench), and against the program
/// that writes their files.
namespace layerbench::model {
namespace model_sweep_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using texts = std::vector<std::string>;

texts cells(const std::string& line) {
  texts all;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) all.push_back(cell);
  return all;
}

/// The rows of a CSV file that are of the list: without the name of the list, which comes first.
std::vector<texts> rows_of_csv(const std::string& file, const std::string& list) {
  std::istringstream lines(
      json::read_text(LAYERBENCH_SOURCE_DIR "/tests/data/deepbench/" + file + ".csv"));
  std::vector<texts> rows;
  for (std::string line; std::getline(lines, line);) {
    texts row = cells(line);
    if (row.front() != list) continue;
    row.erase(row.begin());
    rows.push_back(std::move(row));
  }
  return rows;
}

graph sweep_of(const std::string& list) {
  return load(find("deepbench_" + list, LAYERBENCH_SHAPES_DIR));
}

template <class... Values>
texts row_of(const Values&... values) {
  return {fmt::format("{}", values)...};
}

bool is_sparse(const layer& row) { return row.name.find("sparse") != std::string::npos; }

/// The sizes of a sweep's rows as the CSV files have them.
std::vector<texts> convolutions(const graph& sweep) {
  std::vector<texts> rows;
  for (const layer& row : sweep.layers) {
    const auto* c = row.op.get<op::conv>();
    if (c == nullptr) continue;
    EXPECT_EQ(c->pad.top, c->pad.bottom);
    EXPECT_EQ(c->pad.left, c->pad.right);
    rows.push_back(row_of(c->w, c->h, c->c, c->n, c->k, c->s, c->r, c->pad.left, c->pad.top,
                          c->stride.h, c->stride.v));
  }
  return rows;
}

std::vector<texts> products(const graph& sweep, bool sparse) {
  std::vector<texts> rows;
  for (const layer& row : sweep.layers) {
    const auto* g = row.op.get<op::gemm>();
    if (g == nullptr || is_sparse(row) != sparse) continue;
    rows.push_back(row_of(g->n, g->m, g->k, g->b_transposed, g->a_transposed));
    if (!sparse) continue;
    const bool is_95 = row.name.find("sparse95_as_dense") != std::string::npos;
    EXPECT_THAT(row.name, HasSubstr(is_95 ? "sparse95_as_dense" : "sparse90_as_dense"));
    rows.back().emplace_back(is_95 ? "0.95" : "0.9");
  }
  return rows;
}

std::vector<texts> recurrent_layers(const graph& sweep) {
  std::vector<texts> rows;
  for (const layer& row : sweep.layers) {
    const auto* r = row.op.get<op::rnn>();
    if (r == nullptr) continue;
    EXPECT_EQ(r->inputs, r->hidden);
    rows.push_back(row_of(r->hidden, r->batch, r->steps, name(r->kind)));
  }
  return rows;
}

struct counts {
  std::string list;
  std::size_t conv, gemm, sparse, rnn, allreduce;
};

class DeepBench : public ::testing::TestWithParam<counts> {};

TEST_P(DeepBench, HasAllRowsOfTheList) {
  const auto& [list, conv, gemm, sparse, rnn, allreduce] = GetParam();
  const graph sweep = sweep_of(list);
  EXPECT_TRUE(is_sweep(sweep));
  EXPECT_EQ(sweep.name, "deepbench_" + list);
  EXPECT_THAT(sweep.source, HasSubstr("baidu-research/DeepBench at da81ba7"));
  EXPECT_THAT(convolutions(sweep), SizeIs(conv));
  EXPECT_EQ(convolutions(sweep), rows_of_csv("conv", list));
  EXPECT_THAT(products(sweep, false), SizeIs(gemm));
  EXPECT_EQ(products(sweep, false), rows_of_csv("gemm", list));
  EXPECT_THAT(products(sweep, true), SizeIs(sparse));
  EXPECT_EQ(products(sweep, true), rows_of_csv("sparse_gemm", list));
  EXPECT_THAT(recurrent_layers(sweep), SizeIs(rnn));
  EXPECT_EQ(recurrent_layers(sweep), rows_of_csv("rnn", list));
  EXPECT_THAT(sweep.layers, SizeIs(conv + gemm + sparse + rnn + allreduce));
}

TEST_P(DeepBench, RowsHaveTheirOwnBatchInAGraphOfTheirOwn) {
  const graph sweep = sweep_of(GetParam().list);
  std::set<std::string> names;
  for (const graph& row : rows_of(sweep)) {
    ASSERT_THAT(row.layers, SizeIs(1));
    const layer& only = row.layers.front();
    EXPECT_TRUE(names.insert(only.name).second) << only.name;
    const auto* conv = only.op.get<op::conv>();
    const auto* gemm = only.op.get<op::gemm>();
    const auto* rnn = only.op.get<op::rnn>();
    const std::int64_t expected = conv ? conv->n : gemm ? gemm->m : rnn ? rnn->batch : 0;
    EXPECT_EQ(batch(row), expected) << only.name;
  }
  EXPECT_EQ(names.size() + GetParam().allreduce, sweep.layers.size());
}

INSTANTIATE_TEST_SUITE_P(Lists, DeepBench,
                         ::testing::Values(counts{"training", 94, 160, 0, 53, 7},
                                           counts{"inference_server", 107, 75, 24, 69, 0},
                                           counts{"inference_device", 16, 13, 8, 3, 0}),
                         [](const auto& tested) { return tested.param.list; });

TEST(DeepBench, HasTheSizesOfItsAllReduces) {
  std::vector<std::int64_t> floats;
  for (const layer& row : sweep_of("training").layers) {
    if (const auto* reduced = row.op.get<op::allreduce>()) floats.push_back(reduced->bytes / 4);
  }
  EXPECT_THAT(floats, ElementsAre(100000, 3097600, 4194304, 6553600, 16777217, 38360000, 64500000));
}

TEST(DeepBench, IsTimedInThePassesOfItsProgram) {
  const auto passes_of = [](const std::string& list, std::string_view op) {
    texts passes;
    for (const call& call : step_of(sweep_of(list), "inference").calls) {
      const std::string pass(op::name(call.pass));
      const bool is_new = std::ranges::find(passes, pass) == passes.end();
      if (call.op.name() == op && is_new) passes.push_back(pass);
    }
    return passes;
  };
  EXPECT_THAT(passes_of("training", "conv"), ElementsAre("fwd", "bwd_data", "bwd_weights"));
  EXPECT_THAT(passes_of("training", "gemm"), SizeIs(1));
  EXPECT_THAT(passes_of("training", "rnn"), ElementsAre("fwd_training", "bwd"));
  for (const char* op : {"conv", "gemm", "rnn"}) {
    EXPECT_THAT(passes_of("inference_server", op), ElementsAre("fwd"));
    EXPECT_THAT(passes_of("inference_device", op), ElementsAre("fwd"));
  }
}

/// A backward pass reads what the forward pass of its own row wrote; rows share nothing.
TEST(SweepStep, SharesTensorsOfARowOnly) {
  const graph sweep = sweep_of("training");
  const step all = step_of(sweep, "inference");
  std::map<std::size_t, std::string> row_of_tensor;
  std::map<std::pair<std::string, std::string>, std::size_t> by_name;
  for (const call& call : all.calls) {
    const std::vector<op::operand> operands = all.operands_of(call);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      EXPECT_EQ(row_of_tensor.try_emplace(call.tensors[i], call.layer).first->second, call.layer);
      const auto key = std::pair(call.layer, std::string(operands[i].name));
      EXPECT_EQ(by_name.try_emplace(key, call.tensors[i]).first->second, call.tensors[i]);
    }
  }
  EXPECT_EQ(by_name.size(), row_of_tensor.size());
}

TEST(SweepFile, IsNoModel) {
  const auto path = find("deepbench_inference_device", LAYERBENCH_SHAPES_DIR);
  EXPECT_THROW(static_cast<void>(load(path, 8)), usage_error);
  EXPECT_THROW(static_cast<void>(load_model(path)), usage_error);
  EXPECT_FALSE(is_sweep(load_model(find("alexnet", LAYERBENCH_SHAPES_DIR))));
}

TEST(SweepFile, IsFoundBehindModels) {
  const testing::temporary_directory shapes;
  std::filesystem::create_directory(shapes.path() / "models");
  std::filesystem::create_directory(shapes.path() / "sweeps");
  const auto model = shapes.write("models/both.json", "{}");
  static_cast<void>(shapes.write("sweeps/both.json", "{}"));
  const auto sweep = shapes.write("sweeps/rows.json", "{}");
  EXPECT_EQ(find("both", shapes.path()), model);
  EXPECT_EQ(find("rows", shapes.path()), sweep);
  EXPECT_THROW(static_cast<void>(find("row", shapes.path())), nothing_matched);
}

TEST(Sweeps, AreWhatTheGeneratorWrites) {
  const testing::temporary_directory folder;
  const testing::outcome done =
      testing::run(LAYERBENCH_PYTHON,
                   {"-B", LAYERBENCH_SOURCE_DIR "/tools/make_sweeps.py", folder.path().string()});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const texts shipped = list(LAYERBENCH_SHAPES_DIR, "sweeps");
  EXPECT_THAT(shipped, SizeIs(3));
  for (const std::string& name : shipped) {
    EXPECT_EQ(json::read_text(folder.path() / (name + ".json")),
              json::read_text(LAYERBENCH_SHAPES_DIR "/sweeps/" + name + ".json"))
        << name << " differs; run tools/make_sweeps.py";
  }
}

}  // namespace model_sweep_test
}  // namespace layerbench::model
