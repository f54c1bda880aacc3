// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/predict/across.hpp>

namespace layerbench::predict {
namespace predict_across_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using fields = std::map<std::string, std::string, std::less<>>;

const fields here{{"device", "x"},         {"kernel", "6.1"},       {"threads", "2"},
                  {"l2_bytes", "1"},       {"onednn_isa", "a"},     {"onednn_hash", "1"},
                  {"onednn_version", "3"}, {"OMP_PLACES", "cores"}, {"date", "today"},
                  {"host_name", "one"},    {"load_at_start", "0"},  {"driver", "550"},
                  {"in_place", "none"},    {"clock", "wall clock"}, {"gpu_clock_mhz", "9"}};

result::results file_of(const std::string& name, const fields& changes) {
  result::results made;
  made.file = name;
  made.context = here;
  for (const auto& [field, value] : changes) made.context[field] = value;
  return made;
}

difference between(const fields& changes, std::optional<across> said = {}, bool force = false) {
  const result::results old = file_of("old.json", {});
  const result::results now = file_of("new.json", changes);
  return differing_sides({&old}, {&now}, said, force);
}

/// What is said to those who compare files that differ so.
std::string refusal(const fields& changes, std::optional<across> said = {}) {
  try {
    static_cast<void>(between(changes, said));
  } catch (const bad_input& slip) {
    return slip.what();
  }
  ADD_FAILURE() << "not refused";
  return "";
}

TEST(Across, IsNothingWhereNothingDiffers) {
  const difference same = between({{"date", "tomorrow"}, {"load_at_start", "1"}});
  EXPECT_FALSE(same.across);
  EXPECT_FALSE(same.inferred);
  EXPECT_THAT(same.fields, IsEmpty());
  EXPECT_THAT(same.forced, IsEmpty());
}

TEST(Across, FollowsFromTheFieldsThatDiffer) {
  const auto inferred = [](const fields& changes) {
    const difference found = between(changes);
    EXPECT_EQ(found.inferred, found.across.has_value());
    return found.across;
  };
  EXPECT_EQ(inferred({{"onednn_version", "4"}}), across::version);
  EXPECT_EQ(inferred({{"onednn_version", "4"}, {"onednn_hash", "2"}}), across::version);
  EXPECT_EQ(inferred({{"layerbench_version", "0.2.0"}}), across::version)
      << "which one does not say";
  EXPECT_EQ(inferred({{"kernel", "6.2"}}), across::driver);
  EXPECT_EQ(inferred({{"driver", "560"}, {"kernel", "6.2"}}), across::driver);
  EXPECT_EQ(inferred({{"threads", "4"}}), across::settings);
  EXPECT_EQ(inferred({{"OMP_PLACES", "threads"}, {"in_place", "add"}}), across::settings);
  EXPECT_EQ(inferred({{"DNNL_MAX_CPU_ISA", "AVX2"}, {"onednn_isa", "b"}}), across::settings);
  EXPECT_EQ(inferred({{"onednn_isa", "b"}}), across::device);
  EXPECT_EQ(inferred({{"gpu", "b"}, {"gpu_l2_bytes", "2"}, {"driver", "560"}}), across::device);
  EXPECT_EQ(inferred({{"device", "y"},
                      {"l2_bytes", "2"},
                      {"kernel", "6.2"},
                      {"driver", "560"},
                      {"gpu_clock_mhz", "8"},
                      {"threads", "4"},
                      {"onednn_isa", "b"}}),
            across::device);
}

TEST(Across, RefusesWhatDiffersInMoreThanOneThingAndNamesIt) {
  EXPECT_THAT(refusal({{"onednn_version", "4"}, {"threads", "4"}, {"onednn_isa", "b"}}),
              AllOf(HasSubstr("new.json: at /context"), HasSubstr("old.json"),
                    HasSubstr(": onednn_isa onednn_version threads;"), HasSubstr("--across"),
                    HasSubstr("--force")));
  EXPECT_THAT(refusal({{"kernel", "6.2"}, {"threads", "4"}}), HasSubstr("kernel threads"))
      << "a new device is not the only explanation, as none of its own fields differs";
}

TEST(Across, AllowsWhatComesWithWhatIsSaid) {
  EXPECT_EQ(between({{"kernel", "6.2"}, {"threads", "4"}}, across::device).across, across::device);
  const difference said = between({{"onednn_version", "4"}}, across::version);
  EXPECT_FALSE(said.inferred);
  EXPECT_THAT(said.fields, ElementsAre("onednn_version"));
  EXPECT_THAT(said.forced, IsEmpty());
  EXPECT_EQ(between({}, across::version).across, across::version);
}

TEST(Across, RefusesWhatDoesNotComeWithIt) {
  EXPECT_THAT(refusal({{"onednn_version", "4"}, {"kernel", "6.2"}}, across::version),
              AllOf(HasSubstr("not only in the version, but in: kernel;"),
                    Not(HasSubstr("onednn_version"))));
  EXPECT_THAT(refusal({{"device", "y"}}, across::settings), HasSubstr("but in: device;"));
  EXPECT_THAT(refusal({{"threads", "4"}}, across::driver), HasSubstr("but in: threads;"));
  EXPECT_THAT(refusal({{"onednn_version", "4"}}, across::device), HasSubstr("onednn_version"));
}

TEST(Across, MarksWhatIsForced) {
  const difference said =
      between({{"onednn_version", "4"}, {"kernel", "6.2"}}, across::version, true);
  EXPECT_EQ(said.across, across::version);
  EXPECT_THAT(said.forced, ElementsAre("kernel"));
  const difference unsaid = between({{"onednn_version", "4"}, {"kernel", "6.2"}}, {}, true);
  EXPECT_FALSE(unsaid.across);
  EXPECT_THAT(unsaid.forced, ElementsAre("kernel", "onednn_version"));
  EXPECT_THAT(between({{"kernel", "6.2"}}, {}, true).forced, IsEmpty()) << "nothing to force";
}

TEST(Across, RefusesSidesWhoseOwnFilesDiffer) {
  const result::results first = file_of("a.json", {});
  const result::results second = file_of("b.json", {{"threads", "4"}});
  try {
    static_cast<void>(differing_sides({&first, &second}, {&first}, across::settings, false));
    ADD_FAILURE() << "not refused";
  } catch (const bad_input& slip) {
    EXPECT_THAT(slip.what(), AllOf(HasSubstr("b.json"), HasSubstr("a.json"), HasSubstr("threads")));
  }
  const difference forced = differing_sides({&first}, {&first, &second}, {}, true);
  EXPECT_THAT(forced.forced, ElementsAre("threads"));
  EXPECT_THAT(forced.fields, IsEmpty());
}

}  // namespace predict_across_test
}  // namespace layerbench::predict
