// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/analysis/predict/fusion_gain.hpp>
#include <layerbench/result/read_results.hpp>

#include "support/bench.hpp"
#include "support/mentions.hpp"

/// Models with fused layers, measured.
namespace layerbench {
namespace bench_fusion_test {

using ::testing::ElementsAre;
using testing::mentions;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr auto plan = R"({"name": "mine", "rules": [
  {"ops": ["conv"], "then": [["relu"], ["add"]], "in_place": true}]})";

class fused_results : public ::testing::Test {
 protected:
  testing::tiny_directory directory_;
  /// The path of a plan of that name, by which `backend` computes an op.
  [[nodiscard]] std::string moving(const std::string& name, const std::string& op,
                                   const std::string& backend = "openblas") const {
    const std::string rule = R"({"ops": [")" + op + R"("], "backend": ")" + backend + "\"}";
    return directory_
        .write(name + ".json", R"({"name": ")" + name + R"(", "rules": [)" + rule + "]}")
        .string();
  }

  std::string plan_ = directory_.write("plan.json", plan).string();
};

TEST_F(fused_results, have_rows_chains_and_gains_beside_the_plain_model) {
  for (const std::string& backend : testing::texts{testing::usable_backend, "reference"}) {
    SCOPED_TRACE(backend);
    const result::results measured =
        directory_.measure({"--backend=" + backend, "--fusion=none," + plan_, "--chain", "--verify",
                            "--benchmark_repetitions=1"});
    std::set<std::string> layers;
    for (const result::measurement& row : measured.rows) {
      EXPECT_EQ(row.error, "") << row.name.text();
      if (row.name.model_case.fused()) layers.insert(row.name.layer);
    }
    EXPECT_THAT(layers,
                UnorderedElementsAre("conv1+relu1", "conv2+relu2+add1", "pool1", "fc1", "prob"));
    std::set<std::string> chains;
    for (const result::measurement& chain : measured.chains) chains.insert(chain.name.text());
    EXPECT_THAT(chains, SizeIs(2));

    const std::vector<analysis::prediction> predictions =
        analysis::predict(std::vector{measured}, {});
    const std::vector<analysis::fusion_gain> gains = analysis::fusion_gains(predictions);
    ASSERT_THAT(gains, SizeIs(1));
    EXPECT_EQ(gains.front().fused->model_case.parameter("fusion", ""), "mine");
    EXPECT_THAT(gains.front().calls, SizeIs(2));
    EXPECT_EQ(predictions.front().coverage, 1);
    EXPECT_EQ(predictions.back().coverage, 1);
  }
}

TEST_F(fused_results, may_have_calls_of_another_backend) {
  const std::string mixed = moving("mixed", "gemm");
  const std::set<std::vector<std::string>> cases{
      {"--backend=reference"}, {"--backend=" + testing::usable_backend, "--layout=any"}};
  for (std::vector<std::string> arguments : cases) {
    SCOPED_TRACE(arguments.front());
    arguments.insert(arguments.end(),
                     {"--fusion=" + mixed, "--chain", "--verify", "--benchmark_repetitions=1",
                      "--benchmark_out=" + directory_.results});
    const testing::outcome run = directory_.bench("bench_model", arguments);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const result::results measured = result::read(directory_.results);
    const bool has_it = measured.context_value("openblas_version").has_value();
    EXPECT_NE(has_it, run.err.find("backend openblas cannot run here") != std::string::npos)
        << run.err;
    int products = 0;
    for (const result::measurement& row : measured.rows) {
      EXPECT_EQ(row.error, "") << row.name.text();
      EXPECT_EQ("--backend=" + row.name.model_case.backend, arguments.front());
      if (row.name.layer != "fc1") continue;
      EXPECT_EQ(row.label.key.ends_with(",backend:openblas"), has_it) << row.label.key;
      ++products;
    }
    EXPECT_EQ(products, 1);
    EXPECT_THAT(measured.chains, SizeIs(1));
    EXPECT_EQ(analysis::predict(std::vector{measured}, {}).front().coverage, 1);
    EXPECT_EQ(run.out.find("openblas") != std::string::npos, has_it) << run.out;
  }
}

