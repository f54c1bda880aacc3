// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/backend/cuda/nvrtc.hpp>
#include <layerbench/backend/kernels/gpu/runtime.hpp>

/// What the compiler that GPUs' kernels are made with says of them; it needs no GPU.
namespace layerbench {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

/// All kernels, and those that plans ask for among them.
std::vector<std::string> kernel_names() {
  const std::string all = gpu::program_of("", "");
  const std::regex name("extern \"C\" __global__ void (\\w+)\\(");
  std::vector<std::string> found;
  for (std::sregex_iterator sregex_iterator(all.begin(), all.end(), name), end;
       sregex_iterator != end; ++sregex_iterator) {
    found.push_back((*sregex_iterator)[1].str());
  }
  return found;
}

class Nvrtc : public ::testing::TestWithParam<dtype> {
 protected:
  const std::string program_ = gpu::program_of(cuda::prelude, gpu::number_source(GetParam()));
};

TEST_P(Nvrtc, CompilesAllKernelsForEachKindOfGpu) {
  EXPECT_THAT(kernel_names(), ::testing::SizeIs(::testing::Ge(14U)));
  for (const int capability : {80, 90, 100}) {
    const std::string code = cuda::compiled(program_, capability);
    EXPECT_TRUE(
        code.starts_with("\x7F"
                         "ELF"));
    for (const std::string& name : kernel_names()) {
      EXPECT_THAT(code, HasSubstr(".text." + name + '\0')) << capability;
    }
  }
}

/// The instructions of a kernel in PTX.
std::string body_of(const std::string& kernel, const std::string& code) {
  const std::size_t begin = code.find(".visible .entry " + kernel + "(");
  EXPECT_NE(begin, std::string::npos) << kernel;
  return code.substr(begin, code.find(".visible .entry", begin + 1) - begin);
}

std::ptrdiff_t count(const std::string& text, const std::regex& instruction) {
  return std::distance(std::sregex_iterator(text.begin(), text.end(), instruction),
                       std::sregex_iterator());
}

TEST_P(Nvrtc, LoadsAndStoresSixteenBytesAtOnce) {
  const std::string code = cuda::compiled(program_, 1000);  // later than any that it knows
  const std::regex load("ld[.]global(?:[.]nc)?[.]v4[.][ufb]32");
  const std::regex store("st[.]global[.]v4[.][ufb]32");
  // What a thread loads and stores at a time, in 16 bytes: loops are unrolled, so that there are
  // several times as many of both. Weights in f32 are twice as many bytes as gradients in 16 bits.
  const bool half = GetParam() != dtype::f32;
  struct groups {
    const char* kernel;
    int loads, stores;
  };
  for (const auto& [name, loads, stores] : {groups{"copy", 1, 1},
                                            {"update_sgd", half ? 3 : 2, half ? 3 : 1},
                                            {"update_momentum", half ? 5 : 3, half ? 5 : 2},
                                            {"update_adam", half ? 7 : 4, half ? 7 : 3},
                                            {"update_accumulate", 2, 1},
                                            {"add", 2, 1},
                                            {"activation", 1, 1},
                                            {"dropout", 1, 1},
                                            {"dropout_gradient", 1, 1},
                                            {"pool_max", 1, 1},
                                            {"pool_max_gradient", 1, 1},
                                            {"concat", 1, 1},
                                            {"split", 1, 1},
                                            {"transpose", 1, 1},
                                            {"multiply", 1, 1},
                                            {"pad", 1, 1},
                                            {"add_bias", 1, 1},
                                            {"cross_entropy_gradient", 1, 1},
                                            {"append", 1, 1},
                                            {"rotary", 6, 2},
                                            {"embedding", 1, 1},
                                            {"embedding_gradient", 1, 1}}) {
    const std::string body = body_of(name, code);
    EXPECT_GT(count(body, store), 0) << name;
    EXPECT_EQ(count(body, load) * stores, count(body, store) * loads) << name;
  }
  // The gradient of the activation linear does not load what the forward pass kept.
  for (const char* name :
       {"activation_gradient", "batchnorm", "layernorm", "embedding_gradient_parts", "post_ops"}) {
    EXPECT_GT(count(body_of(name, code), load), 0) << name;
    EXPECT_GT(count(body_of(name, code), store), 0) << name;
  }
  EXPECT_GT(count(body_of("bias_gradient_parts", code), load), 0);
  EXPECT_GE(count(body_of("stream_read", code), load), 4) << "in flight together";
  EXPECT_GT(count(body_of("stream_write", code), store), 0);
  EXPECT_THAT(code, ::testing::Not(HasSubstr("__local_depot"))) << "kept in registers";
}

TEST_P(Nvrtc, DividesIn32BitsWhereThatSuffices) {
  const std::string code = cuda::compiled(program_, 1000);
  EXPECT_THAT(body_of("dropout", code), ContainsRegex("(div|rem)[.]u32"));
}

INSTANTIATE_TEST_SUITE_P(Type, Nvrtc, ::testing::Values(dtype::f32, dtype::bf16, dtype::f16),
                         [](const auto& item) { return std::string(name(item.param)); });

TEST(Nvrtc, SaysWhatIsWrong) {
  try {
    static_cast<void>(cuda::compiled("void f() { unknown(); }", 90));
    ADD_FAILURE() << "nothing was wrong";
  } catch (const api_error& e) {
    EXPECT_THAT(
        e.what(),
        AllOf(HasSubstr("NVRTC: nvrtcCompileProgram -arch=sm_90 failed: NVRTC_ERROR_COMPIL"),
              HasSubstr("\"unknown\" is undefined")));
  }
}

}  // namespace
}  // namespace layerbench
