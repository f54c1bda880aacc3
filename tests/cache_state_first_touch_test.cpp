// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/backend/device.hpp>
#include <layerbench/cache_state/first_touch.hpp>
#include <layerbench/topology/numa.hpp>
#include <layerbench/topology/topology.hpp>

#include "support/topologies.hpp"

// Which thread touches memory first on a machine of two NUMA nodes.

namespace layerbench::run {
namespace cache_state_first_touch_test {

using ::testing::ElementsAre;

/// A device whose threads run one after the other, on these nodes. It notes who writes which page.
class touching_device final : public compute_device {
 public:
  static constexpr std::size_t page = 4096;
  touching_device(std::vector<int> nodes, std::size_t pages)
      : compute_device(static_cast<int>(nodes.size())),
        nodes_(std::move(nodes)),
        memory_(pages * page + page),
        owners(pages, -1) {}
  /// Begins at a page, with a byte that is not 0 in each.
  std::byte* memory() {
    auto* at = reinterpret_cast<std::byte*>(
        (reinterpret_cast<std::uintptr_t>(memory_.data()) + page - 1) / page * page);
    for (std::size_t i = 0; i < owners.size(); ++i) at[i * page] = std::byte{1};
    return at;
  }
  [[nodiscard]] std::vector<int> node_by_thread() const override { return nodes_; }
  void on_all_threads(const std::function<void(int)>& work) override {
    std::byte* const at = memory();
    for (int thread = 0; thread < threads(); ++thread) {
      work(thread);
      for (std::size_t i = 0; i < owners.size(); ++i) {
        if (at[i * page] == std::byte{} && owners[i] < 0) owners[i] = thread;
      }
    }
  }
  [[nodiscard]] bool waits() const override { return false; }
  [[nodiscard]] bool is_host() const override { return true; }
  [[nodiscard]] std::size_t cache_bytes() const override { return 0; }
  [[nodiscard]] std::size_t core_cache_bytes() const override { return 0; }
  void activate() override {}
  void require_memory(std::size_t /*bytes*/) const override {}
  [[nodiscard]] std::unique_ptr<device_memory> allocate(std::size_t /*bytes*/) override {
    return nullptr;
  }
  void fill(address /*to*/, std::size_t /*bytes*/, std::byte /*value*/) override {}
  void copy(address /*to*/, const void* /*from*/, std::size_t /*bytes*/) override {}
  void synchronize() override {}
  [[nodiscard]] std::map<std::string, double> telemetry() override { return {}; }
  [[nodiscard]] device_clock* clock() override { return nullptr; }
  [[nodiscard]] std::unique_ptr<recording> record(const std::function<void()>& /*work*/) override {
    return nullptr;
  }
  [[nodiscard]] bool has_graphs() const override { return false; }
  [[nodiscard]] std::unique_ptr<any_plan> make_plan(const op::any& /*op*/,
                                                    const plan_request& /*how*/) override {
    return nullptr;
  }

 private:
  [[nodiscard]] bool has_own_plan(const op::any& /*op*/) const override { return false; }
  std::vector<int> nodes_;
  std::vector<std::byte> memory_;

 public:
  std::vector<int> owners;  ///< by page: the thread that wrote to it first
};

TEST(FirstTouch, OfATensorIsInEqualParts) {
  touching_device device({0, 0, 1, 1}, 8);
  touch_in_parts(device, {device.memory(), 8 * touching_device::page});
  EXPECT_THAT(device.owners, ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
}

/// The threads that touch the huge pages of a ring first.
std::vector<int> touchers(const std::vector<int>& nodes, std::size_t blocks) {
  constexpr std::size_t block = 512;  // pages
  touching_device device(nodes, blocks * block);
  touch_in_turn(device, {device.memory(), blocks * block * touching_device::page});
  std::vector<int> by_block;
  for (std::size_t i = 0; i < device.owners.size(); i += block) {
    by_block.push_back(device.owners[i]);
    EXPECT_EQ(device.owners[i + block - 1], device.owners[i]);
  }
  return by_block;
}

TEST(FirstTouch, OfARingChangesTheNodeWithEachHugePage) {
  EXPECT_THAT(touchers({0, 0, 1, 1}, 5), ElementsAre(0, 2, 1, 3, 0));
  EXPECT_THAT(touchers({2, 0, 2}, 4), ElementsAre(1, 0, 1, 2)) << "nodes as the system counts them";
  EXPECT_THAT(touchers({1, 1, 1}, 2), ElementsAre(-1, -1)) << "the threads are on one node";
}

TEST(FirstTouch, OfARingChangesTheNodeWhereverThreadsAre) {
  const machine::topology of = testing::two_sockets();
  for (const int threads : {128, 40, 33}) {  // siblings of both sockets last; unequal numbers
    const std::vector<int> nodes = machine::node_by_thread(of, testing::threads_on(of, threads));
    std::vector<int> by_block;
    for (const int thread : touchers(nodes, 6))
      by_block.push_back(nodes.at(static_cast<std::size_t>(thread)));
    EXPECT_THAT(by_block, ElementsAre(0, 1, 0, 1, 0, 1)) << threads;
  }
  EXPECT_THAT(touchers(machine::node_by_thread(of, testing::threads_on(of, 32)), 2),
              ElementsAre(-1, -1));
}

}  // namespace cache_state_first_touch_test
}  // namespace layerbench::run
