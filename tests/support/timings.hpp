// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/base/predictor.hpp>

/// Small result files in memory, and their predictions.
namespace layerbench::testing {

inline const result::case_name net{"reference", "f32", "net", 4, {}};

/// The rounds of one row; round i takes `seconds[i]`.
inline std::vector<result::measurement> rounds(const result::case_name& model_case,
                                               const std::string& layer, const std::string& key,
                                               const std::vector<double>& seconds) {
  std::vector<result::measurement> rows;
  for (const double second : seconds) {
    result::measurement row;
    row.name = {model_case, "conv", "fwd", layer, "hot"};
    row.label.key = key;
    row.round = static_cast<std::int64_t>(rows.size());
    row.seconds = second;
    rows.push_back(row);
  }
  return rows;
}

/// The same rows with cache `model` and state `state`.
inline std::vector<result::measurement> in_state(std::vector<result::measurement> rows,
                                                 const std::string& state) {
  for (result::measurement& row : rows) {
    row.name.cache = "model";
    row.label.state = state;
  }
  return rows;
}

/// A file with these rows, whose manifest has the case `net`: layer a twice and layer b once.
inline result::results file_with(const std::vector<std::vector<result::measurement>>& rows) {
  result::results file;
  file.file = "r.json";
  file.context = {{"device", "x"}, {"threads", "3"}};
  file.manifest[net] = {{"a", "conv", "fwd", "k:1", 2}, {"b", "conv", "fwd", "k:2", 1}};
  for (const auto& row : rows) file.rows.insert(file.rows.end(), row.begin(), row.end());
  return file;
}

/// The same with these seconds of each round of a, with key `k:1`, and of b, with key `k:2`.
inline result::results file_of_a_and_b(const std::vector<double>& a, const std::vector<double>& b) {
  return file_with({rounds(net, "a", "k:1", a), rounds(net, "b", "k:2", b)});
}

/// The prediction of these files, which must give exactly one.
inline analysis::prediction only(const std::vector<result::results>& files,
                                 const analysis::options& chosen = {}) {
  const std::vector<analysis::prediction> all = analysis::predict(files, chosen);
  EXPECT_THAT(all, ::testing::SizeIs(1));
  return all.at(0);
}

}  // namespace layerbench::testing
