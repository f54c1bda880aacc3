// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/base/json.hpp>
#include <layerbench/result/read_results.hpp>

#include "program.hpp"

/// The benchmark programs, on a model that takes no time.
namespace layerbench::testing {

using texts = std::vector<std::string>;

inline const texts bench_programs{"bench_conv",      "bench_gemm",        "bench_pool",
                                  "bench_batchnorm", "bench_elementwise", "bench_softmax",
                                  "bench_model"};

/// The backend that the programs choose by themselves.
inline const std::string usable_backend = LAYERBENCH_USABLE_BACKEND;
inline const bool has_onednn = usable_backend == "onednn";
inline constexpr bool has_cuda = LAYERBENCH_HAS_CUDA != 0;
inline constexpr bool has_mpi = LAYERBENCH_HAS_MPI != 0;

/// Eight layers that do six kinds of work: both convolutions and both relus are alike.
inline constexpr auto tiny_model = R"({
  "name": "tiny",
  "parameters": {"batch": 1},
  "layers": [
    {"name": "conv1", "op": "conv",
     "shape": {"n": "batch", "c": 4, "h": 8, "w": 8, "k": 4, "r": 3, "s": 3, "pad": 1}},
    {"name": "relu1", "op": "activation", "shape": {"kind": "relu", "dims": ["batch", 4, 8, 8]}},
    {"name": "conv2", "op": "conv",
     "shape": {"n": "batch", "c": 4, "h": 8, "w": 8, "k": 4, "r": 3, "s": 3, "pad": 1}},
    {"name": "relu2", "op": "activation", "shape": {"kind": "relu", "dims": ["batch", 4, 8, 8]}},
    {"name": "add1", "op": "add", "after": ["relu1", "relu2"],
     "shape": {"dims": ["batch", 4, 8, 8]}},
    {"name": "pool1", "op": "pool",
     "shape": {"kind": "max", "n": "batch", "c": 4, "h": 8, "w": 8, "r": 2, "s": 2, "stride": 2}},
    {"name": "fc1", "op": "gemm", "shape": {"m": "batch", "n": 10, "k": [4, 4, 4]}},
    {"name": "prob", "op": "softmax", "shape": {"dims": ["batch", 10]}}
  ]
})";

inline const texts tiny_layers{"conv1", "relu1", "add1", "pool1", "fc1", "prob"};

[[nodiscard]] inline std::string bench_path(const std::string& program) {
  return LAYERBENCH_BENCH_DIR "/" + program;
}

/// For programs that start MPI: what it still holds at its end is not ours.
inline const environment::value_type may_leak{"ASAN_OPTIONS", "detect_leaks=0"};

[[nodiscard]] inline outcome bench(const std::string& program, const texts& arguments,
                                   environment changes = {}, const std::string& out = {}) {
  const bool together = std::ranges::find(arguments, "--ranks") != arguments.end();
  if (together || program == "bench_allreduce") changes.insert(may_leak);
  return run(bench_path(program), arguments, changes, out);
}

/// `arguments`, after those of the ones that measure `model` shortly which they do not replace.
[[nodiscard]] inline texts shortly(const std::string& model, const texts& arguments) {
  texts all;
  for (const auto& [option, value] :
       std::map<std::string, std::string>{{"--model=", model},
                                          {"--threads=", "1"},
                                          {"--benchmark_min_time=", "0.001"},
                                          {"--benchmark_repetitions=", "3"},
                                          {"--max-time=", "0"}}) {
    const auto replaces = [&, name = option](const std::string& a) { return a.starts_with(name); };
    if (std::ranges::none_of(arguments, replaces)) all.push_back(option + value);
  }
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

[[nodiscard]] inline texts lines(const std::string& text) {
  texts all;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) all.push_back(line);
  return all;
}

/// The rows of a result file. A file without any fails: a test of each row would pass.
[[nodiscard]] inline std::vector<result::measurement> rows_in(const std::filesystem::path& file) {
  std::vector<result::measurement> rows = result::read(file).rows;
  EXPECT_FALSE(rows.empty()) << file;
  return rows;
}

/// A directory with the tiny model and a name for its results.
struct tiny_directory : temporary_directory {
  std::string model = write("tiny.json", tiny_model).string();
  std::string results = (path() / "results.json").string();

  /// Runs `program` on the model.
  [[nodiscard]] outcome bench(const std::string& program, const texts& arguments,
                              const environment& changes = {}) const {
    return testing::bench(program, shortly(model, arguments), changes);
  }
  /// What bench_model measures there, written to `results`.
  [[nodiscard]] result::results measure(const texts& arguments = {}) const {
    texts all = arguments;
    all.push_back("--benchmark_out=" + results);
    const outcome done = bench("bench_model", all);
    EXPECT_EQ(done.exit_code, 0) << done.err;
    result::results found = result::read(results);
    EXPECT_FALSE(found.rows.empty()) << results;
    return found;
  }
  [[nodiscard]] json::value written() const { return json::value::parse(json::read_text(results)); }
  /// Names of all files there.
  [[nodiscard]] texts files() const {
    texts names;
    for (const auto& item : std::filesystem::directory_iterator(path())) {
      names.push_back(item.path().filename().string());
    }
    return names;
  }
};

/// Rounds of rows, by name and number.
using rounds = std::map<std::pair<std::string, std::int64_t>, result::measurement>;

/// Each round of each row; a round that is there twice fails.
[[nodiscard]] inline rounds rounds_of(const result::results& results) {
  rounds all;
  for (const result::measurement& row : results.rows) {
    EXPECT_TRUE(all.try_emplace({row.name.text(), row.round}, row).second) << row.name.text();
  }
  return all;
}

/// Every round of `before` is in `after` as it was.
inline void expect_kept(const result::results& before, const result::results& after) {
  const rounds later = rounds_of(after);
  for (const auto& [which, row] : rounds_of(before)) {
    const auto found = later.find(which);
    ASSERT_NE(found, later.end()) << which.first;
    EXPECT_DOUBLE_EQ(found->second.seconds, row.seconds) << which.first;
    EXPECT_EQ(found->second.calls, row.calls);
    EXPECT_EQ(found->second.counters, row.counters);
    EXPECT_EQ(found->second.label.text(), row.label.text());
  }
}

}  // namespace layerbench::testing
