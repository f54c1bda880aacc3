// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>

#include <gmock/gmock.h>

#include <layerbench/result/name.hpp>
#include <layerbench/result/protocol_error.hpp>
#include <layerbench/result/step_time.hpp>

namespace layerbench::result {
namespace result_protocol_error_test {

constexpr std::size_t enough = 20;

TEST(ProtocolError, OfAValidatedKindIsItsOwn) {
  const protocol_error known = protocol_error_of({"onednn", "inference", 0, 0.1}).value();
  EXPECT_GE(known.cases, enough);
  EXPECT_GT(known.relative, 0.005);
  EXPECT_LT(known.relative, 0.05);
}

TEST(ProtocolError, GrowsWithWhatDisturbsSteps) {
  const auto error = [](double disturbed, double seconds) {
    return protocol_error_of({"onednn", "inference", disturbed, seconds})->relative;
  };
  EXPECT_LT(error(0, 0.1), error(0.2, 0.1));
  EXPECT_LT(error(0, 0.1), error(0, 0.001));
  EXPECT_LT(error(0.2, 0.1), error(0.2, 0.001));
}

TEST(ProtocolError, OfAKindWithFewCasesIsTheLargestOfItsBackend) {
  const protocol_error unknown = protocol_error_of({"onednn", "ranks", 0.5, 0.1}).value();
  EXPECT_EQ(unknown.cases, 0);
  for (const std::string_view kind : {"inference", "fused", "training"}) {
    EXPECT_LE(protocol_error_of({"onednn", kind, 0.5, 0.001})->relative, unknown.relative) << kind;
  }
}

TEST(ProtocolError, OfABackendWithoutCasesIsTheLargestOfAll) {
  for (const double disturbed : {0.0, 0.5}) {
    const protocol_error unknown = protocol_error_of({"new", "inference", disturbed, 0.1}).value();
    EXPECT_EQ(unknown.cases, 0);
    for (const std::string_view backend : {"onednn", "cudnn"}) {
      for (const std::string_view kind : {"inference", "fused", "training", "recurrent", "ranks"}) {
        for (const double seconds : {0.001, 0.1}) {
          EXPECT_LE(protocol_error_of({backend, kind, disturbed, seconds})->relative,
                    unknown.relative);
        }
      }
    }
  }
}

TEST(ProtocolError, OfAnEngineIsNotThatOfOurSteps) {
  const double ours = protocol_error_of({"onednn", "fused", 0, 0.1})->relative;
  EXPECT_GT(protocol_error_of({"onednn", "openvino", 0, 0.1})->relative, ours);
  EXPECT_FALSE(protocol_error_of({"onednn", "new engine", 0, 0.1}));
}

TEST(ProtocolError, IsOfTheFirstKindThatFits) {
  case_name one{"onednn", "f32", "net", 1, {}};
  EXPECT_EQ(step_kind(one, false), "inference");
  one.parameters["fusion"] = "openvino";
  EXPECT_EQ(step_kind(one, false), "fused");
  one.parameters["phase"] = "training";
  EXPECT_EQ(step_kind(one, false), "training");
  EXPECT_EQ(step_kind(one, true), "recurrent");
  one.parameters["ranks"] = "2";
  EXPECT_EQ(step_kind(one, true), "ranks");
}

TEST(ProtocolError, WidensTheIntervalOnEitherSide) {
  const step_time time{10, 0, 10, 9.5, 10.9, interval_method::bootstrap, 1.2};
  EXPECT_DOUBLE_EQ(time.low(), 10 - 1.3);  // 0.5, 1.2, 1.3 and
  EXPECT_DOUBLE_EQ(time.high(), 11.5);     // 0.9, 1.2, 1.5: independent halves
}

}  // namespace result_protocol_error_test
}  // namespace layerbench::result
