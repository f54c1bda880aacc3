// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/model/collectives.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/op/allreduce.hpp>

namespace layerbench::model {
namespace model_collectives_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Layers as texts: name and key.
std::vector<std::string> text(const graph& of) {
  std::vector<std::string> lines;
  for (const layer& item : of.layers) lines.push_back(item.name + " " + item.op.key());
  return lines;
}

TEST(Collectives, OfAModelAreAllItsGradientsItsBucketsAndItsLayers) {
  const graph lenet = load(find("lenet5", LAYERBENCH_SHAPES_DIR));
  const graph of = gradient_collectives(lenet, {2, true});
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
  // Two arrays of each rank and two more to check them, and two of rank 0.
  const graph few = collective_sweep({3, false}, 20 * 14);
  EXPECT_EQ(few.name, "sweep");
  EXPECT_THAT(text(few), ElementsAre("bytes_4 bytes:4,ranks:3", "bytes_8 bytes:8,ranks:3",
                                     "bytes_16 bytes:16,ranks:3"));
  EXPECT_EQ(collective_sweep({}, INT64_MAX).layers.back().name, "bytes_1073741824");
  EXPECT_THAT(collective_sweep({}, 4 * 6).layers, SizeIs(1));
  EXPECT_THAT(collective_sweep({}, 4 * 6 - 1).layers, IsEmpty());
}

TEST(Collectives, OfOtherKindsHaveTheirNamesAndEqualBlocks) {
  using enum op::collective_kind;
  const graph lenet = load(find("lenet5", LAYERBENCH_SHAPES_DIR));
  const graph of = gradient_collectives(lenet, {3, true, dtype::bf16, {all_gather, broadcast}});
  EXPECT_THAT(text(of),
              ElementsAre("all_gather_gradients kind:all_gather,bytes:862176,ranks:3,in_place:1",
                          "all_gather_bucket1 kind:all_gather,bytes:862176,ranks:3,in_place:1",
                          "all_gather_ip2 kind:all_gather,bytes:10032,ranks:3,in_place:1",
                          "all_gather_ip1 kind:all_gather,bytes:801024,ranks:3,in_place:1",
                          "all_gather_conv2 kind:all_gather,bytes:50112,ranks:3,in_place:1",
                          "all_gather_conv1 kind:all_gather,bytes:1056,ranks:3,in_place:1",
                          "broadcast_gradients kind:broadcast,bytes:862160,ranks:3",
                          "broadcast_bucket1 kind:broadcast,bytes:862160,ranks:3",
                          "broadcast_ip2 kind:broadcast,bytes:10020,ranks:3",
                          "broadcast_ip1 kind:broadcast,bytes:801000,ranks:3",
                          "broadcast_conv2 kind:broadcast,bytes:50100,ranks:3",
                          "broadcast_conv1 kind:broadcast,bytes:1040,ranks:3"));
}

TEST(Collectives, OfAnySizeHaveEqualBlocks) {
  using enum op::collective_kind;
  EXPECT_THAT(
      text(collective_sweep({4, true, dtype::f32, {all_reduce, all_to_all}}, 64 * 18)),
      ElementsAre("bytes_4 bytes:4,ranks:4,in_place:1", "bytes_8 bytes:8,ranks:4,in_place:1",
                  "bytes_16 bytes:16,ranks:4,in_place:1", "bytes_32 bytes:32,ranks:4,in_place:1",
                  "bytes_64 bytes:64,ranks:4,in_place:1",
                  "all_to_all_bytes_16 kind:all_to_all,bytes:16,ranks:4",
                  "all_to_all_bytes_32 kind:all_to_all,bytes:32,ranks:4",
                  "all_to_all_bytes_64 kind:all_to_all,bytes:64,ranks:4"));
  EXPECT_THAT(
      text(collective_sweep({3, true, dtype::f64, {reduce_scatter}}, 100 * 14)),
      ElementsAre("reduce_scatter_bytes_24 kind:reduce_scatter,bytes:24,ranks:3,in_place:1",
                  "reduce_scatter_bytes_48 kind:reduce_scatter,bytes:48,ranks:3,in_place:1",
                  "reduce_scatter_bytes_96 kind:reduce_scatter,bytes:96,ranks:3,in_place:1"));
  EXPECT_THAT(text(collective_sweep({3, true, dtype::f64, {broadcast}}, 16 * 14)),
              ElementsAre("broadcast_bytes_8 kind:broadcast,bytes:8,ranks:3",
                          "broadcast_bytes_16 kind:broadcast,bytes:16,ranks:3"));
  // The check has numbers as f32: of 3 ranks, 4 * 4 arrays of each in s8.
  EXPECT_THAT(text(collective_sweep({3, true, dtype::s8, {broadcast}}, 4 * 56)),
              ElementsAre("broadcast_bytes_4 kind:broadcast,bytes:4,ranks:3"));
}

TEST(Collectives, OfASweepAreThoseOfTheKinds) {
  using enum op::collective_kind;
  graph sweep;
  sweep.name = "mine";
  const auto add = [&](const char* name, const op::any& op) {
    sweep.layers.push_back({name, op, {model_input}});
  };
  add("sum", op::any(op::allreduce{100, 2}));
  add("other_sum", op::any(op::collective{all_reduce, 200, 2}));
  add("gather", op::any(op::collective{all_gather, 100, 2, true}));
  EXPECT_THAT(text(collectives_of(sweep, {3, false})),
              ElementsAre("sum bytes:100,ranks:3", "other_sum bytes:200,ranks:3"));
  EXPECT_THAT(text(collectives_of(sweep, {3, false, dtype::f32, {all_gather}})),
              ElementsAre("gather kind:all_gather,bytes:144,ranks:3"));
}

}  // namespace model_collectives_test
}  // namespace layerbench::model
