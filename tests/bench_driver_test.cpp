// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "support/bench.hpp"

/// The programs with backends for NVIDIA GPUs, where no GPU can be used: the driver is missing, a
/// stub to link with, or too old.
namespace layerbench {
namespace bench_driver_test {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using testing::texts;

struct driver {
  std::string what;
  std::string file;    ///< that is found as the driver's library
  std::string status;  ///< of the run time
  std::string reason;
};

class NoGpu : public ::testing::TestWithParam<driver> {
 protected:
  testing::outcome bench(const std::string& program, const texts& arguments) {
    return directory_.bench(program, arguments, environment_);
  }

  /// With no other arguments.
  testing::outcome alone(const std::string& program, const texts& arguments) {
    return testing::bench(program, arguments, environment_);
  }

  testing::tiny_directory directory_;
  testing::temporary_directory library_;

 private:
  /// The driver before any that the machine has.
  testing::environment environment_ = [this] {
    std::filesystem::create_symlink(GetParam().file.empty()
                                        ? library_.write("text", "not a library").string()
                                        : GetParam().file,
                                    library_.path() / "libcuda.so.1");
    return testing::environment{{"LD_LIBRARY_PATH", library_.path().string()}};
  }();
};

TEST_P(NoGpu, IsExplained) {
  for (const std::string& program : testing::bench_programs) {
    const testing::outcome done = bench(program, {"--backends"});
    EXPECT_EQ(done.exit_code, 0) << done.err;
    const texts lines = testing::lines(done.out);
    for (const std::string name : {"cudnn", "cublas"}) {
      const auto line = AllOf(::testing::StartsWith(name), HasSubstr(" no: cudaGetDeviceCount: "),
                              HasSubstr(GetParam().status), HasSubstr(GetParam().reason));
      EXPECT_THAT(lines, ::testing::Contains(line));
    }
    EXPECT_THAT(done.out, ::testing::ContainsRegex(testing::usable_backend + " *available"));
  }
}

TEST_P(NoGpu, IsExplainedWhereGpusWouldSendEachOther) {
  const texts lines = testing::lines(alone("bench_allreduce", {"--backends"}).out);
  const auto reason = AllOf(HasSubstr(" no: cudaGetDeviceCount: "), HasSubstr(GetParam().status));
  const std::string unbuilt = " no: not part of this build; configure with -DLAYERBENCH_CUDA=ON";
  const bool built = LAYERBENCH_HAS_NCCL != 0;
  EXPECT_THAT(
      lines, ::testing::Contains(AllOf(::testing::StartsWith("nccl"),
                                       ::testing::Conditional(built, reason, HasSubstr(unbuilt)))));
  const testing::outcome asked = alone("bench_allreduce", {"--backend=nccl"});
  EXPECT_EQ(asked.exit_code, 77) << asked.err;
  EXPECT_THAT(asked.err, HasSubstr("nccl"));
}

TEST_P(NoGpu, RefusesItsBackendsAsUnavailable) {
  for (const std::string name : {"cudnn", "cublas"}) {
    const testing::outcome done = bench("bench_model", {"--backend=" + name});
    EXPECT_EQ(done.exit_code, 77) << done.err;
    EXPECT_EQ(done.out, "");
    EXPECT_THAT(done.err, AllOf(HasSubstr("backend " + name + " cannot run here"),
                                HasSubstr(GetParam().status), HasSubstr(GetParam().reason)));
  }
}

TEST_P(NoGpu, StillLetsRowsBeListed) {
  const testing::outcome done = bench("bench_model", {"--backend=cudnn,cublas", "--list"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("conv/fwd/cudnn/f32/tiny/conv1/batch:1/cache:model"),
                              HasSubstr("gemm/fwd/cublas/f32/tiny/fc1/batch:1/cache:model")));
  // What a training step consists of, its reorders, is the library's to say.
  const testing::outcome training =
      bench("bench_model", {"--backend=cudnn", "--phase=training", "--list"});
  EXPECT_EQ(training.exit_code, 77) << training.err;
  EXPECT_THAT(training.err, HasSubstr(GetParam().status));
}

TEST_P(NoGpu, LeavesTheOthersToRun) {
  const testing::outcome done = bench("bench_model", {});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("fwd/" + testing::usable_backend + "/f32/tiny/"),
                              HasSubstr("\nconv/conv1 ")));
  EXPECT_THAT(done.err, AllOf(ContainsRegex("cudnn[^\n]*cudaGetDeviceCount"),
                              ContainsRegex("cublas[^\n]*cudaGetDeviceCount")));
}

TEST_P(NoGpu, IsANoteInTheMachinesCheck) {
  const testing::outcome done = bench("bench_model", {"--check-machine"});
  EXPECT_THAT(done.exit_code, ::testing::AnyOf(0, 4)) << done.err;
  EXPECT_THAT(done.out, ::testing::ContainsRegex("note *cudnn *cannot run here"));
}

INSTANTIATE_TEST_SUITE_P(Driver, NoGpu,
                         ::testing::Values(driver{"missing", "", "cudaErrorInsufficientDriver (35)",
                                                  "no NVIDIA driver was found"},
                                           driver{"stub", LAYERBENCH_STUB_DRIVER,
                                                  "cudaErrorStubLibrary (34)", "is a stub library"},
                                           driver{"old", LAYERBENCH_OLD_DRIVER,
                                                  "cudaErrorInsufficientDriver (35)",
                                                  "the NVIDIA driver runs CUDA up to 11.4"}),
                         [](const auto& item) { return item.param.what; });

}  // namespace bench_driver_test
}  // namespace layerbench
