// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/reference/activation.hpp>
#include <layerbench/cli/main.hpp>
#include <layerbench/op/list.hpp>
#include <layerbench/result/read_results.hpp>

#include "support/temporary_directory.hpp"

/// A library that has another algorithm from a batch of 21 on.
struct switching : layerbench::reference::backend {
  static constexpr std::string_view name = "switching";
  using backend::backend;
};
template <>
struct layerbench::plan<switching, layerbench::op::activation>
    : plan<reference::backend, op::activation> {
  using base = plan<reference::backend, op::activation>;
  plan(switching& device, const op::activation& o, const plan_request& request)
      : base(device, o, request), batch_(o.dims.front()) {}
  [[nodiscard]] std::string algorithm() const override { return batch_ < 21 ? "small" : "large"; }

 private:
  std::int64_t batch_;
};

namespace layerbench {
namespace cli_curve_test {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(Curve, MeasuresBothSidesOfASwitchOfAlgorithms) {
  ::setenv("OMP_PROC_BIND", "close", 0);  // else it would restart this test
  ::setenv("OMP_PLACES", "cores", 0);
  const testing::temporary_directory scratch;
  const std::string model = scratch.write("tiny.json", R"({"name": "tiny",
      "parameters": {"batch": 1}, "layers": [{"name": "relu1", "op": "activation",
      "shape": {"kind": "relu", "dims": ["batch", 3]}}]})");
  const std::string out = (scratch.path() / "r.json").string();
  std::vector<std::string> words{"bench_relu",   "--model=" + model,
                                 "--curve",      "--batch=1,10,19..22,40,64",
                                 "--threads=1",  "--budget=600",
                                 "--speed=any",  "--benchmark_out=" + out,
                                 "--max-time=0", "--benchmark_min_time=0.001"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  const int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run::main(count, arguments.data(),
                      {{"bench_relu", "Times activations.", {}},
                       run::registry_of<switching>(op::list<op::activation>{}),
                       [](const auto&, const auto&, bool) {}}),
            0);
  const std::string shown = ::testing::internal::GetCapturedStdout();
  EXPECT_THAT(shown, HasSubstr("tiny inference, switching f32, 1 thread, over batch"));
  std::set<std::int64_t> measured;
  for (const result::measurement& row : result::read(out).rows) {
    measured.insert(row.name.model_case.batch);
  }
  EXPECT_THAT(measured, Contains(1));
  EXPECT_THAT(measured, Contains(20));
  EXPECT_THAT(measured, Contains(21));
}

}  // namespace cli_curve_test
}  // namespace layerbench
