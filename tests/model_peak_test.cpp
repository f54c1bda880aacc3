// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/model/peak.hpp>
#include <layerbench/op/gemm.hpp>
#include <layerbench/op/stream.hpp>

namespace layerbench::model {
namespace model_peak_test {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::Pair;

constexpr std::int64_t kib = 1024;
constexpr std::int64_t mib = 1024 * kib;

/// Of threads on cores of their own, which share `last` caches of 32 MiB equally.
graph peak_of(int last, int threads) {
  return peak_graph({threads * 32 * kib, threads * mib, last * 32 * mib}, last * 32 * mib, threads);
}

/// Bytes of each stream, by its name.
std::map<std::string, std::int64_t> streams(const graph& of) {
  std::map<std::string, std::int64_t> bytes;
  for (const layer& item : of.layers) {
    const auto* stream = item.op.get<op::stream>();
    if (stream != nullptr) bytes[item.name] = stream->bytes;
  }
  return bytes;
}

std::vector<std::string> products(const graph& of) {
  std::vector<std::string> names;
  for (const layer& item : of.layers) {
    if (item.op.get<op::gemm>() != nullptr) names.push_back(item.name);
  }
  return names;
}

TEST(Peak, StreamsHalfOfEachCacheAndFourTimesTheLlc) {
  const graph of = peak_of(1, 1);
  EXPECT_EQ(of.name, "peak");
  EXPECT_THAT(streams(of),
              ElementsAre(Pair("call", 64), Pair("copy_l2", mib / 2), Pair("copy_l3", 16 * mib),
                          Pair("copy_memory", 128 * mib), Pair("read_l2", mib / 2),
                          Pair("read_l3", 16 * mib), Pair("read_memory", 128 * mib),
                          Pair("write_l2", mib / 2), Pair("write_l3", 16 * mib),
                          Pair("write_memory", 128 * mib)));
}

TEST(Peak, StreamsPrivateCachesPerThreadAndSharedOnesTogether) {
  const auto bytes = streams(peak_of(1, 4));
  EXPECT_EQ(bytes.at("read_l2"), 2 * mib);
  EXPECT_EQ(bytes.at("read_l3"), 16 * mib);
  EXPECT_EQ(bytes.at("call"), 256);
}

TEST(Peak, LeavesOutACacheThatIsNotLargerThanThoseBefore) {
  EXPECT_THAT(streams(peak_of(1, 9)), Not(Contains(Pair("read_l3", ::testing::_))));
  EXPECT_THAT(streams(peak_of(1, 8)), Contains(Pair("read_l3", 16 * mib)));
}

TEST(Peak, StreamsPastEveryLlcOfTheThreads) {
  EXPECT_EQ(streams(peak_of(8, 64)).at("read_memory"), 8 * 128 * mib);
  EXPECT_EQ(streams(peak_of(8, 64)).at("read_l3"), 8 * 16 * mib);
  EXPECT_EQ(streams(peak_of(2, 2)).at("read_memory"), 2 * 128 * mib);
}

TEST(Peak, UsesTheLastKnownCache) {
  const auto two = streams(peak_graph({128 * kib, 2 * mib, 0}, 2 * mib, 4));
  EXPECT_EQ(two.at("read_l2"), mib);
  EXPECT_EQ(two.at("read_memory"), 8 * mib);
  EXPECT_FALSE(two.contains("read_l3"));
  const auto unknown = streams(peak_graph({0, 0, 0}, 0, 1));
  EXPECT_EQ(unknown.at("read_memory"), 256 * mib);
  EXPECT_EQ(unknown.size(), 4U);
}

TEST(Peak, OfAGpuHasStreamsOfItsL2AndOfMemory) {
  const auto bytes = streams(peak_graph_of_gpu(50 * mib));
  EXPECT_EQ(bytes.at("read_l2"), 25 * mib / 2);
  EXPECT_EQ(bytes.at("read_l2_part"), 25 * mib / 8);
  EXPECT_EQ(bytes.at("copy_memory"), 800 * mib);
  EXPECT_EQ(bytes.at("call"), 64);
  EXPECT_EQ(bytes.size(), 10U);
  EXPECT_EQ(streams(peak_graph_of_gpu(0)).at("read_memory"), 256 * mib) << "listed without a GPU";
}

TEST(Peak, OfAGpuHasProductsThatFillItInAllTypes) {
  const graph of = peak_graph_of_gpu(50 * mib);
  EXPECT_THAT(products(of), ElementsAre("square_4096", "square_8192"));
  for (const layer& item : of.layers) {
    const auto* product = item.op.get<op::gemm>();
    const bool fits = product == nullptr || product->b_transposed;
    EXPECT_TRUE(fits) << item.name << ": cuBLAS has no other in 8 bits";
  }
}

TEST(Peak, HasALargeGemmPerThread) {
  EXPECT_THAT(products(peak_of(1, 1)), ElementsAre("square_1024", "square_2048"));
  EXPECT_THAT(products(peak_of(1, 8)), ElementsAre("square_1024", "square_2048"));
  EXPECT_THAT(products(peak_of(1, 9)), ElementsAre("square_2048", "square_4096"));
}

}  // namespace model_peak_test
}  // namespace layerbench::model
