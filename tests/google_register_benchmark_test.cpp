// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <optional>
#include <sstream>
#include <string>

#include <benchmark/benchmark.h>
#include <gmock/gmock.h>

#include <layerbench/backend/host_backend.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/google/register_benchmark.hpp>
#include <layerbench/result/measurement.hpp>

/// Backends that differ from the reference in one respect.
namespace layerbench::google_test_backends {

struct without_ops : reference::backend {
  static constexpr std::string_view name = "without_ops";
  using backend::backend;
};
struct without_device : reference::backend {
  static constexpr std::string_view name = "without_device";
  using backend::backend;
  static run::backend_entry entry() {
    run::backend_entry own = backend::entry();
    own.probe = []() noexcept -> std::optional<std::string> { return "it is not plugged in"; };
    return own;
  }
};
struct wrong : reference::backend {
  static constexpr std::string_view name = "wrong";
  using backend::backend;
};
/// Counts its plans. Sets the caller's number of threads.
struct counting : reference::backend {
  static constexpr std::string_view name = "counting";
  static inline int plans = 0;
  static inline int threads = 3;
  explicit counting(int /*threads*/) : backend(1) {}
  static run::backend_entry entry() {
    run::backend_entry own = backend::entry();
    own.max_threads = [] { return threads; };
    own.set_max_threads = [](int n) { threads = n; };
    return own;
  }
  void activate() const override { threads = 1; }
};

}  // namespace layerbench::google_test_backends

template <>
struct layerbench::plan<layerbench::google_test_backends::wrong, layerbench::op::gemm>
    : plan<reference::backend, op::gemm> {
  using plan<reference::backend, op::gemm>::plan;
  void run(binding& bound) const {
    plan<reference::backend, op::gemm>::run(bound);
    bound.outputs.back().front() += 1;
  }
};
template <>
struct layerbench::plan<layerbench::google_test_backends::counting, layerbench::op::gemm>
    : plan<reference::backend, op::gemm> {
  plan(google_test_backends::counting& device, const op::gemm& o, const plan_request& request)
      : plan<reference::backend, op::gemm>(device, o, request) {
    ++google_test_backends::counting::plans;
  }
};

namespace layerbench::google {
namespace google_register_benchmark_test {

using google_test_backends::counting;
using google_test_backends::without_device;
using google_test_backends::without_ops;
using google_test_backends::wrong;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr op::gemm small{.m = 4, .n = 8, .k = 16};

/// Registers benchmarks, and runs them as a program of Google Benchmark does.
class RegisterBenchmark : public ::testing::Test {
 protected:
  ~RegisterBenchmark() override { benchmark::ClearRegisteredBenchmarks(); }

  /// The rows of the JSON form.
  [[nodiscard]] static json::value rows() {
    std::ostringstream text;
    std::ostringstream complaints;
    benchmark::JSONReporter reporter;
    reporter.SetOutputStream(&text);
    reporter.SetErrorStream(&complaints);
    benchmark::RunSpecifiedBenchmarks(&reporter, ".");
    return json::value::parse(text.str()).at("benchmarks");
  }

