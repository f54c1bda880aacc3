// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/model/allreduces.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>

namespace layerbench::model {
namespace model_allreduces_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Layers as texts: name and key.
std::vector<std::string> text(const graph& of) {
  std::vector<std::string> lines;
  for (const layer& item : of.layers) lines.push_back(item.name + " " + item.op.key());
  return lines;
}

TEST(Collectives, OfAModelAreAllItsGradientsItsBucketsAndItsLayers) {
  const graph lenet = load(find("lenet5", LAYERBENCH_SHAPES_DIR));
  const graph of = gradient_allreduces(lenet, dtype::f32, {2, true});
  EXPECT_EQ(of.name, "lenet5");
  EXPECT_THAT(
      text(of),
      ElementsAre("gradients bytes:1724320,ranks:2,in_place:1",
                  "bucket1 bytes:1622040,ranks:2,in_place:1",
                  "bucket2 bytes:102280,ranks:2,in_place:1", "ip2 bytes:20040,ranks:2,in_place:1",
                  "ip1 bytes:1602000,ranks:2,in_place:1", "conv2 bytes:100200,ranks:2,in_place:1",
                  "conv1 bytes:2080,ranks:2,in_place:1"));
}

TEST(Collectives, OfAnySizeArePowersOfTwo) {
  const graph few = allreduce_sweep({3, false}, 20);
  EXPECT_EQ(few.name, "sweep");
  EXPECT_THAT(text(few), ElementsAre("bytes_4 bytes:4,ranks:3", "bytes_8 bytes:8,ranks:3",
                                     "bytes_16 bytes:16,ranks:3"));
  EXPECT_EQ(allreduce_sweep({}, INT64_MAX).layers.back().name, "bytes_1073741824");
  EXPECT_THAT(allreduce_sweep({}, 3).layers, IsEmpty());
}

}  // namespace model_allreduces_test
}  // namespace layerbench::model
