// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/model/buckets.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/model/totals.hpp>

namespace layerbench::model {
namespace model_buckets_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

graph shipped(const std::string& name) { return load(find(name, LAYERBENCH_SHAPES_DIR)); }

std::int64_t total(const std::vector<bucket>& all) {
  std::int64_t bytes = 0;
  for (const bucket& item : all) bytes += item.bytes;
  return bytes;
}

auto is(std::int64_t bytes, std::vector<std::string> layers) {
  return AllOf(Field(&bucket::bytes, bytes), Field(&bucket::layers, layers));
}

TEST(Buckets, OfVgg16AreItsLargeLayersAloneAndThenItsConvolutions) {
  const std::vector<bucket> all = buckets_of(shipped("vgg16"), dtype::f32);
  EXPECT_THAT(
      all, ElementsAre(is(16'388'000, {"fc8"}), is(67'125'248, {"fc7"}), is(411'058'176, {"fc6"}),
                       is(28'317'696, {"conv5_3", "conv5_2", "conv5_1"}),
                       is(28'319'744, {"conv4_3", "conv4_2", "conv4_1", "conv3_3", "conv3_2"}),
                       is(2'221'312, {"conv3_1", "conv2_2", "conv2_1", "conv1_2", "conv1_1"})));
}

class AllBuckets : public ::testing::TestWithParam<std::string> {};

TEST_P(AllBuckets, HoldAllGradientsOnce) {
  const graph g = shipped(GetParam());
  for (const std::int64_t limit : {std::int64_t{1}, std::int64_t{100'000}, bucket_bytes}) {
    EXPECT_EQ(total(buckets_of(g, dtype::f32, limit, limit)), 4 * count(g).parameters);
  }
  EXPECT_THAT(buckets_of(g, dtype::f32, INT64_MAX, INT64_MAX), SizeIs(1));
}

INSTANTIATE_TEST_SUITE_P(Models, AllBuckets,
                         ::testing::Values("resnet50", "vgg16", "alexnet", "lenet5"));

TEST(Buckets, OfResnet50AreAFew) {
  const std::vector<bucket> all = buckets_of(shipped("resnet50"), dtype::f32);
  EXPECT_EQ(total(all), 102'228'128);
  EXPECT_THAT(all, SizeIs(AllOf(Ge(4U), Le(6U))));
  EXPECT_THAT(all.front(), is(8'196'000, {"fc"}));
}

TEST(Buckets, AreClosedByTheGradientThatReachesTheLimit) {
  const std::vector<gradient> ready{{"d", 60}, {"d", 40},  {"c", 199},
                                    {"b", 1},  {"b", 200}, {"a", 7}};
  EXPECT_THAT(buckets_of(ready, 100, 200),
              ElementsAre(is(100, {"d"}), is(200, {"c", "b"}), is(200, {"b"}), is(7, {"a"})));
  EXPECT_THAT(buckets_of(std::vector<gradient>{}, 100, 200), IsEmpty());
}

TEST(Buckets, OfHalfTheBytesInSixteenBits) {
  EXPECT_EQ(total(buckets_of(shipped("vgg16"), dtype::bf16)),
            total(buckets_of(shipped("vgg16"), dtype::f32)) / 2);
}

}  // namespace model_buckets_test
}  // namespace layerbench::model
