// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/reference/all_plans.hpp>
#include <layerbench/cache_state/buffer_layout.hpp>
#include <layerbench/cache_state/call_setup.hpp>
#include <layerbench/op/activation.hpp>
#include <layerbench/op/conv.hpp>
#include <layerbench/topology/thread_binding.hpp>
#include <layerbench/topology/topology.hpp>

#include "support/topologies.hpp"

// How long rings are on machines that are not there.

/// A backend that has the caches of another machine.
struct layerbench_elsewhere : layerbench::reference::backend {
  static constexpr std::string_view name = "elsewhere";
  using backend::backend;
  static inline layerbench::machine::topology machine = {};
  static inline layerbench::machine::thread_binding places = {};
  static layerbench::run::backend_entry entry() {
    layerbench::run::backend_entry own = backend::entry();
    own.host = []() -> const layerbench::machine::topology& { return machine; };
    own.binding = [] { return places; };
    own.threads_used = [](int offered) noexcept { return offered; };
    return own;
  }
};
template <layerbench::op::operation Op>
class layerbench::plan<layerbench_elsewhere, Op> : public plan<reference::backend, Op> {
 public:
  using plan<reference::backend, Op>::plan;
};

namespace layerbench::run {
namespace cache_state_topology_test {

using machine::topology;
using testing::eight_caches;
using testing::from_file;
using testing::mib;
using testing::synthetic;
using testing::two_sockets;

/// A layout, and how its calls are set up.
struct layout_and_setup : buffer_layout {
  call_setup setup;
};

/// Those of a convolution with operands of 208 KiB on such a machine, with that many threads.
layout_and_setup layout_on(const topology& of, int threads, cache_state state,
                           std::int64_t footprint = 0,
                           std::optional<std::int64_t> shared_bytes = {}) {
  layerbench_elsewhere::machine = of;
  layerbench_elsewhere::places = testing::bound(of, {threads});
  backend_device<layerbench_elsewhere, op::conv, op::activation> device(threads);
  const op::conv conv{
      .n = 1, .c = 64, .h = 16, .w = 16, .k = 64, .r = 3, .s = 3, .pad = {1, 1, 1, 1}};
  const auto plan = device.plan(op::any(conv), {});
  const op_in_context what{.cache = state, .footprint = footprint, .shared_bytes = shared_bytes};
  buffer_layout layout = buffer_layout_of(device, *plan, what);
  const call_setup setup(device, layout, what);
  return {std::move(layout), setup};
}
std::int64_t ring_bytes(const buffer_layout& of) {
  return static_cast<std::int64_t>(of.slots * of.call_bytes);
}
/// Rings of cold calls, and of models that are larger than any cache, are four times `last` long;
/// private caches are evicted by four times theirs.
void expect_rings(const topology& of, int threads, std::int64_t last, std::int64_t private_bytes) {
  constexpr std::int64_t call = mib / 2;
  EXPECT_NEAR(static_cast<double>(ring_bytes(layout_on(of, threads, cache_state::cold))),
              static_cast<double>(4 * last), call);
  const layout_and_setup model = layout_on(of, threads, cache_state::model, std::int64_t{1} << 40);
  EXPECT_NEAR(static_cast<double>(ring_bytes(model)), static_cast<double>(4 * last), call);
  EXPECT_EQ(static_cast<std::int64_t>(model.setup.private_eviction_bytes), 4 * private_bytes);
}

TEST(Rings, WaitForAStepUnlessItsActivationsShareMemory) {
  const auto model = [](std::int64_t footprint, std::optional<std::int64_t> shared_bytes = {}) {
    return layout_on(two_sockets(), 1, cache_state::model, footprint, shared_bytes);
  };
  EXPECT_TRUE(model(40 * mib).setup.paced);
  EXPECT_FALSE(model(40 * mib, 20 * mib).setup.paced);
  EXPECT_FALSE(model(65 * mib).setup.paced) << "more than twice the LLC";
}

TEST(Rings, AreAsLongAsTheCachesOfTheThreadsOfTwoSockets) {
  const topology of = two_sockets();
  expect_rings(of, 1, 32 * mib, mib);
  expect_rings(of, 8, 32 * mib, 8 * mib);
  expect_rings(of, 9, 64 * mib, 9 * mib);
  expect_rings(of, 32, 128 * mib, 32 * mib);
  expect_rings(of, 64, 256 * mib, 64 * mib);
  expect_rings(of, 128, 256 * mib, 64 * mib);  // siblings share the private caches
}

TEST(Rings, AreAsLongAsEightCachesOfOneSocket) {
  const topology of = synthetic(eight_caches);
  expect_rings(of, 1, 32 * mib, mib);
  expect_rings(of, 64, 256 * mib, 64 * mib);
  EXPECT_EQ(openmp_places(of, processors_in_order(of, of.processors(), {})), "cores");
}

TEST(Rings, OfOneThreadAreOneOfTwoSmallCaches) {
  const topology of =
      synthetic("pack:1 l3:2(size=4194304) l2:2(size=524288) l1d:1(size=32768) core:1 pu:1");
  expect_rings(of, 1, 4 * mib, mib / 2);
  expect_rings(of, 2, 4 * mib, mib);
  expect_rings(of, 3, 8 * mib, 3 * mib / 2);
}
TEST(Rings, OfHybridCoresCountACacheOfSeveralCoresOnce) {
  const topology of = from_file("core_i7_12700");
  expect_rings(of, 8, 25 * mib, 10 * mib);
  expect_rings(of, 12, 25 * mib, 12 * mib);
  expect_rings(of, 20, 25 * mib, 12 * mib);
}

TEST(Rings, OfServersAreAsLongAsTheCachesOfTheirThreads) {
  expect_rings(from_file("epyc_7543_two_sockets"), 4, 32 * mib, 2 * mib);
  expect_rings(from_file("epyc_7543_two_sockets"), 64, 512 * mib, 32 * mib);
  expect_rings(from_file("xeon_max_9462_two_sockets"), 32, 75 * mib, 64 * mib);
}

TEST(Rings, OfOneCoreAndOfACpusetAreThoseOfTheirCaches) {
  expect_rings(
      synthetic("pack:1 l3:1(size=8388608) l2:1(size=262144) l1d:1(size=32768) core:1 pu:1"), 1,
      8 * mib, mib / 4);
  const topology cpuset = synthetic(eight_caches, {7, 8, 9});
  expect_rings(cpuset, 2, 32 * mib, 2 * mib);
  expect_rings(cpuset, 3, 64 * mib, 3 * mib);
}

TEST(Rings, OfAModelAreAsLongAsItsStepUpToFourTimesTheCaches) {
  // Eight caches of 32 MB keep parts of 400 MB, one does not.
  constexpr std::int64_t step = 400 * mib;
  const topology of = synthetic(eight_caches);
  const layout_and_setup all = layout_on(of, 64, cache_state::model, step);
  EXPECT_TRUE(all.setup.paced);
  EXPECT_NEAR(static_cast<double>(ring_bytes(all)), static_cast<double>(step), mib / 2);
  EXPECT_FALSE(layout_on(of, 1, cache_state::model, step).setup.paced);
}

}  // namespace cache_state_topology_test
}  // namespace layerbench::run