  /// The error of the only row.
  [[nodiscard]] static std::string error() {
    const json::value all = rows();
    EXPECT_THAT(all, SizeIs(1));
    return all.at(0).value("error_message", "no error");
  }
};

/// Registers `op` to be measured shortly.
template <class B, class Op>
auto* add(const std::string& name, const Op& op, const row_options& how = {}) {
  return register_benchmark<B>(name, op, how)->MinTime(0.001);
}

TEST_F(RegisterBenchmark, HasTheCountersOfRows) {
  add<reference::backend>("my/name", small);
  const json::value all = rows();
  ASSERT_THAT(all, SizeIs(1));
  const json::value& row = all.at(0);
  EXPECT_EQ(row.at("name"), "my/name/min_time:0.001/manual_time");
  const result::label label = result::label::parse(row.at("label").get<std::string>());
  EXPECT_EQ(label.key, "m:4,n:8,k:16");
  EXPECT_EQ(label.algorithm, "reference:direct");
  EXPECT_EQ(row.at("verified"), 1);
  EXPECT_EQ(row.at("flops"), 2 * 4 * 8 * 16);
  EXPECT_EQ(row.at("bytes"), 4 * (4 * 16 + 16 * 8 + 4 * 8));
  EXPECT_GT(row.at("samples"), 0);
  const double seconds = row.at("real_time").get<double>() * 1e-9;
  EXPECT_GT(seconds, 0);
  EXPECT_GE(row.at("iterations").get<double>() * seconds, 0.001);
  EXPECT_NEAR(row.at("flops_per_second").get<double>() * seconds, 2 * 4 * 8 * 16, 1e-3);
  EXPECT_FALSE(row.contains("count")) << "there is no model";
}

TEST_F(RegisterBenchmark, HasMoreOperandsWhereTheyAreCold) {
  add<reference::backend>("hot", small);
  add<reference::backend>("cold", small, {.cache = run::cache_state::cold});
  const json::value all = rows();
  ASSERT_THAT(all, SizeIs(2));
  const auto ring_bytes = [&](std::size_t i) { return all.at(i).at("ring_bytes").get<double>(); };
  EXPECT_LT(ring_bytes(0), 4096) << "of one call";
  EXPECT_GT(ring_bytes(1),
            static_cast<double>(host_caches(reference::backend::entry().binding(), 1).last_bytes));
  EXPECT_GT(ring_bytes(1), 1e6) << "where the size of the caches is not known";
}

TEST_F(RegisterBenchmark, PreparesOnceForAllRepetitions) {
  counting::plans = 0;
  add<counting>("often", small)->Repetitions(3);
  EXPECT_EQ(counting::plans, 0) << "a program that lists plans nothing";
  const json::value all = rows();
  ASSERT_THAT(all, SizeIs(::testing::Ge(3U)));
  EXPECT_EQ(all.at(0).at("iterations"), all.at(1).at("iterations"));
  EXPECT_EQ(all.at(0).at("iterations"), all.at(2).at("iterations"));
  EXPECT_EQ(counting::plans, 1);
  EXPECT_EQ(counting::threads, 3) << "the caller's own";
}

TEST_F(RegisterBenchmark, TurnsWrongResultsIntoAnError) {
  add<wrong>("wrong", small);
  EXPECT_THAT(error(), AllOf(HasSubstr("dst[0]"), HasSubstr("the reference says")));
}

TEST_F(RegisterBenchmark, TurnsWhatALibraryLacksIntoAnError) {
  add<without_ops>("no_op", small);
  EXPECT_THAT(error(), AllOf(HasSubstr("without_ops"), HasSubstr("gemm")));
}

TEST_F(RegisterBenchmark, TurnsUnknownPassesIntoAnError) {
  add<reference::backend>("no_pass", op::conv{}, {.pass = op::pass::bwd});
  EXPECT_THAT(error(), AllOf(HasSubstr("conv"), HasSubstr("bwd")));
}

TEST_F(RegisterBenchmark, TurnsAMissingDeviceIntoAnError) {
  add<without_device>("no_device", small);
  EXPECT_THAT(error(), AllOf(HasSubstr("without_device"), HasSubstr("it is not plugged in")));
}

TEST_F(RegisterBenchmark, TurnsWrongSizesIntoAnError) {
  add<reference::backend>("too_small", op::conv{.h = 2, .w = 2, .r = 3, .s = 3});
  EXPECT_THAT(error(), AllOf(HasSubstr("conv"), HasSubstr("/r")));
  benchmark::ClearRegisteredBenchmarks();
  add<reference::backend>("no_step", op::conv{.stride = {0, 1}});
  EXPECT_THAT(error(), AllOf(HasSubstr("/stride/0"), HasSubstr("the least is 1")));
  benchmark::ClearRegisteredBenchmarks();
  add<reference::backend>("no_rows", op::gemm{.m = -1});
  EXPECT_THAT(error(), HasSubstr("/m"));
}

TEST_F(RegisterBenchmark, RefusesTheStateOfAModel) {
  add<reference::backend>("in_model", small, {.cache = run::cache_state::model});
  EXPECT_THAT(error(), AllOf(HasSubstr("cache:model"), HasSubstr("hot or cold")));
}

TEST_F(RegisterBenchmark, RefusesSeveralThreadsOfGoogleBenchmark) {
  add<reference::backend>("crowd", small)->Threads(2);
  EXPECT_THAT(error(), HasSubstr("row_options::threads"));
}

TEST_F(RegisterBenchmark, KeepsMeasuringAfterAnError) {
  add<without_ops>("fails", small);
  add<reference::backend>("works", small);
  const json::value all = rows();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all.at(1).at("verified"), 1);
}

}  // namespace google_register_benchmark_test
}  // namespace layerbench::google