TEST_F(fused_results, fail_where_the_other_backend_lacks_a_call) {
  const std::string lacking = moving("lacking", "pool");
  const testing::outcome run = directory_.bench(
      "bench_model", {"--backend=reference", "--fusion=" + lacking, "--benchmark_repetitions=1",
                      "--benchmark_out=" + directory_.results});
  if (run.err.find("backend openblas cannot run here") != std::string::npos)
    GTEST_SKIP() << run.err;
  EXPECT_EQ(run.exit_code, 4) << run.err;
  int failed = 0;
  for (const result::measurement& row : testing::rows_in(directory_.results)) {
    EXPECT_EQ(row.error.empty(), row.name.layer != "pool1") << row.name.text();
    failed += row.error.empty() ? 0 : 1;
  }
  EXPECT_EQ(failed, 1);
}

// A replayed file and one with a chain depend on the versions of both libraries.
TEST_F(fused_results, name_the_libraries_of_all_calls) {
  const std::string mixed = moving("mixed", "gemm");
  const std::string on = "--backend=" + testing::usable_backend;
  const result::results measured =
      directory_.measure({on, "--fusion=" + mixed, "--chain", "--benchmark_filter=conv1",
                          "--benchmark_repetitions=1"});
  const auto version = measured.context_value("openblas_version");
  if (!version) GTEST_SKIP() << "openblas cannot run here";
  std::string text = json::read_text(directory_.results);
  const std::string field = "\"openblas_version\": \"";
  text.replace(text.find(field), field.size(), field + "0");
  const std::string changed = directory_.write("changed.json", text).string();
  const auto replay = [&](const std::string& fusion) {
    return directory_.bench("bench_model", {on, "--fusion=" + fusion, "--plans=" + changed,
                                            "--benchmark_repetitions=1"});
  };
  EXPECT_EQ(replay("none").exit_code, 0);
  const testing::outcome refused = replay(mixed);
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, mentions("changed.json", "openblas_version"));
}

TEST_F(fused_results, name_no_backend_that_nobody_knows) {
  const std::string wrong = moving("wrong", "gemm", "nobody");
  const testing::outcome run = directory_.bench("bench_model", {"--fusion=" + wrong});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, mentions("wrong.json", "/rules/0/backend", "nobody"));
}

TEST_F(fused_results, say_what_limits_integers_on_a_cpu_without_vnni) {
  if (!testing::has_onednn) GTEST_SKIP() << "a build without oneDNN";
  const testing::texts arguments{"--backend=onednn", "--dtype=s8"};
  const testing::outcome limited =
      testing::bench("bench_conv", testing::shortly(directory_.model, arguments),
                     {{"ONEDNN_MAX_CPU_ISA", "AVX2"}});
  EXPECT_EQ(limited.exit_code, 0) << limited.err;
  EXPECT_THAT(limited.err, mentions("avx2", "VNNI"));
}

TEST_F(fused_results, may_have_integers) {
  for (const std::string& backend : testing::texts{testing::usable_backend, "reference"}) {
    SCOPED_TRACE(backend);
    const result::results measured =
        directory_.measure({"--backend=" + backend, "--fusion=int8_default", "--dtype=s8",
                            "--chain", "--verify", "--benchmark_repetitions=1"});
    std::set<std::string> layers;
    for (const result::measurement& row : measured.rows) {
      EXPECT_EQ(row.error, "") << row.name.text();
      layers.insert(row.name.layer);
    }
    EXPECT_THAT(layers, ::testing::IsSupersetOf({"input_to_s8", "prob"}));
    const auto predictions = analysis::predict(std::vector{measured}, {});
    ASSERT_THAT(predictions, SizeIs(1));
    EXPECT_EQ(predictions.front().coverage, 1);
    EXPECT_THAT(measured.chains, SizeIs(::testing::Ge(1)));
  }
}

TEST_F(fused_results, are_not_resumed_with_another_plan_of_the_same_name) {
  const testing::texts arguments{"--fusion=" + plan_, "--chain"};
  static_cast<void>(directory_.measure(arguments));
  static_cast<void>(directory_.write(
      "plan.json", R"({"name": "mine", "rules": [{"ops": ["conv"], "then": [["add"]]}]})"));
  testing::texts resumed = arguments;
  resumed.push_back("--resume=" + directory_.results);
  EXPECT_EQ(directory_.bench("bench_model", resumed).exit_code, 3);
}

TEST_F(fused_results, may_reuse_the_memory_of_activations) {
  const result::results fresh =
      directory_.measure({"--chain", "--verify", "--benchmark_repetitions=1"});
  const result::results reused =
      directory_.measure({"--memory=reused", "--chain", "--verify", "--fusion=none," + plan_,
                          "--benchmark_repetitions=1"});
  const auto footprint = [](const result::results& of) {
    return of.rows.front().counters.at("footprint_bytes");
  };
  EXPECT_LT(footprint(reused), footprint(fresh));
  for (const result::measurement& row : reused.rows) {
    EXPECT_EQ(row.error, "") << row.name.text();
    EXPECT_EQ(row.name.model_case.parameter("memory", ""), "reused");
  }
  EXPECT_THAT(reused.chains, SizeIs(::testing::Ge(2)));
  EXPECT_EQ(analysis::predict(std::vector{reused}, {}).back().coverage, 1);
}

