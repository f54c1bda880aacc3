// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/nccl/plans.hpp>
#include <layerbench/backend/reference/collective.hpp>
#include <layerbench/session/verify.hpp>

#include "support/host_cuda.hpp"
#include "support/host_kernels.hpp"

/// All-reduces through NCCL against the reference formula, on a stand-in for the library between
/// any number of GPUs whose memory is this program's. This program links none of the libraries.

struct ncclComm {
  int rank;
};

namespace {

struct asked {
  const void* from;
  void* to;
  std::size_t count;
  ncclDataType_t type;
  int rank;
};
std::vector<asked> group;

template <class T>
void reduce() {
  std::vector<T> sums(group.front().count);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    float sum = 0;
    for (const asked& element : group) {
      sum += static_cast<float>(static_cast<const T*>(element.from)[i]);
    }
    sums[i] = static_cast<T>(sum);
  }
  for (const asked& item : group) {
    EXPECT_EQ(item.count, sums.size());
    std::memcpy(item.to, sums.data(), sums.size() * sizeof(T));
  }
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
  group.push_back({from, to, count, type, comm->rank});
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  std::set<int> ranks;
  for (const asked& item : group) ranks.insert(item.rank);
  EXPECT_EQ(ranks.size(), static_cast<std::size_t>(host_gpus)) << "each GPU once";
  EXPECT_EQ(group.size(), ranks.size());
  if (group.front().type == ncclFloat32) reduce<float>();
  if (group.front().type == ncclFloat16) reduce<layerbench::f16>();
  if (group.front().type == ncclBfloat16) reduce<layerbench::bf16>();
  return ncclSuccess;
}

}  // extern "C"

namespace layerbench {
namespace {

class Gpus : public ::testing::TestWithParam<int> {
 protected:
  Gpus() { host_gpus = GetParam(); }
};

TEST_P(Gpus, AgreeWithTheSerialSumInEveryElement) {
  run::backend_device<nccl::backend, op::allreduce> device(1);
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16}) {
    for (const bool in_place : {false, true}) {
      const op::allreduce o{4096, GetParam(), in_place};
      const auto plan = device.plan(op::any(o), {.type = type});
      const auto expected = reference::exact_value_of(o, op::pass::fwd);
      EXPECT_NO_THROW(run::verify(device, *plan, expected, 1, true)) << name(type) << in_place;
      EXPECT_EQ(plan->algorithm(), in_place ? "nccl:allreduce:in_place" : "nccl:allreduce");
    }
  }
}

TEST_P(Gpus, RefuseAnotherNumberOfRanksAndOtherTypes) {
  run::backend_device<nccl::backend, op::allreduce> device(1);
  const op::any more(op::allreduce{4096, GetParam() + 1});
  EXPECT_THROW(static_cast<void>(device.plan(more, {})), unsupported);
  const op::any same(op::allreduce{4096, GetParam()});
  EXPECT_THROW(static_cast<void>(device.plan(same, {.type = dtype::s8})), unsupported);
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
