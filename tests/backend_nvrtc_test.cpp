// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/backend/cuda/kernels.hpp>

/// What the compiler that GPUs' kernels are made with says of them; it needs no GPU.
namespace layerbench {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

/// All kernels, and those that plans ask for among them.
std::vector<std::string> kernel_names() {
  const std::string all = cuda::program_of("");
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
  const std::string program_ = cuda::program_of(cuda::number_source(GetParam()));
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

TEST_P(Nvrtc, LoadsAndStoresSixteenBytesAtOnce) {
  const std::string code = cuda::compiled(program_, 1000);  // later than any that it knows
  for (const char* name : {"copy",
                           "update_sgd",
                           "update_momentum",
                           "update_adam",
                           "update_accumulate",
                           "add",
                           "activation",
                           "activation_gradient",
                           "dropout",
                           "dropout_gradient",
                           "pool_max",
                           "pool_max_gradient",
                           "batchnorm",
                           "concat",
                           "split",
                           "multiply",
                           "append",
                           "rotary",
                           "embedding",
                           "embedding_gradient",
                           "embedding_gradient_parts",
                           "layernorm"}) {
    EXPECT_THAT(body_of(name, code), AllOf(ContainsRegex("ld[.]global[.]v4[.][ufb]32"),
                                           ContainsRegex("st[.]global[.]v4[.][ufb]32")))
        << name;
  }
  EXPECT_THAT(body_of("bias_gradient_parts", code), ContainsRegex("ld[.]global[.]v4[.][ufb]32"));
  EXPECT_THAT(code, ::testing::Not(HasSubstr("__local_depot"))) << "kept in registers";
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