TEST_F(fused_results, have_both_forms_of_recurrent_layers_of_sweeps_and_in_training) {
  const std::string shape = R"({"kind": "lstm", "batch": 2, "steps": 3, "inputs": 4, "hidden": 4})";
  const std::string sweep =
      directory_
          .write("s.json", R"({"name": "s", "passes": {"rnn": ["fwd_training", "bwd"],
                               "gemm": ["fwd"]},
                               "layers": [{"name": "r", "op": "rnn", "after": [], "shape": )" +
                               shape + R"(}, {"name": "g", "op": "gemm", "after": [],
                                              "shape": {"m": 2, "n": 3, "k": 4}}]})")
          .string();
  const std::string model =
      directory_
          .write("m.json", R"({"name": "m", "layers": [{"name": "r", "op": "rnn", "shape": )" +
                               shape + R"(}, {"name": "prob", "op": "softmax",
                                              "shape": {"dims": [6, 4]}}]})")
          .string();
  for (const std::string& backend : testing::texts{testing::usable_backend, "reference"}) {
    const std::string on = "/" + backend + "/f32/";
    const testing::outcome listed =
        testing::bench("bench_model", {"--model=" + sweep, "--backend=" + backend,
                                       "--fusion=none,unfused", "--benchmark_list_tests"});
    EXPECT_THAT(testing::lines(listed.out),
                ElementsAre("rnn/fwd_training" + on + "s/r/batch:2/cache:hot",
                            "rnn/bwd" + on + "s/r/batch:2/cache:hot",
                            "rnn/fwd_training" + on + "s/r/batch:2/cache:hot/fusion:unfused",
                            "rnn/bwd" + on + "s/r/batch:2/cache:hot/fusion:unfused",
                            "gemm/fwd" + on + "s/g/batch:2/cache:hot"))
        << "the plan does not change the product";
    const testing::outcome other_way =
        testing::bench("bench_model", {"--model=" + sweep, "--backend=" + backend,
                                       "--fusion=unfused,none", "--benchmark_list_tests"});
    EXPECT_EQ(other_way.out, listed.out);
    const testing::outcome shown =
        testing::run(LAYERBENCH_TOOL, {"show", sweep, "--fusion", "unfused", "--format", "json"});
    EXPECT_THAT(shown.out, mentions("unfused:1", "\"fusion\": \"unfused\""));
    const testing::outcome trained = directory_.bench(
        "bench_model", {"--model=" + model, "--backend=" + backend, "--phase=training", "--chain",
                        "--fusion=none,unfused", "--verify", "--benchmark_repetitions=1"});
    EXPECT_EQ(trained.exit_code, 0) << trained.err;
  }
}

TEST_F(fused_results, are_refused_where_there_is_nothing_to_fuse) {
  const auto run = [&](const testing::texts& arguments) {
    return directory_.bench("bench_model", arguments);
  };
  EXPECT_EQ(run({"--fusion=" + plan_, "--phase=training"}).exit_code, 2);
  EXPECT_EQ(run({"--fusion=unknown"}).exit_code, 5);
  EXPECT_EQ(run({"--fusion=" + plan_ + ',' + plan_}).exit_code, 2);
  const testing::outcome bad = run({"--fusion=" + directory_.write("bad.json", "{}").string()});
  EXPECT_EQ(bad.exit_code, 3);
  EXPECT_THAT(bad.err, mentions("bad.json"));
  EXPECT_EQ(run({"--memory=reused", "--phase=training"}).exit_code, 2);
  const std::string shipped = directory_
                                  .write("own.json", R"({"name": "openvino", "rules": [
      {"ops": ["conv"], "then": [["relu"]]}]})")
                                  .string();
  EXPECT_EQ(run({"--fusion=" + shipped}).exit_code, 2);
  const testing::outcome sweep = run({"--model=deepbench_inference_device", "--fusion=" + plan_});
  EXPECT_EQ(sweep.exit_code, 2);
  EXPECT_EQ(run({"--model=deepbench_inference_device", "--fusion=pytorch"}).exit_code, 2);
}

}  // namespace bench_fusion_test
}  // namespace layerbench
