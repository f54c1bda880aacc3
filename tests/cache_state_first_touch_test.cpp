// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/backend/device.hpp>
#include <layerbench/cache_state/first_touch.hpp>

// Which thread touches memory first on a machine of two NUMA nodes.

namespace layerbench::run {
namespace cache_state_first_touch_test {

using ::testing::ElementsAre;

/// A device whose threads run one after the other, on two nodes. It notes who writes which page.
class touching_device final : public compute_device {
 public:
  static constexpr std::size_t page = 4096;
  touching_device(int threads, std::size_t pages)
      : compute_device(threads), memory_(pages * page + page), owners(pages, -1) {}
  /// Begins at a page, with a byte that is not 0 in each.
  std::byte* memory() {
    auto* at = reinterpret_cast<std::byte*>(
        (reinterpret_cast<std::uintptr_t>(memory_.data()) + page - 1) / page * page);
    for (std::size_t i = 0; i < owners.size(); ++i) at[i * page] = std::byte{1};
    return at;
  }
  [[nodiscard]] int memory_nodes() const override { return 2; }
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
  std::vector<std::byte> memory_;

 public:
  std::vector<int> owners;  ///< by page: the thread that wrote to it first
};

TEST(FirstTouch, OfATensorIsInEqualParts) {
  touching_device device(4, 8);
  touch_in_parts(device, {device.memory(), 8 * touching_device::page});
  EXPECT_THAT(device.owners, ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
}

TEST(FirstTouch, OfARingChangesTheNodeWithEachHugePage) {
  constexpr std::size_t block = 512;  // pages
  touching_device device(4, 5 * block);
  touch_in_turn(device, {device.memory(), 5 * block * touching_device::page});
  // Threads 0 and 1 are on one node, 2 and 3 on the other.
  std::vector<int> by_block;
  for (std::size_t i = 0; i < device.owners.size(); i += block) {
    by_block.push_back(device.owners[i]);
    EXPECT_EQ(device.owners[i + block - 1], device.owners[i]);
  }
  EXPECT_THAT(by_block, ElementsAre(0, 2, 1, 3, 0));
}
}  // namespace cache_state_first_touch_test
}  // namespace layerbench::run
