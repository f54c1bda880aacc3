// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/compare/dimension.hpp>
#include <layerbench/base/description.hpp>

#include "support/mentions.hpp"

namespace layerbench::analysis {
namespace analysis_dimension_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::mentions;
using ::testing::Not;

using fields = std::map<std::string, std::string, std::less<>>;

const fields device{
    {"device", "x"},         {"kernel", "6.1"},       {"threads", "2"},
    {"l2_bytes", "1"},       {"onednn_isa", "a"},     {"onednn_hash", "1"},
    {"onednn_version", "3"}, {"OMP_PLACES", "cores"}, {"date", "today"},
    {"host_name", "one"},    {"load_at_start", "0"},  {"cuda_driver_version", "12.8"},
    {"in_place", "none"},    {"clock", "wall clock"}, {"gpu_max_sm_mhz", "9"}};

result::results file_of(const std::string& name, const fields& changes) {
  result::results result;
  result.file = name;
  result.context = device;
  for (const auto& [field, value] : changes) result.context[field] = value;
  return result;
}

difference between(const fields& changes, std::optional<compared_dimension> words = {},
                   bool force = false) {
  const result::results old = file_of("old.json", {});
  const result::results now = file_of("new.json", changes);
  return difference_between({&old}, {&now}, words, force);
}

/// Matches `changes` that are refused with a message that `names` them.
template <class Matcher>
void expect_refused(const fields& changes, std::optional<compared_dimension> dimension,
                    const Matcher& names) {
  EXPECT_THAT([&] { static_cast<void>(between(changes, dimension)); },
              ::testing::ThrowsMessage<bad_input>(names));
}

TEST(Across, IsNothingWhereNothingDiffers) {
  const difference same = between({{"date", "tomorrow"}, {"load_at_start", "1"}});
  EXPECT_FALSE(same.dimension);
  EXPECT_FALSE(same.inferred);
  EXPECT_THAT(same.fields, IsEmpty());
  EXPECT_THAT(same.forced, IsEmpty());
}

TEST(Across, FollowsFromTheFieldsThatDiffer) {
  const auto inferred = [](const fields& changes) {
    const difference found = between(changes);
    EXPECT_EQ(found.inferred, found.dimension.has_value());
    return found.dimension;
  };
  EXPECT_EQ(inferred({{"onednn_version", "4"}}), compared_dimension::version);
  EXPECT_EQ(inferred({{"onednn_version", "4"}, {"onednn_hash", "2"}}), compared_dimension::version);
  EXPECT_EQ(inferred({{"layerbench_version", "0.2.0"}}), compared_dimension::version)
      << "a context without it differs in it";
  EXPECT_EQ(inferred({{"kernel", "6.2"}}), compared_dimension::driver);
  EXPECT_EQ(inferred({{"cuda_driver_version", "13.0"}, {"kernel", "6.2"}}),
            compared_dimension::driver);
  EXPECT_EQ(inferred({{"threads", "4"}}), compared_dimension::settings);
  EXPECT_EQ(inferred({{"OMP_PLACES", "threads"}, {"in_place", "add"}}),
            compared_dimension::settings);
  EXPECT_EQ(inferred({{"DNNL_MAX_CPU_ISA", "AVX2"}, {"onednn_isa", "b"}}),
            compared_dimension::settings);
  EXPECT_EQ(inferred({{"onednn_isa", "b"}}), compared_dimension::device);
  EXPECT_EQ(inferred({{"gpu", "b"}, {"gpu_l2_bytes", "2"}, {"cuda_driver_version", "13.0"}}),
            compared_dimension::device);
  EXPECT_EQ(inferred({{"device", "y"},
                      {"l2_bytes", "2"},
                      {"kernel", "6.2"},
                      {"cuda_driver_version", "13.0"},
                      {"gpu_max_sm_mhz", "8"},
                      {"threads", "4"},
                      {"onednn_isa", "b"}}),
            compared_dimension::device);
}

TEST(Across, CountsTheTopologyAsTheDevices) {
  const result::results old = file_of("old.json", {});
  const result::results now =
      file_of("new.json", {{"topology", "2 cores"}, {"places", "{0},{1}"}, {"numa", "local"}});
  EXPECT_FALSE(difference_between({&old}, {&now}, {}, false).dimension)
      << "earlier files do not have these fields";
  const auto between_new = [&](const fields& changes) {
    fields all{{"topology", "2 cores"}, {"places", "{0},{1}"}, {"numa", "local"}};
    for (const auto& [name, value] : changes) all[name] = value;
    const result::results other = file_of("other.json", all);
    return difference_between({&now}, {&other}, {}, false).dimension;
  };
  EXPECT_FALSE(between_new({}));
  EXPECT_EQ(between_new({{"topology", "4 cores"}, {"places", "{0}:4"}, {"OMP_PLACES", "{0}:4"}}),
            compared_dimension::device);
  EXPECT_EQ(between_new({{"places", "{1},{0}"}}), compared_dimension::settings);
  EXPECT_EQ(between_new({{"numa", "interleave"}}), compared_dimension::settings);
}

TEST(Across, RefusesDifferencesInSeveralDimensionsAndNamesThem) {
  expect_refused({{"onednn_version", "4"}, {"threads", "4"}, {"onednn_isa", "b"}}, {},
                 AllOf(mentions("new.json", "/context", "old.json"),
                       mentions("onednn_isa", "onednn_version", "threads"),
                       mentions("--across", "--force"), Not(HasSubstr("kernel"))));
  // No field of a device's own differs, so another device is not the only explanation.
  expect_refused({{"kernel", "6.2"}, {"threads", "4"}}, {}, mentions("kernel", "threads"));
}

TEST(Across, AllowsTheFieldsOfTheChosenDimension) {
  EXPECT_EQ(between({{"kernel", "6.2"}, {"threads", "4"}}, compared_dimension::device).dimension,
            compared_dimension::device);
  const difference words = between({{"onednn_version", "4"}}, compared_dimension::version);
  EXPECT_FALSE(words.inferred);
  EXPECT_THAT(words.fields, ElementsAre("onednn_version"));
  EXPECT_THAT(words.forced, IsEmpty());
  EXPECT_EQ(between({}, compared_dimension::version).dimension, compared_dimension::version);
}

TEST(Across, RefusesFieldsOfOtherDimensions) {
  expect_refused({{"onednn_version", "4"}, {"kernel", "6.2"}}, compared_dimension::version,
                 AllOf(mentions("version", "kernel"), Not(HasSubstr("onednn_version"))));
  expect_refused({{"device", "y"}}, compared_dimension::settings, mentions("settings", "device"));
  expect_refused({{"threads", "4"}}, compared_dimension::driver, mentions("driver", "threads"));
  expect_refused({{"onednn_version", "4"}}, compared_dimension::device,
                 mentions("device", "onednn_version"));
}

TEST(Across, CountsWhatIsSetAsSettings) {
  for (const std::string setting :
       {"clocks", "gpu_power_limit_w", "gpu_persistence_mode", "gpu_mig_mode"}) {
    EXPECT_EQ(between({{setting, "1"}}).dimension, compared_dimension::settings) << setting;
    EXPECT_THAT(between({{setting, "1"}}, compared_dimension::settings).forced, IsEmpty());
  }
  EXPECT_EQ(between({{"gpu", "b"}, {"gpu_power_limit_w", "300"}}).dimension,
            compared_dimension::device)
      << "another GPU has another limit";
  expect_refused({{"gpu", "b"}, {"clocks", "lock"}}, compared_dimension::device,
                 mentions("clocks"));
}

/// Another version of layerbench may time by another clock, on the same device.
TEST(Across, CountsHowCallsAreTimedAsTheVersions) {
  for (const std::string clock : {"clock", "cuda_clock", "mpi_clock"}) {
    EXPECT_EQ(between({{clock, "another"}, {"layerbench_version", "0.2.0"}}).dimension,
              compared_dimension::version)
        << clock;
    expect_refused({{clock, "another"}}, compared_dimension::device, mentions(clock));
  }
  EXPECT_THAT(between({{"gpu_peaks", "of more data types"}}).fields, IsEmpty())
      << "layerbench computes them from what the GPU tells";
}

TEST(Across, FollowsWhatAFileSaysOfItsFields) {
  const auto file = [](const std::string& value, field_dimension of) {
    result::results result = file_of(value + ".json", {{"npu_library", value}});
    result.dimensions["npu_library"] = of;
    return result;
  };
  const auto compared = [&](field_dimension of) {
    const result::results old = file("1", of);
    const result::results now = file("2", of);
    return difference_between({&old}, {&now}, {}, false).dimension;
  };
  EXPECT_EQ(compared(field_dimension::version), compared_dimension::version);
  EXPECT_EQ(compared(field_dimension::device), compared_dimension::device);
  EXPECT_EQ(compared(field_dimension::instruction_set), compared_dimension::device);
  EXPECT_EQ(compared(field_dimension::driver), compared_dimension::driver);
  EXPECT_EQ(compared(field_dimension::setting), compared_dimension::settings);
  EXPECT_EQ(compared(field_dimension::device_setting), compared_dimension::settings);
  EXPECT_FALSE(compared(field_dimension::condition));
  // The older of two programs did not say it.
  const result::results old = file_of("old.json", {{"npu_library", "1"}});
  const result::results now = file("2", field_dimension::version);
  EXPECT_EQ(difference_between({&old}, {&now}, {}, false).dimension, compared_dimension::version);
  EXPECT_EQ(difference_between({&now}, {&old}, {}, false).dimension, compared_dimension::version);
  EXPECT_EQ(between({{"somebodys_version", "2"}}).dimension, compared_dimension::version);
  EXPECT_EQ(between({{"somebodys", "2"}}).dimension, compared_dimension::settings);
}

TEST(Across, NamesBothValuesOfWhatIsRefused) {
  expect_refused({{"device", "y"}}, compared_dimension::settings, mentions("device", "x", "y"));
  expect_refused({{"kernel", "6.2"}, {"threads", "4"}}, {}, mentions("6.1", "6.2", "2", "4"));
}

TEST(Across, MarksWhatIsForced) {
  const difference words =
      between({{"onednn_version", "4"}, {"kernel", "6.2"}}, compared_dimension::version, true);
  EXPECT_EQ(words.dimension, compared_dimension::version);
  EXPECT_THAT(words.forced, ElementsAre("kernel"));
  const difference unsaid = between({{"onednn_version", "4"}, {"kernel", "6.2"}}, {}, true);
  EXPECT_FALSE(unsaid.dimension);
  EXPECT_THAT(unsaid.forced, ElementsAre("kernel", "onednn_version"));
  EXPECT_THAT(between({{"kernel", "6.2"}}, {}, true).forced, IsEmpty()) << "nothing to force";
}

TEST(Across, RefusesSidesWhoseOwnFilesDiffer) {
  const result::results first = file_of("a.json", {});
  const result::results second = file_of("b.json", {{"threads", "4"}});
  const auto one_side_differs = [&] {
    static_cast<void>(
        difference_between({&first, &second}, {&first}, compared_dimension::settings, false));
  };
  EXPECT_THAT(one_side_differs,
              ::testing::ThrowsMessage<bad_input>(mentions("a.json", "b.json", "threads")));
  const difference forced = difference_between({&first}, {&first, &second}, {}, true);
  EXPECT_THAT(forced.forced, ElementsAre("threads"));
  EXPECT_THAT(forced.fields, IsEmpty());
}

}  // namespace analysis_dimension_test
}  // namespace layerbench::analysis
