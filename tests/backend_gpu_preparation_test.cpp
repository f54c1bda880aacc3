// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/cudnn/all_plans.hpp>
#include <layerbench/backend/reference/all_plans.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/training.hpp>
#include <layerbench/op/list.hpp>
#include <layerbench/session/benchmark_row.hpp>
#include <layerbench/session/planned_step.hpp>
#include <layerbench/topology/this_machine.hpp>

#include "support/host_cublas.hpp"
#include "support/host_cuda.hpp"
#include "support/host_cudnn.hpp"
#include "support/host_cudnn_graph.hpp"
#include "support/host_cudnn_images.hpp"
#include "support/host_kernels.hpp"

/// What the host does to prepare rows on a GPU, with stand-ins for NVIDIA's libraries: none of it
/// grows with the tensors.

namespace {

/// Bytes of memory that the host took in blocks that may be tensors, beside the stand-ins' work.
std::size_t taken_by_host = 0;
constexpr std::size_t least_tensor = 4096;

}  // namespace

// GCC warns of a mismatch where it inlines one of them alone.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (bytes >= least_tensor && !host_gpu_works) taken_by_host += bytes;
  void* taken = std::malloc(bytes);  // NOLINT(cppcoreguidelines-no-malloc)
  if (taken == nullptr) throw std::bad_alloc();
  return taken;
}
[[gnu::noinline]] void operator delete(void* taken) noexcept {
  std::free(taken);
}  // NOLINT(cppcoreguidelines-no-malloc)
[[gnu::noinline]] void operator delete(void* taken, std::size_t /*bytes*/) noexcept {
  std::free(taken);  // NOLINT(cppcoreguidelines-no-malloc)
}

namespace layerbench {
namespace {

using enum op::pass;

/// Operands in these orders, and nothing that computes.
struct memory_plan : gpu::tensor_plan {
  memory_plan(const cudnn::backend& device, op::operand operand, const std::string& order)
      : tensor_plan(device, {std::move(operand)}, std::vector{order}) {}
  [[nodiscard]] std::string algorithm() const override { return "none"; }
  [[nodiscard]] std::unique_ptr<run::bound_plan> bound_to(std::span<const address> /*operands*/,
                                                          address /*scratch*/) const override {
    return nullptr;
  }
};

/// The bytes of the operand as `write(address)` leaves them.
template <class Write>
std::vector<char> memory_after(const memory_plan& plan, const Write& write) {
  std::vector<char> bytes(plan.operands().front().bytes + 1, 'x');  // one more: it stays
  write(bytes.data());
  return bytes;
}

TEST(TestData, OnTheGpuHasTheBitsOfTheHosts) {
  const cudnn::backend device(1);
  const std::vector<std::pair<dims, std::string>> shapes{{{1}, "a"},
                                                         {{5000}, "a"},
                                                         {{7, 300}, "ba"},
                                                         {{3, 5, 7, 4}, "abcd"},
                                                         {{3, 5, 7, 4}, "acdb"},
                                                         {{3, 5, 1, 4}, "dcba"},
                                                         {{2, 1, 9}, "cab"},
                                                         {{2, 3, 2, 3, 2, 3}, "fbdace"}};
  const std::vector<std::pair<double, double>> ranges{
      {-1, 1}, {0, 1}, {0.5, 3}, {-6, 6}, {0, 999}, {-1e-7, 1e-7}, {-3e-40, 1e-39}, {-1e6, 1e6}};
  for (const dtype type :
       {dtype::f32, dtype::tf32, dtype::bf16, dtype::f16, dtype::f8_e4m3, dtype::s8}) {
    for (const auto& [extents, order] : shapes) {
      for (const auto& [low, high] : ranges) {
        for (const bool integral : {false, true}) {
          if (integral && type == dtype::s8) continue;  // no op has such an operand
          op::operand operand{"src", extents, op::role::source, type, low, high};
          operand.integral = integral;
          operand.is_index = integral && high > 1;
          const memory_plan plan(device, operand, order);
          for (const std::uint64_t seed : {0U, 1U, 77U}) {
            const run::test_data data(operand, seed);
            const auto expected =
                memory_after(plan, [&](void* to) { plan.upload(0, run::random_values(data), to); });
            const auto drawn = memory_after(plan, [&](void* to) { plan.draw(0, data, to); });
            ASSERT_TRUE(expected == drawn)
                << fmt::format("{} {} [{}, {}] {}", name(type), order, low, high, integral);
          }
        }
      }
    }
  }
}

TEST(TestData, IsRoundedToTheTypeOfTheMemory) {
  const cudnn::backend device(1);
  const run::test_data fine({"src", {1000}, op::role::source, dtype::f32, -1, 1}, 1);
  for (const dtype type : {dtype::bf16, dtype::f16, dtype::f8_e4m3}) {
    const memory_plan plan(device, {"src", {1000}, op::role::source, type}, "a");
    EXPECT_TRUE(memory_after(plan, [&](void* to) { plan.draw(0, fine, to); }) ==
                memory_after(plan, [&](void* to) { plan.upload(0, run::random_values(fine), to); }))
        << name(type);
  }
}

TEST(NonFinite, ElementsAreFoundByTheirRowMajorIndex) {
  const cudnn::backend device(1);
  const dims extents{3, 5, 7, 4};
  for (const dtype type : {dtype::f32, dtype::bf16, dtype::f16, dtype::f8_e4m3}) {
    for (const std::string order : {"abcd", "acdb", "dcba"}) {
      const memory_plan plan(device, {"dst", extents, op::role::destination, type}, order);
      std::vector<float> values(static_cast<std::size_t>(elements(extents)), 1.0F);
      std::vector<char> memory(plan.operands().front().bytes);
      plan.upload(0, values, memory.data());
      EXPECT_EQ(plan.first_non_finite(0, memory.data()), std::nullopt) << name(type);
      values[300] = values[417] = std::numeric_limits<float>::quiet_NaN();
      plan.upload(0, values, memory.data());
      EXPECT_EQ(plan.first_non_finite(0, memory.data()), 300) << name(type) << ' ' << order;
      if (type != dtype::f8_e4m3) {  // it has no infinity
        values[77] = -std::numeric_limits<float>::infinity();
        plan.upload(0, values, memory.data());
        EXPECT_EQ(plan.first_non_finite(0, memory.data()), 77) << name(type) << ' ' << order;
      }
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 13);
      plan.upload(0, values, memory.data());
      EXPECT_THAT(plan.gather(0, memory.data(), std::vector<std::int64_t>{0, 418, 77}),
                  ::testing::ElementsAre(0, 418 % 13, 77 % 13));
      std::memset(memory.data(), 0xFF, memory.size());
      EXPECT_EQ(plan.first_non_finite(0, memory.data()), 0) << "all of it is poison";
    }
  }
}

/// What the host did: bytes between host and GPU, and bytes of its own memory.
struct host_work {
  std::size_t copied = host_copied_bytes;
  std::size_t taken = taken_by_host;

