// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/nccl/all_plans.hpp>
#include <layerbench/backend/nccl/allreducer.hpp>
#include <layerbench/backend/reference/collective.hpp>
#include <layerbench/session/verify.hpp>

#include "support/host_cuda.hpp"
#include "support/host_kernels.hpp"
#include "support/nccl_calls.hpp"

/// Collectives through NCCL against the reference formula, on a stand-in for the library between
/// any number of GPUs whose memory is this program's. This program links none of the libraries.

struct ncclComm {
  int rank;
};

namespace {

using namespace nccl_calls;

calls group;
bool group_is_open = false;
/// Calls without a group, and the stream of the latest.
int single_calls = 0;
cudaStream_t stream_of_single_call = nullptr;
/// Whether the next call fails, and the number of the GPU that has no memory.
bool call_fails = false;
int full_gpu = -1;
/// Memory of ncclMemAlloc, and that which a communicator knows, by first address.
blocks_of_memory allocated;
blocks_of_memory registered;
/// Calls whose arrays were registered, and whose were not.
int calls_in_registered = 0;
int calls_in_others = 0;

/// A copy of what the calls of the group read, so that all read before one writes.
std::vector<char> read(const asked& item, std::size_t blocks = 1) {
  const auto* first = static_cast<const char*>(item.from);
  return {first, first + blocks * bytes_of(item)};
}
void write(const asked& item, const std::vector<char>& bytes, std::size_t first = 0) {
  std::memcpy(static_cast<char*>(item.to) + first, bytes.data(), bytes.size());
}

template <class T>
std::vector<char> sum(const calls& of, std::size_t blocks) {
  std::vector<float> sums(blocks * of.front().count);
  for (const asked& item : of) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] += static_cast<float>(static_cast<const T*>(item.from)[i]);
    }
  }
  std::vector<char> result(sums.size() * sizeof(T));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const T rounded = static_cast<T>(sums[i]);
    std::memcpy(&result[i * sizeof(T)], &rounded, sizeof(T));
  }
  return result;
}
/// The sum of the arrays of all ranks.
std::vector<char> sum(const calls& of, std::size_t blocks = 1) {
  if (of.front().type == ncclFloat16) return sum<layerbench::f16>(of, blocks);
  if (of.front().type == ncclBfloat16) return sum<layerbench::bf16>(of, blocks);
  EXPECT_EQ(of.front().type, ncclFloat32) << "NCCL has more, which no plan uses";
  return sum<float>(of, blocks);
}

/// What the calls of a kind do. A rank has one, but for a send and a receive for each of its peers.
void finish(const calls& of) {
  const auto ranks = static_cast<std::size_t>(host_gpus);
  const std::size_t bytes = bytes_of(of.front());
  std::vector<std::vector<char>> sources;
  switch (of.front().what) {
    case call::all_reduce: {
      const std::vector<char> all = sum(of);
      for (const asked& item : of) write(item, all);
      return;
    }
    case call::reduce_scatter: {
      const std::vector<char> all = sum(of, ranks);
      for (const asked& item : of) {
        const auto block = all.begin() + item.comm->rank * static_cast<std::ptrdiff_t>(bytes);
        write(item, {block, block + static_cast<std::ptrdiff_t>(bytes)});
      }
      return;
    }
    case call::all_gather:
      for (const asked& item : of) sources.push_back(read(item));
      for (const asked& item : of) {
        for (std::size_t rank = 0; rank < ranks; ++rank) write(item, sources[rank], rank * bytes);
      }
      return;
    case call::broadcast: {
      const std::vector<char> root = read(of[static_cast<std::size_t>(of.front().peer)]);
      for (const asked& item : of) write(item, root);
      return;
    }
    case call::send:
    case call::receive: {
      std::map<std::pair<int, int>, std::vector<char>> sent;
      for (const asked& item : of) {
        if (item.what == call::send) sent[{item.comm->rank, item.peer}] = read(item);
      }
      for (const asked& item : of) {
        if (item.what == call::receive) write(item, sent.at({item.peer, item.comm->rank}));
      }
    }
  }
}

