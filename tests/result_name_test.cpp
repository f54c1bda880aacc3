// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/result/measurement.hpp>
#include <layerbench/result/name.hpp>

namespace layerbench::result {
namespace result_name_test {

const case_name plain{"onednn", "f32", "resnet50", 8, {}};
const case_name rich{"onednn",
                     "f32",
                     "resnet50",
                     8,
                     {{"ranks", "3"}, {"threads", "2"}, {"layout", "nchw"}, {"phase", "training"}}};

TEST(RowName, IsWrittenWithParametersInTheirOrder) {
  EXPECT_EQ((row_name{plain, "conv", "fwd", "conv1", "hot"}.text()),
            "conv/fwd/onednn/f32/resnet50/conv1/batch:8/cache:hot");
  EXPECT_EQ((row_name{rich, "conv", "fwd", "conv1", "hot"}.text()),
            "conv/fwd/onednn/f32/resnet50/conv1/batch:8/cache:hot/phase:training/layout:nchw/"
            "threads:2/ranks:3");
}

const case_name decoding{
    "onednn", "f32", "gpt2", 1, {{"threads", "2"}, {"context", "0"}, {"tokens", "1"}}};

TEST(RowName, HasTokensAndContextFirst) {
  EXPECT_EQ((row_name{decoding, "append", "fwd", "k", "model"}.text()),
            "append/fwd/onednn/f32/gpt2/k/batch:1/cache:model/tokens:1/context:0/threads:2");
  EXPECT_EQ(decoding.text(), "inference/onednn/f32/gpt2/batch:1/tokens:1/context:0/threads:2");
  EXPECT_EQ(decoding.count("context"), 0);
  EXPECT_EQ(decoding.count("ranks"), std::nullopt);
}

TEST(RowName, IsReadBack) {
  for (const case_name& model_case : {plain, rich, decoding}) {
    const row_name name{model_case, "gemm", "fwd", "fc_6", "model"};
    EXPECT_EQ(parse_row(name.text()), name) << name.text();
  }
}

TEST(RowName, MayJoinLayers) {
  case_name fused = plain;
  fused.parameters["fusion"] = "openvino";
  const row_name name{fused, "conv", "fwd", "conv1+bn1+relu1", "model"};
  EXPECT_EQ(name.text(),
            "conv/fwd/onednn/f32/resnet50/conv1+bn1+relu1/batch:8/cache:model/fusion:openvino");
  EXPECT_EQ(parse_row(name.text()), name);
  for (const char* wrong : {"conv1+", "+conv1", "conv1++bn1"}) {
    EXPECT_EQ(parse_row(row_name{fused, "conv", "fwd", wrong, "model"}.text()), std::nullopt);
  }
  EXPECT_EQ(parse_row("conv+gemm/fwd/onednn/f32/net/conv1/batch:8/cache:hot"), std::nullopt);
}

TEST(CaseName, HasDataOfAnotherClass) {
  case_name zeros = rich;
  zeros.parameters["data"] = "zeros";
  zeros.parameters["memory"] = "reused";
  EXPECT_EQ(zeros.text(),
            "training/onednn/f32/resnet50/batch:8/layout:nchw/memory:reused/data:zeros/"
            "threads:2/ranks:3");
  EXPECT_EQ(parse_case(zeros.text()), zeros);
  case_name usual = zeros;
  usual.parameters.erase("data");
  EXPECT_NE(identity(zeros, "conv", "fwd", "key", "hot", ""),
            identity(usual, "conv", "fwd", "key", "hot", ""))
      << "timings on zeros are never those on other data";
}

TEST(CaseName, IsWrittenAndReadBack) {
  EXPECT_EQ(plain.text(), "inference/onednn/f32/resnet50/batch:8");
  EXPECT_EQ(rich.text(), "training/onednn/f32/resnet50/batch:8/layout:nchw/threads:2/ranks:3");
  for (const case_name& model_case : {plain, rich, decoding})
    EXPECT_EQ(parse_case(model_case.text()), model_case);
  case_name contended = rich;
  contended.parameters["during"] = "allreduce";
  EXPECT_EQ(contended.text(), rich.text() + "/during:allreduce");
  EXPECT_EQ(parse_case(contended.text()), contended);
}

TEST(ChainName, IsThatOfTheCaseAndIsReadBack) {
  EXPECT_EQ(row_name::chain(plain).text(), "chain/inference/onednn/f32/resnet50/batch:8");
  EXPECT_EQ(row_name::chain(rich).text(),
            "chain/training/onednn/f32/resnet50/batch:8/layout:nchw/threads:2/ranks:3");
  for (const case_name& model_case : {plain, rich}) {
    const auto read = parse_row(row_name::chain(model_case).text());
    ASSERT_TRUE(read);
    EXPECT_TRUE(read->is_chain());
    EXPECT_EQ(read->model_case, model_case);
  }
}

TEST(ChainName, LeavesARowOfAnOpOfThatName) {
  const row_name row{plain, "chain", "fwd", "c1", "hot"};
  EXPECT_FALSE(row.is_chain());
  EXPECT_EQ(parse_row(row.text()), row);
}

class ForeignName : public ::testing::TestWithParam<std::string> {};

TEST_P(ForeignName, IsNoRow) { EXPECT_EQ(parse_row(GetParam()), std::nullopt); }
TEST_P(ForeignName, IsNoCase) { EXPECT_EQ(parse_case(GetParam()), std::nullopt); }

INSTANTIATE_TEST_SUITE_P(
    Names, ForeignName,
    ::testing::Values("", "/", "////////", "BM_memcpy/4096", "BM_sort/1024/real_time/threads:2",
                      "conv/fwd/onednn/f32/resnet50/conv1/batch:8",
                      "conv/fwd/onednn/f32/resnet50/conv1",
                      "conv/fwd/onednn/f32/resnet50/conv1/batch:0/cache:hot",
                      "conv/fwd/onednn/f32/resnet50/conv1/batch:-8/cache:hot",
                      "conv/fwd/onednn/f32/resnet50/conv1/batch:+8/cache:hot",
                      "conv/fwd/onednn/f32/resnet50/conv1/batch:8x/cache:hot",
                      "conv/fwd/onednn/f32/resnet50/conv1/batch: 8/cache:hot",
                      "conv/fwd/onednn/f32/resnet50/conv1/batch:99999999999999999999/cache:hot",
                      "conv/fwd/onednn/f32/resnet50/conv1/batch/cache:hot",
                      "conv/fwd/onednn/f32/resnet50/conv1/batch:8/cache:hot/",
                      "conv/fwd/onednn/f32/resnet50/conv1/batch:8/cache:hot/iterations:3",
                      "conv/fwd/onednn/f32/resnet50/conv1/batch:8/cache:hot/threads:",
                      "conv/fwd/onednn/f32/resnet50/conv1/batch:8/cache:hot/tokens:few",
                      "conv/fwd/onednn/f32/resnet50/conv1/batch:8/cache:hot/context:1/tokens:1",
                      "conv/fwd/onednn/f32/resnet50/conv1/batch:8/cache:hot/threads:2/layout:nchw",
                      "conv/fwd/onednn/f32/resnet50/conv1/batch:8/cache:hot/threads:2/threads:2",
                      "chain/inference/onednn/f32/resnet50/batch:8/cache:hot",
                      "chain/inference/onednn/f32/resnet50", "chain/",
                      "inference/onednn/f32/resnet50/batch:", "inference/onednn/f32/batch:8",
                      "inference/onednn/f32/resnet50/batch:8/colour:red",
                      "inference/onednn/f32/resnet50/batch:8/threads:2/layout:nchw"));

TEST(Label, IsReadBack) {
  for (const bool inserted : {false, true}) {
    const label written{"n:1,c:3,kind:max", "jit:avx2", "src:4096", inserted};
    const label read = label::parse(written.text());
    EXPECT_EQ(read.text(), written.text());
    EXPECT_EQ(read.key, written.key);
    EXPECT_EQ(read.inserted, inserted);
  }
  EXPECT_EQ((label{"k:1", "a", "s", true}.text()), "key=k:1;algo=a;state=s;inserted");
}

TEST(Label, AcceptsLabelsOfOtherPrograms) {
  EXPECT_EQ(label::parse("").text(), "key=;algo=;state=");
  EXPECT_EQ(label::parse("just words").key, "");
  EXPECT_EQ(label::parse("colour=red;key=a=b").key, "a=b");
}

TEST(Identity, IsOfTheWorkAndItsConditionsNotOfTheModel) {
  const std::string base = identity(plain, "conv", "fwd", "k:1", "hot", "");
  case_name other = plain;
  other.model = "vgg16";
  other.batch = 1;  // the sizes are in the key
  other.parameters["phase"] = "training";
  other.parameters["tokens"] = "1";
  other.parameters["context"] = "512";
  EXPECT_EQ(identity(other, "conv", "fwd", "k:1", "hot", ""), base);
  other.parameters["threads"] = "2";
  EXPECT_NE(identity(other, "conv", "fwd", "k:1", "hot", ""), base);
  EXPECT_NE(identity(plain, "gemm", "fwd", "k:1", "hot", ""), base);
  EXPECT_NE(identity(plain, "conv", "fwd", "k:2", "hot", ""), base);
  EXPECT_NE(identity(plain, "conv", "fwd", "k:1", "cold", ""), base);
  EXPECT_NE(identity(plain, "conv", "fwd", "k:1", "hot", "src:1"), base);
}

}  // namespace result_name_test
}  // namespace layerbench::result