  [[nodiscard]] host_work since() const {
    return {host_copied_bytes - copied, taken_by_host - taken};
  }
  bool operator==(const host_work&) const = default;
};

class Preparation : public ::testing::Test {
 protected:
  std::shared_ptr<run::device_context> context_ = std::make_shared<run::device_context>(
      run::entry_of<cudnn::backend>(op::builtin{}).make_device(1));

  /// The memory that cases share; it is drawn once.
  Preparation() {
    constexpr std::size_t enough = std::size_t{40} << 20U;
    for (const run::buffer_kind kind : run::shared_buffer_kinds) {
      for (const bool hot : {false, true}) static_cast<void>(context_->memory(kind, enough, hot));
    }
  }

  [[nodiscard]] std::unique_ptr<run::benchmark_row> row_of(const op::any& op, op::pass pass,
                                                           dtype type) const {
    static const run::registry all = run::registry_of<cudnn::backend>(op::builtin{});
    return std::make_unique<run::benchmark_row>(
        run::row_spec{.name = {},
                      .op = op,
                      .request = {.pass = pass, .type = type},
                      .signature = {},
                      .expected = all.oracle.of(op, pass)},
        context_);
  }
  host_work work_of(const op::any& op, op::pass pass, dtype type, std::uint64_t seed = 1) {
    const auto row = row_of(op, pass, type);
    const host_work before;
    row->prepare({.seed = seed});
    return before.since();
  }
};

/// Ops of a convolutional network, with images and their gradients much larger than a sample.
std::vector<op::any> ops_of_network(std::int64_t n) {
  return {
      op::any(
          op::conv{.n = n, .c = 8, .h = 16, .w = 16, .k = 8, .r = 3, .s = 3, .pad = {1, 1, 1, 1}}),
      op::any(op::batchnorm{.n = n, .c = 8, .h = 16, .w = 16}),
      op::any(op::activation{.dims = {n, 8, 16, 16}}),
      op::any(op::pool{.n = n, .c = 8, .h = 16, .w = 16, .r = 2, .s = 2, .stride = {2, 2}}),
      op::any(op::lrn{n, 8, 16, 16, 5}),
      op::any(op::add{.dims = {n, 8, 16, 16}}),
      op::any(op::dropout{.dims = {n, 8, 16, 16}}),
      op::any(op::gemm{.m = 64 * n, .n = 64, .k = 64}),
      op::any(op::softmax{.dims = {64 * n, 64}}),
      op::any(op::cross_entropy{64 * n, 64}),
  };
}

TEST_F(Preparation, OfARowIsNoMoreWorkForTheHostInALargerBatch) {
  const std::vector<op::any> small = ops_of_network(2);
  const std::vector<op::any> large = ops_of_network(8);
  for (std::size_t i = 0; i < small.size(); ++i) {
    for (const op::pass pass : small[i].passes()) {
      for (const dtype type : {dtype::f32, dtype::bf16}) {
        if (small[i].name() == "gemm" && pass == bwd) continue;  // no plan on GPUs
        SCOPED_TRACE(fmt::format("{} {} {}", small[i].key(), name(pass), name(type)));
        work_of(small[i], pass, type, 2);  // compiles kernels
        const host_work few = work_of(small[i], pass, type);
        const host_work many = work_of(large[i], pass, type);
        EXPECT_EQ(few.copied, many.copied);
        EXPECT_EQ(few.taken, many.taken);
        EXPECT_GT(few.copied, 0U) << "a sample is compared";
      }
    }
  }
}

/// What the host does to make a chain of training steps, and the bytes of the chain.
struct chain_work {
  host_work host;
  std::size_t bytes;
};
chain_work work_of_chain(const std::shared_ptr<run::device_context>& context,
                         const std::string& model, std::int64_t batch, dtype type) {
  const model::graph graph = model::load(model::find(model, LAYERBENCH_SHAPES_DIR), batch);
  run::planned_step planned(model::step_of(graph, "training", type), {.type = type}, context, true);
  const host_work before;
  const std::size_t bytes = planned.make_chain(1)->bytes();
  return {before.since(), bytes};
}

TEST_F(Preparation, OfAChainIsNoMoreWorkForTheHostInALargerBatch) {
  for (const dtype type : {dtype::f32, dtype::bf16}) {
    work_of_chain(context_, "lenet5", 2, type);  // compiles kernels
    const host_work few = work_of_chain(context_, "lenet5", 2, type).host;
    const host_work many = work_of_chain(context_, "lenet5", 8, type).host;
    EXPECT_EQ(few.copied, many.copied) << name(type);
    EXPECT_EQ(few.taken, many.taken) << name(type);
  }
}

TEST_F(Preparation, OfAChainOfALargeModelIsNoWorkForTheHost) {
  constexpr std::size_t weights = 138'357'544;  // of VGG-16
  host_skips_work = true;
  for (const std::int64_t batch : {1, 128}) {
    const chain_work work = work_of_chain(context_, "vgg16", batch, dtype::bf16);
    EXPECT_GT(work.bytes, weights * sizeof(float));
    EXPECT_LT(work.host.copied, weights / 100) << batch;
    EXPECT_LT(work.host.taken, weights / 100) << batch;
  }
  host_skips_work = false;
}

TEST_F(Preparation, ComputesExactResultsOnAllProcessors) {
  const op::gemm product{.m = 8, .n = 32, .k = 20'000};
  const reference::exact_value right = reference::exact_value_of(product, fwd);
  std::mutex mutex;
  std::map<std::thread::id, int> threads;  // elements that each computed
  std::map<std::int64_t, int> elements;
  std::int64_t wrong = -1;
  std::int64_t thrown = -1;
  const reference::exact_value watched =
      [&](reference::tensors inputs) -> reference::exact_element {
    return [&, exact = right(inputs)](std::size_t output, std::int64_t i) {
      {
        const std::scoped_lock lock(mutex);
        ++threads[std::this_thread::get_id()];
        ++elements[i];
      }
      if (i == thrown) throw error("no such element");
      reference::sum result = exact(output, i);
      if (i == wrong) result.value += 1;
      return result;
    };
  };
  const auto verify = [&] {
    const plan_request request{.pass = fwd};
    run::verify(context_->device(), *context_->device().plan(op::any(product), request), watched, 1,
                false);
  };
  EXPECT_NO_THROW(verify());
  const std::size_t processors = machine::this_machine().processors().size();
  EXPECT_EQ(threads.size(), std::min<std::size_t>(processors, run::sampled_outputs));
  EXPECT_EQ(elements.size(), static_cast<std::size_t>(run::sampled_outputs));
  elements.erase(0);  // tells how many terms there are, too
  for (const auto& [i, times] : elements) EXPECT_EQ(times, 1) << i;
  const std::vector<std::pair<std::int64_t, int>> checked(elements.begin(), elements.end());
  for (const std::int64_t i : {checked[0].first, checked[1].first, checked.back().first}) {
    wrong = i;
    EXPECT_THROW(verify(), run::wrong_result) << i;
    wrong = -1;
    thrown = i;
    EXPECT_THROW(verify(), error) << i;
    thrown = -1;
  }
}

TEST_F(Preparation, AllowsForARoundingBeforeEachKernel) {
  run::compute_device& device = context_->device();
  const op::deconv o{.n = 1,
                     .c = 128,
                     .h = 8,
                     .w = 8,
                     .k = 8,
                     .r = 3,
                     .s = 3,
                     .bias = true,
                     .post = {op::post_op::add}};
  const auto plan = device.plan(op::any(o), {.type = dtype::bf16});
  EXPECT_TRUE(plan->algorithm().ends_with("+layerbench:post_ops"));
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_NO_THROW(run::verify(device, *plan, reference::exact_value_of(o, fwd), seed, true));
  }
}

TEST_F(Preparation, FindsSmallErrorsBehindAFunctionOfLargeSums) {
  run::compute_device& device = context_->device();
  for (const auto& [kind, wrong] :
       {std::pair{op::activation_kind::relu6, 0.1}, {op::activation_kind::tanh, 0.03}}) {
    const op::gemm o{.m = 16, .n = 16, .k = 4096, .post = {op::post_op_of(kind)}};
    const auto plan = device.plan(op::any(o), {.type = dtype::bf16});
    const auto error_of = [&](double shift) -> reference::exact_value {
      return [&o, shift](reference::tensors inputs) -> reference::exact_element {
        return [exact = reference::evaluate(o, fwd, inputs), shift](std::size_t output,
                                                                    std::int64_t i) {
          reference::sum result = exact(output, i);
          result.value += shift;
          return result;
        };
      };
    };
    EXPECT_NO_THROW(run::verify(device, *plan, error_of(0), 1, true)) << name(kind);
    EXPECT_THROW(run::verify(device, *plan, error_of(wrong), 1, true), run::wrong_result)
        << name(kind);
  }
}

TEST_F(Preparation, VerifiesAPlanOnceForAllItsRows) {
  const op::any relu(op::activation{.dims = {2, 8, 16, 16}});
  EXPECT_GT(work_of(relu, fwd, dtype::f32).copied, 0U);
  EXPECT_EQ(work_of(relu, fwd, dtype::f32).copied, 0U) << "as in another cache state";
  EXPECT_GT(work_of(relu, fwd, dtype::bf16).copied, 0U);
  EXPECT_GT(work_of(relu, bwd, dtype::f32).copied, 0U);
  EXPECT_GT(work_of(relu, fwd, dtype::f32, 2).copied, 0U) << "other test data";
}

TEST(SharedMemory, OfAGpuIsDrawnOnceAndCopied) {
  run::device_context context(run::entry_of<cudnn::backend>(op::builtin{}).make_device(1));
  constexpr std::size_t drawn = std::size_t{16} << 20U;
  const auto copied_for = [&](std::size_t bytes) {
    const host_work before;
    static_cast<void>(context.constants(bytes));
    return before.since().copied;
  };
  const std::size_t first = copied_for(1000);
  EXPECT_LT(first, drawn / 2);
  EXPECT_EQ(first + copied_for(5 * drawn + 77), drawn);
  const auto words = [&](std::size_t place) {
    const auto* begin = static_cast<const std::byte*>(context.constants(1)) + place;
    return std::vector<std::byte>(begin, begin + 70);
  };
  const std::vector<std::byte> before = words(drawn - 35);
  EXPECT_EQ(copied_for(7 * drawn), 0U);
  EXPECT_EQ(words(drawn - 35), before);
  EXPECT_EQ(words(6 * drawn), words(0));
  EXPECT_NE(words(drawn / 2), words(0));
}

}  // namespace
}  // namespace layerbench
