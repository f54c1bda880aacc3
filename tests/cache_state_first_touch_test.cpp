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

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/cache_state/first_touch.hpp>
#include <layerbench/topology/numa.hpp>
#include <layerbench/topology/topology.hpp>

#include "support/topologies.hpp"

// Which thread touches memory first on a machine of two NUMA nodes.

namespace layerbench::run {
namespace cache_state_first_touch_test {

using ::testing::ElementsAre;

/// A backend whose threads run one after the other, thread i on processor i of a machine with some
/// NUMA nodes. It notes who writes which page.
struct touching : reference::backend {
  static constexpr std::string_view name = "touching";
  static constexpr std::size_t page = 4096;
  using backend::backend;
  static inline machine::topology there = {};
  static inline std::vector<std::byte> memory = {};
  static inline std::vector<int> owners = {};  ///< by page: the thread that wrote to it first

  /// Of which thread i has node `nodes[i]`, and with `pages` pages of memory.
  static void reset(const std::vector<int>& nodes, std::size_t pages) {
    there = {};
    for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
      const int number = nodes[static_cast<std::size_t>(i)];
      there.cores.push_back({{i}});
      auto node = std::ranges::find(there.nodes, number, &machine::memory_node::number);
      if (node == there.nodes.end()) node = there.nodes.insert(node, {number, 0, {}});
      node->processors.push_back(i);
    }
    memory.resize(pages * page + page);
    owners.assign(pages, -1);
  }
  static run::backend_entry entry() {
    run::backend_entry own = backend::entry();
    own.threads_used = [](int offered) noexcept { return offered; };
    own.host = []() -> const machine::topology& { return there; };
    own.binding = [] {
      machine::thread_binding one_each{.order = machine::thread_order::close};
      for (const int i : there.processors()) one_each.places.push_back({i});
      return one_each;
    };
    return own;
  }
  /// Begins at a page, with a byte that is not 0 in each.
  static std::byte* pages() {
    auto* at = reinterpret_cast<std::byte*>(
        (reinterpret_cast<std::uintptr_t>(memory.data()) + page - 1) / page * page);
    for (std::size_t i = 0; i < owners.size(); ++i) at[i * page] = std::byte{1};
    return at;
  }
  void on_all_threads(const std::function<void(int)>& work) const override {
    std::byte* const at = pages();
    for (int thread = 0; thread < static_cast<int>(there.cores.size()); ++thread) {
      work(thread);
      for (std::size_t i = 0; i < owners.size(); ++i) {
        if (at[i * page] == std::byte{} && owners[i] < 0) owners[i] = thread;
      }
    }
  }
};

TEST(FirstTouch, OfATensorIsInEqualParts) {
  touching::reset({0, 0, 1, 1}, 8);
  backend_device<touching> device(4);
  touch_in_parts(device, {touching::pages(), 8 * touching::page});
  EXPECT_THAT(touching::owners, ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
}

/// The threads that touch the huge pages of a ring first.
std::vector<int> touchers(const std::vector<int>& nodes, std::size_t blocks) {
  constexpr std::size_t block = 512;  // pages
  touching::reset(nodes, blocks * block);
  backend_device<touching> device(static_cast<int>(nodes.size()));
  touch_in_turn(device, {touching::pages(), blocks * block * touching::page});
  std::vector<int> by_block;
  for (std::size_t i = 0; i < touching::owners.size(); i += block) {
    by_block.push_back(touching::owners[i]);
    EXPECT_EQ(touching::owners[i + block - 1], touching::owners[i]);
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