/// NCCL's condition on arrays that overlap: they are in place as its manual has it.
void expect_no_overlap_but_in_place(const asked& item) {
  const auto ranks = static_cast<std::ptrdiff_t>(host_gpus);
  const auto block = static_cast<std::ptrdiff_t>(bytes_of(item));
  const auto* from = static_cast<const char*>(item.from);
  const auto* to = static_cast<const char*>(item.to);
  const auto* from_end = from + block * (item.what == call::reduce_scatter ? ranks : 1);
  const auto* to_end = to + block * (item.what == call::all_gather ? ranks : 1);
  if (from_end <= to || to_end <= from) return;
  const std::ptrdiff_t own = item.comm->rank * block;
  EXPECT_EQ(to - from, item.what == call::reduce_scatter ? own
                       : item.what == call::all_gather   ? -own
                                                         : 0);
}

}  // namespace

ncclResult_t nccl_calls::enqueue(const asked& item) {
  if (std::exchange(call_fails, false)) return ncclSystemError;
  EXPECT_GT(item.count, 0U);
  EXPECT_EQ(item.op, ncclSum);
  for (const void* array : {item.from, static_cast<const void*>(item.to)}) {
    if (array != nullptr) ++(has(registered, array) ? calls_in_registered : calls_in_others);
  }
  if (item.from != nullptr && item.to != nullptr) expect_no_overlap_but_in_place(item);
  if (!group_is_open) {
    ++single_calls;
    stream_of_single_call = item.stream;
    return host_enqueue([item] { finish({item}); }) == cudaSuccess ? ncclSuccess : ncclSystemError;
  }
  if (!group.empty()) {
    EXPECT_EQ(item.count, group.front().count);
    EXPECT_EQ(item.type, group.front().type);
  }
  group.push_back(item);
  return ncclSuccess;
}

