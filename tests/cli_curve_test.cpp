// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

 protected:
  std::int64_t batch_;
};

/// Such a library that is wrong at a batch of 20 and has no plan at 22.
struct failing : switching {
  static constexpr std::string_view name = "failing";
  using switching::switching;
};
template <>
struct layerbench::plan<failing, layerbench::op::activation> : plan<switching, op::activation> {
  using base = plan<switching, op::activation>;
  plan(failing& device, const op::activation& o, const plan_request& request)
      : base(device, o, request) {
    if (batch_ == 22) throw unsupported("a batch of 22");
  }
  void run(const binding& bound) const {
    base::run(bound);
    if (batch_ != 20) return;
    for (const std::span<float> output : bound.outputs) {
      for (float& value : output) value += 1;
    }
  }
};

namespace layerbench {
namespace cli_curve_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

struct outcome {
  int exit_code;
  std::string out;
  std::string err;
};

/// A directory with a model of one layer.
struct relu_directory : testing::temporary_directory {
  std::string model = write("tiny.json", R"({"name": "tiny",
      "parameters": {"batch": 1}, "layers": [{"name": "relu1", "op": "activation",
      "shape": {"kind": "relu", "dims": ["batch", 3]}}]})")
                          .string();
  std::string results = (path() / "r.json").string();

  /// Times the model with a library.
  template <class Backend>
  [[nodiscard]] outcome measure(const std::vector<std::string>& options) const {
    ::setenv("OMP_PROC_BIND", "close", 0);  // else it would restart this test
    ::setenv("OMP_PLACES", "cores", 0);
    std::vector<std::string> words{"bench_relu",
                                   "--model=" + model,
                                   "--threads=1",
                                   "--speed=any",
                                   "--benchmark_out=" + results,
                                   "--max-time=0",
                                   "--benchmark_min_time=0.001"};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    const int count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int code = run::main(count, arguments.data(),
                               {{"bench_relu", "Times activations.", {}},
                                run::registry_of<Backend>(op::list<op::activation>{}),
                                [](const auto&, const auto&, bool) {}});
    std::string out = ::testing::internal::GetCapturedStdout();
    return {code, std::move(out), ::testing::internal::GetCapturedStderr()};
  }

  /// The batches that have a time.
  [[nodiscard]] std::set<std::int64_t> measured() const {
    std::set<std::int64_t> batches;
    for (const result::measurement& row : result::read(results).rows) {
      if (row.error.empty()) batches.insert(row.name.model_case.batch);
    }
    return batches;
  }
};

constexpr auto over_batch = "tiny inference, switching f32, 1 thread, over batch";

TEST(Curve, MeasuresBothSidesOfASwitchOfAlgorithms) {
  const relu_directory directory;
  const outcome done =
      directory.measure<switching>({"--curve", "--batch=1,10,19..22,40,64", "--budget=600"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr(over_batch));
  EXPECT_THAT(directory.measured(), AllOf(Contains(1), Contains(20), Contains(21)));
}

TEST(Curve, TakesAFileWithALargerSizeThanTheWantedOnes) {
  const relu_directory directory;
  EXPECT_EQ(directory.measure<switching>({"--batch=1,64", "--benchmark_repetitions=3"}).exit_code,
            0);
  const outcome done =
      directory.measure<switching>({"--curve", "--batch=1,10,19..22,40", "--budget=600",
                                    "--resume=" + directory.results, "--benchmark_repetitions=3"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr(over_batch));
}

TEST(Curve, MeasuresAFailedSizeOnce) {
  const relu_directory directory;
  const outcome done = directory.measure<failing>(
      {"--curve", "--batch=1,19..21,64", "--budget=600", "--benchmark_repetitions=3"});
  EXPECT_EQ(done.exit_code, 4) << done.err;
  EXPECT_THAT(done.out, HasSubstr("over batch"));
  EXPECT_THAT(directory.measured(), AllOf(Contains(21), Not(Contains(20))));
}

TEST(Curve, GoesPastASizeWithoutAPlan) {
  const relu_directory directory;
  const outcome done = directory.measure<failing>(
      {"--curve", "--batch=1,22,64", "--budget=600", "--benchmark_repetitions=3"});
  EXPECT_THAT(done.out, HasSubstr("over batch")) << done.err;
  EXPECT_THAT(directory.measured(), AllOf(Contains(1), Contains(64), Not(Contains(22))));
}

TEST(Curve, SaysWhyThereIsNone) {
  const relu_directory directory;
  const outcome done = directory.measure<failing>({"--curve", "--batch=20,22", "--budget=600"});
  EXPECT_EQ(done.exit_code, 4) << done.err;
  EXPECT_THAT(done.err, HasSubstr("no curve"));
}

}  // namespace cli_curve_test
}  // namespace layerbench
