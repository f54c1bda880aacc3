// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>

#include <gmock/gmock.h>

#include <layerbench/result/read_results.hpp>

#include "support/bench.hpp"
#include "support/transformer.hpp"

/// A transformer block, measured.
namespace layerbench {
namespace bench_transformer_test {

using ::testing::IsSupersetOf;
using ::testing::SizeIs;

TEST(TransformerResults, HaveRowsAndAChainInBothPhases) {
  testing::tiny_directory directory;
  directory.model = directory.write("transformer.json", testing::transformer_block).string();
  for (const std::string& backend : testing::texts{testing::usable_backend, "reference"}) {
    for (const std::string& phase : testing::texts{"inference", "training"}) {
      SCOPED_TRACE(backend + ' ' + phase);
      const result::results measured = directory.measure(
          {"--backend=" + backend, "--phase=" + phase, "--chain", "--batch=3", "--verify"});
      std::set<std::string> calls;
      for (const result::measurement& row : measured.rows) {
        EXPECT_EQ(row.error, "") << row.name.text();
        calls.insert(row.name.layer + ' ' + row.name.pass);
      }
      const bool trains = phase == "training";
      const std::string forward = trains ? " fwd_training" : " fwd";
      EXPECT_THAT(calls, IsSupersetOf({"norm1" + forward, "attention" + forward, "norm2" + forward,
                                       "query" + forward}));
      if (trains) {
        EXPECT_THAT(calls, IsSupersetOf({"norm1 bwd", "attention bwd", "norm2 bwd"}));
      }
      EXPECT_THAT(measured.chains, SizeIs(::testing::Ge(1)));
    }
  }
}

TEST(DecodingResults, AreNamedByTokensAndContext) {
  testing::tiny_directory directory;
  directory.model = directory.write("decoder.json", testing::decoder_block).string();
  for (const std::string& backend : testing::texts{testing::usable_backend, "reference"}) {
    SCOPED_TRACE(backend);
    result::results measured =
        directory.measure({"--backend=" + backend, "--tokens=1,4", "--context=0,7", "--chain",
                           "--cache=model,cold", "--verify"});
    std::set<std::string> cases;
    for (auto& [model_case, step] : measured.manifest) {
      model_case.parameters.erase("threads");
      cases.insert(model_case.text());
      const bool appends =
          std::ranges::any_of(step, [](const result::planned& one) { return one.op == "append"; });
      EXPECT_EQ(appends, model_case.count("context") == 7) << model_case.text();
    }
    const std::string prefix = "inference/" + backend + "/f32/decoder_block/batch:2";
    EXPECT_THAT(cases,
                ::testing::UnorderedElementsAre(prefix, prefix + "/tokens:1", prefix + "/context:7",
                                                prefix + "/tokens:1/context:7"));
    std::set<std::string> chains;
    for (const result::measurement& row : measured.rows)
      EXPECT_EQ(row.error, "") << row.name.text();
    for (const result::measurement& chain : measured.chains) chains.insert(chain.name.text());
    EXPECT_THAT(chains, SizeIs(4));
  }
}

TEST(DecodingResults, OfAModelWithoutTokensAreRefused) {
  testing::tiny_directory directory;
  for (const std::string option : {"--tokens=1", "--context=0"}) {
    const testing::outcome done = directory.bench("bench_model", {option});
    EXPECT_EQ(done.exit_code, 2);
    EXPECT_THAT(done.err, ::testing::HasSubstr(option.substr(0, option.find('='))));
  }
}

}  // namespace bench_transformer_test
}  // namespace layerbench
