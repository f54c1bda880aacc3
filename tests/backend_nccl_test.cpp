// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/nccl/plans.hpp>
#include <layerbench/backend/reference/collective.hpp>
#include <layerbench/session/verify.hpp>

#include "support/host_cuda.hpp"
#include "support/host_kernels.hpp"

/// Collectives through NCCL against the reference formula, on a stand-in for the library between
/// any number of GPUs whose memory is this program's. This program links none of the libraries.

struct ncclComm {
  int rank;
};

namespace {

enum class call { all_reduce, all_gather, reduce_scatter, broadcast, send, receive };

struct asked {
  call what;
  const void* from;
  void* to;
  std::size_t count;
  ncclDataType_t type;
  int rank;
  int peer = 0;
};
std::vector<asked> group;

std::size_t bytes_of(ncclDataType_t type) {
  return type == ncclFloat32 ? 4 : type == ncclUint8 ? 1 : 2;
}

/// A copy of what the calls of the group read, so that all read before one writes.
std::vector<char> read(const asked& item, std::size_t blocks = 1) {
  const auto* first = static_cast<const char*>(item.from);
  return {first, first + blocks * item.count * bytes_of(item.type)};
}
void write(const asked& item, const std::vector<char>& bytes, std::size_t first = 0) {
  std::memcpy(static_cast<char*>(item.to) + first, bytes.data(), bytes.size());
}

template <class T>
std::vector<char> sum(std::size_t blocks) {
  std::vector<float> sums(blocks * group.front().count);
  for (const asked& item : group) {
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
std::vector<char> sum(std::size_t blocks = 1) {
  if (group.front().type == ncclFloat16) return sum<layerbench::f16>(blocks);
  if (group.front().type == ncclBfloat16) return sum<layerbench::bf16>(blocks);
  EXPECT_EQ(group.front().type, ncclFloat32) << "NCCL has more, which no plan uses";
  return sum<float>(blocks);
}

/// What the calls of a kind do. A rank has one, but for a send and a receive for each of its peers.
void finish() {
  const auto ranks = static_cast<std::size_t>(host_gpus);
  const std::size_t bytes = group.front().count * bytes_of(group.front().type);
  std::vector<std::vector<char>> sources;
  switch (group.front().what) {
    case call::all_reduce: {
      const std::vector<char> all = sum();
      for (const asked& item : group) write(item, all);
      return;
    }
    case call::reduce_scatter: {
      const std::vector<char> all = sum(ranks);
      for (const asked& item : group) {
        const auto block = all.begin() + item.rank * static_cast<std::ptrdiff_t>(bytes);
        write(item, {block, block + static_cast<std::ptrdiff_t>(bytes)});
      }
      return;
    }
    case call::all_gather:
      for (const asked& item : group) sources.push_back(read(item));
      for (const asked& item : group) {
        for (std::size_t rank = 0; rank < ranks; ++rank) write(item, sources[rank], rank * bytes);
      }
      return;
    case call::broadcast: {
      const std::vector<char> root = read(group.front());
      for (const asked& item : group) write(item, root);
      return;
    }
    case call::send:
    case call::receive: {
      std::map<std::pair<int, int>, std::vector<char>> sent;
      for (const asked& item : group) {
        if (item.what == call::send) sent[{item.rank, item.peer}] = read(item);
      }
      for (const asked& item : group) {
        if (item.what == call::receive) write(item, sent.at({item.peer, item.rank}));
      }
    }
  }
}

/// NCCL's condition on arrays that overlap: they are in place as its manual has it.
void expect_no_overlap_but_in_place(const asked& item) {
  const auto ranks = static_cast<std::ptrdiff_t>(host_gpus);
  const auto block = static_cast<std::ptrdiff_t>(item.count * bytes_of(item.type));
  const auto* from = static_cast<const char*>(item.from);
  const auto* to = static_cast<const char*>(item.to);
  const auto* from_end = from + block * (item.what == call::reduce_scatter ? ranks : 1);
  const auto* to_end = to + block * (item.what == call::all_gather ? ranks : 1);
  if (from_end <= to || to_end <= from) return;
  const std::ptrdiff_t own = item.rank * block;
  EXPECT_EQ(to - from, item.what == call::reduce_scatter ? own
                       : item.what == call::all_gather   ? -own
                                                         : 0);
}

ncclResult_t enqueue(const asked& item) {
  EXPECT_GT(item.count, 0U);
  if (item.from != nullptr && item.to != nullptr) expect_no_overlap_but_in_place(item);
  if (!group.empty()) {
    EXPECT_EQ(item.count, group.front().count);
    EXPECT_EQ(item.type, group.front().type);
  }
  group.push_back(item);
  return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = 22809;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t /*result*/) { return ""; }
ncclResult_t ncclCommInitAll(ncclComm_t* result, int count, const int* /*devices*/) {
  for (int i = 0; i < count; ++i) result[i] = new ncclComm{i};
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() {
  group.clear();
  return ncclSuccess;
}
ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t /*stream*/) {
  EXPECT_EQ(op, ncclSum);
  return enqueue({call::all_reduce, from, to, count, type, comm->rank});
}
ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t /*stream*/) {
  EXPECT_EQ(op, ncclSum);
  return enqueue({call::reduce_scatter, from, to, count, type, comm->rank});
}
ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t /*stream*/) {
  return enqueue({call::all_gather, from, to, count, type, comm->rank});
}
ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t /*stream*/) {
  EXPECT_EQ(root, 0);
  return enqueue({call::broadcast, from, to, count, type, comm->rank});
}
ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t /*stream*/) {
  return enqueue({call::send, from, nullptr, count, type, comm->rank, peer});
}
ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t /*stream*/) {
  return enqueue({call::receive, nullptr, to, count, type, comm->rank, peer});
}
ncclResult_t ncclGroupEnd() {
  std::map<std::tuple<call, int, int>, int> calls;
  for (const asked& item : group) ++calls[{item.what, item.rank, item.peer}];
  const call what = group.front().what;
  const bool pairs = what == call::send || what == call::receive;
  const auto gpus = static_cast<std::size_t>(host_gpus);
  EXPECT_EQ(calls.size(), pairs ? 2 * gpus * gpus : gpus) << "each GPU, and each pair of them";
  EXPECT_EQ(group.size(), calls.size()) << "once";
  finish();
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
  EXPECT_EQ(facts["nccl_version"], "2.28.9");
  EXPECT_EQ(facts["nccl_ranks"], std::to_string(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Few, Gpus, ::testing::Values(1, 2, 4));

}  // namespace
}  // namespace layerbench