extern "C" {

const char* ncclGetErrorString(ncclResult_t /*result*/) { return ""; }
ncclResult_t ncclCommInitAll(ncclComm_t* result, int count, const int* /*devices*/) {
  for (int i = 0; i < count; ++i) result[i] = new ncclComm{i};
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t /*comm*/, ncclResult_t* status) {
  *status = ncclSuccess;
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() {
  EXPECT_FALSE(std::exchange(group_is_open, true)) << "calls would wait for its end";
  group.clear();
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  group_is_open = false;
  if (group.empty()) return ncclSuccess;
  std::map<std::tuple<call, int, int>, int> calls;
  for (const asked& item : group) ++calls[{item.what, item.comm->rank, item.peer}];
  const call what = group.front().what;
  const bool pairs = what == call::send || what == call::receive;
  const auto gpus = static_cast<std::size_t>(host_gpus);
  EXPECT_EQ(calls.size(), pairs ? 2 * gpus * gpus : gpus) << "each GPU, and each pair of them";
  EXPECT_EQ(group.size(), calls.size()) << "once";
  host_enqueue([work = group] { finish(work); });
  return ncclSuccess;
}
ncclResult_t ncclMemAlloc(void** result, std::size_t bytes) {
  if (host_gpu == full_gpu || cudaMalloc(result, bytes) != cudaSuccess) return ncclSystemError;
  allocated[static_cast<const char*>(*result)] = bytes;
  return ncclSuccess;
}
ncclResult_t ncclMemFree(void* memory) {
  EXPECT_FALSE(has(registered, memory));
  EXPECT_EQ(allocated.erase(static_cast<const char*>(memory)), 1U);
  static_cast<void>(cudaFree(memory));
  return ncclSuccess;
}
ncclResult_t ncclCommRegister(const ncclComm_t comm, void* memory, std::size_t bytes,
                              void** handle) {
  EXPECT_EQ(comm->rank, host_gpu) << "each GPU's memory with its own communicator";
  EXPECT_EQ(allocated.at(static_cast<const char*>(memory)), bytes);
  registered[static_cast<const char*>(memory)] = bytes;
  *handle = memory;
  return ncclSuccess;
}
ncclResult_t ncclCommDeregister(const ncclComm_t /*comm*/, void* handle) {
  EXPECT_EQ(registered.erase(static_cast<const char*>(handle)), 1U);
  return ncclSuccess;
}

}  // extern "C"

namespace layerbench {
namespace {

class Gpus : public ::testing::TestWithParam<int> {
 protected:
  Gpus() { host_gpus = GetParam(); }
};

using device = run::backend_device<nccl::backend, op::allreduce, op::collective>;

template <class Op>
void expect_agreement(const Op& o, dtype type, const std::string& algorithm) {
  device gpus(1);
  const auto plan = gpus.plan(op::any(o), {.type = type});
  const auto expected = reference::exact_value_of(o, op::pass::fwd);
  EXPECT_NO_THROW(run::verify(gpus, *plan, expected, 1, true)) << algorithm << name(type);
  EXPECT_EQ(plan->algorithm(), algorithm);
}

TEST_P(Gpus, AgreeWithTheSerialSumInEveryElement) {
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16}) {
    for (const bool in_place : {false, true}) {
      expect_agreement(op::allreduce{4096, GetParam(), in_place}, type,
                       in_place ? "nccl:allreduce:in_place" : "nccl:allreduce");
    }
  }
}

TEST_P(Gpus, AgreeInEveryElementOfEveryCollective) {
  for (const dtype type :
       {dtype::f32, dtype::f16, dtype::bf16, dtype::s8, dtype::u8, dtype::f8_e4m3}) {
    for (const op::collective_kind kind :
         {op::collective_kind::all_gather, op::collective_kind::reduce_scatter,
          op::collective_kind::broadcast, op::collective_kind::all_to_all}) {
      for (const bool in_place : {false, true}) {
        const op::collective o{kind, 4100, GetParam(), in_place};
        const bool sums = kind == op::collective_kind::reduce_scatter;
        if (in_place && !op::collective::has_in_place(kind)) continue;
        if (sums && traits(type).bytes == 1) continue;
        expect_agreement(o, type,
                         fmt::format("nccl:{}{}", name(kind), in_place ? ":in_place" : ""));
      }
    }
  }
}

TEST_P(Gpus, ReplayTheirCallsAsOneGraphEach) {
  for (const op::collective_kind kind :
       {op::collective_kind::all_gather, op::collective_kind::reduce_scatter,
        op::collective_kind::broadcast, op::collective_kind::all_to_all}) {
    device gpus(1);
    gpus.set_timing(run::timing_mode::graph);
    const op::collective o{kind, 4100, GetParam()};
    const auto plan = gpus.plan(op::any(o), {});
    const int before = host_launches;
    EXPECT_NO_THROW(run::verify(gpus, *plan, reference::exact_value_of(o, op::pass::fwd), 1, true));
    EXPECT_GT(host_launches, before) << "also calls that are verified";
    const auto from = gpus.allocate(plan->operands()[0].bytes);
    const auto to = gpus.allocate(plan->operands()[1].bytes);
    const auto bound = plan->bound_to(std::vector<address>{from->data(), to->data()}, nullptr);
    const int verified = host_launches;
    bound->announce_calls(3);
    EXPECT_EQ(host_launches, verified) << "recorded before they are timed";
    for (int i = 0; i < 3; ++i) bound->run();
    EXPECT_EQ(host_launches, verified + GetParam());
  }
  EXPECT_EQ(host_graphs, 0);
}

/// Registers buffers while it lives.
struct registering {
  registering() { nccl::backend::register_buffers(); }
  registering(const registering&) = delete;
  registering& operator=(const registering&) = delete;
  ~registering() { nccl::backend::register_buffers(false); }
};

TEST_P(Gpus, RegisterTheirArraysWhereTheyAreToldTo) {
  const auto in_registered = [] { return std::pair(calls_in_registered > 0, calls_in_others > 0); };
  calls_in_registered = calls_in_others = 0;
  expect_agreement(op::allreduce{4096, GetParam()}, dtype::f32, "nccl:allreduce");
  EXPECT_EQ(in_registered(), std::pair(false, true));
  ::unsetenv("NCCL_SINGLE_PROC_MEM_REG_ENABLE");
  const registering all;
  calls_in_registered = calls_in_others = 0;
  expect_agreement(op::allreduce{4096, GetParam()}, dtype::f32, "nccl:allreduce:registered");
  EXPECT_STREQ(std::getenv("NCCL_SINGLE_PROC_MEM_REG_ENABLE"), "1") << "or NCCL copies";
  ::unsetenv("NCCL_SINGLE_PROC_MEM_REG_ENABLE");
  expect_agreement(op::collective{op::collective_kind::all_gather, 4096, GetParam(), true},
                   dtype::f32, "nccl:all_gather:in_place:registered");
  EXPECT_EQ(in_registered(), std::pair(true, false));
  EXPECT_TRUE(registered.empty());
  const nccl::backend gpus(1);
  nccl::buffer replaced = gpus.memory(64, 0);
  replaced = gpus.memory(128, 0);  // the stand-in checks that no registered memory is freed
  EXPECT_EQ(registered.size(), 1U);
  replaced = {};
  EXPECT_TRUE(registered.empty());
}

TEST_P(Gpus, AddUpAgainAfterACallThatFailed) {
  device gpus(1);
  const op::allreduce o{4096, GetParam()};
  const auto plan = gpus.plan(op::any(o), {});
  const auto expected = reference::exact_value_of(o, op::pass::fwd);
  call_fails = true;
  EXPECT_THROW(run::verify(gpus, *plan, expected, 1, true), api_error);
  EXPECT_FALSE(group_is_open);
  EXPECT_NO_THROW(run::verify(gpus, *plan, expected, 1, true));
}

/// Rows of all sizes and types are prepared before the first is timed.
TEST_P(Gpus, ShareTheArraysOfAllPlans) {
  const auto bytes_on_gpus = [] {
    std::size_t bytes = 0;
    for (const auto& [first, size] : host_gpu_blocks) bytes += size;
    return bytes;
  };
  device gpus(1);
  gpus.activate();  // makes the backend, which has memory itself
  const std::size_t before = bytes_on_gpus();
  std::vector<std::unique_ptr<run::any_plan>> plans;
  const auto add = [&](std::int64_t bytes, dtype type) {
    plans.push_back(gpus.plan(op::any(op::allreduce{bytes, GetParam()}), {.type = type}));
  };
  add(1024, dtype::f32);
  const auto from = gpus.allocate(1024);
  const auto to = gpus.allocate(1024);
  const auto bound =
      plans.front()->bound_to(std::vector<address>{from->data(), to->data()}, nullptr);
  bound->run();
  for (const dtype type : {dtype::f32, dtype::bf16, dtype::f16}) {
    for (const std::int64_t bytes : {512, 8192, 4096}) add(bytes, type);
  }
  const auto others = static_cast<std::size_t>(GetParam() - 1);
  EXPECT_EQ(bytes_on_gpus() - before, 2 * 1024 + others * 2 * 8192);
  bound->run();  // in the arrays that are there now
  const op::allreduce first{1024, GetParam()};
  EXPECT_NO_THROW(
      run::verify(gpus, *plans.front(), reference::exact_value_of(first, op::pass::fwd), 1, true));
}

TEST(TwoGpus, KeepTheFirstOneWhereTheOtherHasNoMemory) {
  host_gpus = 2;
  const registering all;
  device gpus(1);
  const op::allreduce small{1024, 2};
  const auto plan = gpus.plan(op::any(small), {});
  full_gpu = 1;
  EXPECT_THROW(static_cast<void>(gpus.plan(op::any(op::allreduce{4096, 2}), {})), api_error);
  EXPECT_EQ(host_gpu, 0);
  full_gpu = -1;
  EXPECT_NO_THROW(
      run::verify(gpus, *plan, reference::exact_value_of(small, op::pass::fwd), 1, true))
      << "its arrays were freed";
}

TEST(TwoGpus, AreRefusedWhereLaunchesWait) {
  host_gpus = 2;
  ::setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  EXPECT_TRUE(nccl::backend::probe().has_value());
  host_gpus = 1;
  EXPECT_FALSE(nccl::backend::probe().has_value());
  host_gpus = 2;
  ::setenv("CUDA_LAUNCH_BLOCKING", "0", 1);
  EXPECT_FALSE(nccl::backend::probe().has_value());
  ::unsetenv("CUDA_LAUNCH_BLOCKING");
}

TEST_P(Gpus, RefuseAnotherNumberOfRanksAndOtherTypes) {
  device gpus(1);
  const op::any more(op::allreduce{4096, GetParam() + 1});
  EXPECT_THROW(static_cast<void>(gpus.plan(more, {})), unsupported);
  const op::any same(op::allreduce{4096, GetParam()});
  EXPECT_THROW(static_cast<void>(gpus.plan(same, {.type = dtype::s8})), unsupported);
  const op::any scattered(op::collective{op::collective_kind::reduce_scatter, 4096, GetParam()});
  EXPECT_THROW(static_cast<void>(gpus.plan(scattered, {.type = dtype::u8})), unsupported);
}

TEST_P(Gpus, AreDescribed) {
  description facts;
  nccl::backend::describe(facts);
  EXPECT_EQ(facts["nccl_version"].value, "2.28.9");
  EXPECT_EQ(facts["nccl_ranks"].value, std::to_string(GetParam()));
}

/// The all-reducer of a rank that computes on the only GPU, and an array of it.
class Allreducer : public ::testing::Test {
 protected:
  Allreducer() { host_gpus = 1; }
  static nccl::communicator alone() {
    ncclComm_t raw = nullptr;
    EXPECT_EQ(ncclCommInitAll(&raw, 1, nullptr), ncclSuccess);
    return nccl::owned(raw);
  }
  void expect_stream(bool of_communication) const {
    EXPECT_EQ(stream_of_single_call, of_communication ? all_.communication() : computing_.get());
  }
  const op::collective bucket_ = op::allreduce{4096, 1, true}.as_collective();
  nccl::allreducer all_{alone()};
  cuda::stream computing_ = cuda::make_stream();
  cuda::buffer array_{4096};
};

TEST_F(Allreducer, RunsAmongTheCallsOfAStreamOrOverlapped) {
  using ::testing::ElementsAre;
  using ::testing::Pair;
  const auto communication = all_.communication();
  ASSERT_NE(communication, computing_.get());
  host_waits.clear();
  all_.enqueue(bucket_, dtype::bf16, array_.data(), array_.data(), computing_.get());
  expect_stream(false);
  EXPECT_THAT(host_waits, ::testing::IsEmpty());
  all_.enqueue_overlapped(bucket_, dtype::bf16, array_.data(), array_.data(), computing_.get());
  expect_stream(true);
  EXPECT_THAT(host_waits, ElementsAre(Pair(communication, computing_.get())))
      << "for the gradients";
  all_.join(computing_.get());
  EXPECT_THAT(host_waits, ElementsAre(Pair(communication, computing_.get()),
                                      Pair(computing_.get(), communication)))
      << "before the weights are updated";
  EXPECT_THROW(all_.enqueue(bucket_, dtype::s8, array_.data(), array_.data(), computing_.get()),
               unsupported);
}

TEST_F(Allreducer, IsRepeatedWithOneCallAhead) {
  nccl::repeated_allreduce repeated(all_, bucket_, dtype::f32);
  single_calls = 0;
  for (const int calls : {2, 3, 4}) {
    EXPECT_GE(repeated.next(), 0);
    EXPECT_EQ(single_calls, calls);
    expect_stream(true);
  }
  repeated.finish();
  EXPECT_EQ(single_calls, 4);
  EXPECT_GE(repeated.next(), 0);
  EXPECT_EQ(single_calls, 6) << "begins anew";
}

TEST_F(Allreducer, SaysWhetherTheGpuIsLost) {
  EXPECT_FALSE(all_.lasting_error().has_value());
  host_fault = cudaErrorIllegalAddress;
  EXPECT_TRUE(all_.lasting_error().has_value());
  host_fault = cudaSuccess;
}

INSTANTIATE_TEST_SUITE_P(Few, Gpus, ::testing::Values(1, 2, 4));

}  // namespace
}  // namespace layerbench
