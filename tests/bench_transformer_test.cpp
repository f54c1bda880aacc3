// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
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

}  // namespace bench_transformer_test
}  // namespace layerbench
