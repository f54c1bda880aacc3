// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include <gmock/gmock.h>

#include <layerbench/analysis/base/peaks.hpp>
#include <layerbench/result/field_dimensions.hpp>

#include "support/bench.hpp"

/// The programs on a GPU: one in software, which is found in the place of NVIDIA's libraries.
namespace layerbench {
namespace bench_gpu_test {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing::texts;

class Gpu : public ::testing::Test {
 protected:
  testing::outcome bench(const std::string& program, texts arguments) {
    arguments.insert(arguments.begin(),
                     {"--benchmark_repetitions=1", "--benchmark_min_time=0.0001"});
    return directory_.bench(program, arguments, environment_);
  }
  /// What a program finds.
  result::results results(const std::string& program, texts arguments) {
    arguments.push_back("--benchmark_out=" + directory_.results);
    const testing::outcome done = bench(program, arguments);
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return result::read(directory_.results);
  }
  /// Of the tool, of these results.
  testing::outcome tool(const std::string& command) {
    return testing::run(LAYERBENCH_TOOL, {command, directory_.results});
  }

  testing::tiny_directory directory_;
  testing::environment environment_{{"LD_LIBRARY_PATH", LAYERBENCH_SOFTWARE_GPU}};
};

TEST_F(Gpu, IsThereAndSaysWhatItIs) {
  const testing::outcome done = bench("bench_model", {"--backends"});
  EXPECT_THAT(done.out, ::testing::ContainsRegex("cudnn +available"));
  const auto context =
      results("bench_model", {"--backend=cudnn", "--benchmark_filter=conv1"}).context;
  EXPECT_EQ(context.at("gpu"), "this processor");
  EXPECT_EQ(context.at("gpu_compute_capability"), "9.0");
}

TEST_F(Gpu, RunsModelsInPartsAndWhole) {
  const result::results all =
      results("bench_model", {"--backend=cudnn", "--dtype=f32,tf32,f16,bf16", "--cache=model,hot",
                              "--chain=layers", "--verify"});
  EXPECT_EQ(all.rows.size(), 4U * 2 * testing::tiny_layers.size());
  EXPECT_EQ(all.chains.size(), 4U);
  for (const result::measurement& row : all.rows) {
    EXPECT_TRUE(row.error.empty()) << row.name.text() << ": " << row.error;
    EXPECT_EQ(row.counters.at("verified"), 1) << row.name.text();
  }
  EXPECT_EQ(tool("predict").exit_code, 0);
  const testing::outcome held = tool("validate");
  EXPECT_EQ(held.exit_code, 0) << held.err;
  EXPECT_THAT(held.out, ContainsRegex("tiny[^\n]*cudnn tf32"));
}

TEST_F(Gpu, TrainsModelsInPartsAndWhole) {
  using rules = std::map<std::string, texts>;
  for (const auto& [rule, options] :
       rules{{"momentum", {}}, {"adam", {"--fused-update=false"}}, {"sgd", {"--zero-gradients"}}}) {
    texts arguments{"--backend=cudnn",
                    "--phase=training",
                    "--model=lenet5",
                    "--batch=2",
                    "--dtype=tf32,bf16",
                    "--chain",
                    "--shapes=" LAYERBENCH_SHAPES_DIR,
                    "--optimizer=" + rule};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const result::results all = results("bench_model", arguments);
    EXPECT_EQ(all.chains.size(), 2U);
    std::set<std::string> ops;
    int updates = 0;
    for (const result::measurement& row : all.rows) {
      EXPECT_TRUE(row.error.empty()) << row.name.text() << ": " << row.error;
      ops.insert(row.name.op);
      if (row.name.op == "update") ++updates;
    }
    if (rule == "momentum") {
      EXPECT_EQ(updates, 2) << "one of all weights in each data type";
    }
    if (rule == "adam") {
      EXPECT_GT(updates, 2);
    }
    EXPECT_THAT(ops, ::testing::IsSupersetOf({"conv", "pool", "gemm", "cross_entropy", "update"}));
    EXPECT_THAT(ops, Not(::testing::Contains("reorder"))) << "all lies as it is used";
    EXPECT_EQ(tool("validate").exit_code, 0);
  }
}

TEST_F(Gpu, HasTimingsOfEachKindUnderNamesOfTheirOwn) {
  for (const std::string mode : {"single", "stream", "graph"}) {
    for (const std::string phase : {"inference", "training"}) {
      const bool usual = mode == "graph";
      const result::results all =
          results("bench_model", {"--backend=cudnn", "--phase=" + phase, "--timing=" + mode,
                                  "--chain", "--benchmark_filter=relu1"});
      ASSERT_EQ(all.rows.empty(), false);
      for (const auto* some : {&all.rows, &all.chains}) {
        for (const result::measurement& row : *some) {
          EXPECT_TRUE(row.error.empty()) << row.error;
          EXPECT_GT(row.seconds, 0);
          const auto named = HasSubstr("/timing:" + mode);
          if (usual) {
            EXPECT_THAT(row.name.text(), Not(named));
          } else {
            EXPECT_THAT(row.name.text(), named);
          }
        }
      }
    }
  }
}

TEST_F(Gpu, ComputesInTheTypeThatIsNamed) {
  for (const auto& [type, algorithm] :
       std::map<std::string, std::string>{{"f32", "eng31[mode_a]"},
                                          {"tf32", "eng32_k7:3[tensor_core][mode_a]"},
                                          {"bf16", "eng32_k7:3[tensor_core][mode_a]"}}) {
    const result::results all =
        results("bench_conv", {"--backend=cudnn", "--dtype=" + type, "--benchmark_filter=conv1"});
    ASSERT_FALSE(all.rows.empty());
    EXPECT_EQ(all.rows.front().label.algorithm, algorithm) << type;
  }
}

TEST_F(Gpu, UsesMeasuredPlansAgain) {
  const std::string plans = (directory_.path() / "plans.json").string();
  const texts what{"--backend=cudnn", "--dtype=bf16", "--benchmark_filter=conv1|fc1"};
  texts first = what;
  first.insert(first.end(), {"--plans=measured", "--benchmark_out=" + plans});
  const testing::outcome chosen = bench("bench_model", first);
  ASSERT_EQ(chosen.exit_code, 0) << chosen.err;
  texts second = what;
  second.push_back("--plans=" + plans);
  const result::results again = results("bench_model", second);
  const result::results before = result::read(plans);
  ASSERT_EQ(again.rows.size(), before.rows.size());
  for (std::size_t i = 0; i < again.rows.size(); ++i) {
    EXPECT_EQ(again.rows[i].label.algorithm, before.rows[i].label.algorithm);
  }
  const auto& candidates =
      before.candidates.at("cudnn/threads:1/bf16/nhwc/conv/fwd/" + before.rows.front().label.key);
  ASSERT_EQ(candidates.size(), 2U);
  EXPECT_EQ(candidates.front().algorithm, "eng32_k7:3[tensor_core][mode_a]");
  EXPECT_GT(candidates.front().cold_seconds.value_or(0), 0);
  EXPECT_EQ(testing::run(LAYERBENCH_TOOL, {"compare", plans, plans}).exit_code, 0);
}

/// A GPU on which an engine of cuDNN has a fault, the library's own choice in 16 bits.
class FaultyGpu : public Gpu {
 protected:
  testing::outcome measure(const std::string& fault, texts more) {
    environment_["SOFTWARE_GPU_FAULT"] = fault;
    more.insert(more.end(), {"--backend=cudnn", "--dtype=bf16", "--benchmark_filter=conv1|relu1"});
    const testing::outcome done = bench("bench_model", more);
    environment_.erase("SOFTWARE_GPU_FAULT");
    return done;
  }
  /// The algorithms of the convolution, in all rows; "" of a row that failed.
  [[nodiscard]] std::set<std::string> algorithms() const {
    std::set<std::string> all;
    for (const result::measurement& row : result::read(directory_.results).rows) {
      if (row.name.op == "conv") all.insert(row.error.empty() ? row.label.algorithm : "");
    }
    return all;
  }
  /// The plans that the results forbid.
  [[nodiscard]] texts forbidden() const {
    texts all;
    for (const auto& [work, candidates] : result::read(directory_.results).candidates) {
      for (const result::plan_candidate& one : candidates) {
        if (one.forbidden) all.push_back(one.algorithm + ": " + one.note);
      }
    }
    return all;
  }

  std::string out_ = "--benchmark_out=" + directory_.results;
  const std::string broken_ = "eng32_k7:3[tensor_core][mode_a]";
};

TEST_F(FaultyGpu, WithWrongResultsUsesTheNextProposal) {
  for (const std::string plans : {"heuristic", "measured"}) {
    const testing::outcome done = measure("wrong", {"--plans=" + plans, out_, "--chain"});
    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_THAT(algorithms(), ::testing::ElementsAre("eng31[mode_a]"));
    EXPECT_THAT(forbidden(), ::testing::ElementsAre(StartsWith(broken_ + ": dst")));
    EXPECT_THAT(done.err, ContainsRegex("plan of [^\n]*conv/fwd[^\n]*eng32[^\n]*out"));
  }
}

TEST_F(FaultyGpu, StopsAfterAnIllegalAccessAndResumesWithoutThatPlan) {
  for (const std::string plans : {"heuristic", "measured"}) {
    const testing::outcome done = measure("illegal", {"--plans=" + plans, out_});
    EXPECT_EQ(done.exit_code, 1) << done.err;
    EXPECT_THAT(done.err, AllOf(HasSubstr("conv/fwd"), HasSubstr(broken_),
                                HasSubstr("--resume=" + directory_.results)));
    EXPECT_TRUE(result::read(directory_.results).interrupted());
    EXPECT_THAT(forbidden(), ::testing::ElementsAre(StartsWith(broken_ + ": CUDA")));
    const testing::outcome resumed =
        measure("illegal", {"--plans=" + plans, "--resume=" + directory_.results});
    EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_THAT(algorithms(), ::testing::ElementsAre("eng31[mode_a]"));
    EXPECT_THAT(forbidden(), ::testing::SizeIs(1));
    std::filesystem::remove(directory_.results);
  }
}

TEST_F(FaultyGpu, StopsAfterAnIllegalAccessInTimedCalls) {
  environment_["SOFTWARE_GPU_FAULT_AFTER"] = "1";  // the call that is verified
  const testing::outcome row = measure("illegal", {out_});
  EXPECT_EQ(row.exit_code, 1) << row.err;
  // The activation's row is set up by the convolution.
  EXPECT_THAT(row.err, AllOf(ContainsRegex("(conv|activation)/fwd/cudnn/bf16/tiny"),
                             HasSubstr("--resume=" + directory_.results)));
  EXPECT_TRUE(result::read(directory_.results).interrupted());
  EXPECT_THAT(forbidden(), ::testing::IsEmpty()) << "its results were right";
  std::filesystem::remove(directory_.results);
  const testing::outcome chain = measure("illegal", {out_, "--chain"});
  EXPECT_EQ(chain.exit_code, 1) << chain.err;
  EXPECT_THAT(chain.err, HasSubstr("the chain of "));
  const result::results kept = result::read(directory_.results);
  EXPECT_TRUE(kept.interrupted());
  ASSERT_EQ(kept.chains.size(), 1U);
  EXPECT_FALSE(kept.chains.front().error.empty());
  EXPECT_THAT(forbidden(), ::testing::IsEmpty()) << "several plans ran";
  environment_.erase("SOFTWARE_GPU_FAULT_AFTER");
}

TEST_F(FaultyGpu, ChoosesNoPlanThatCannotBeRecorded) {
  const testing::outcome done = measure("unrecordable", {"--plans=measured", out_});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(algorithms(), ::testing::ElementsAre("eng31[mode_a]"));
  EXPECT_THAT(done.err, HasSubstr("recorded in a graph"));
}

TEST_F(Gpu, HoldsItsClockWhileItIsTimed) {
  environment_["LD_LIBRARY_PATH"] += ":" LAYERBENCH_FAKE_NVML_FOLDER;
  const std::filesystem::path log = directory_.path() / "clocks";
  environment_["FAKE_NVML_LOG"] = log.string();
  const auto run = [&](const std::string& clocks) {
    std::filesystem::remove(log);
    std::filesystem::remove(directory_.results);
    return bench("bench_model", {"--backend=cudnn", "--dtype=bf16", "--benchmark_filter=conv1",
                                 clocks, "--benchmark_out=" + directory_.results});
  };
  const auto set = [&] {  // clocks, in their order
    std::ifstream lines(log);
    return std::vector<std::string>(std::istream_iterator<std::string>(lines), {});
  };
  const testing::outcome refused = run("--clocks=lock");
  EXPECT_EQ(refused.exit_code, 0) << refused.err;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("--clocks=lock"), HasSubstr("Insufficient")));
  EXPECT_EQ(result::read(directory_.results).context.at("clocks"), "steady");
  EXPECT_THAT(set(), ::testing::IsEmpty());
  environment_["FAKE_NVML_MAY_LOCK"] = "1";
  for (const auto& [state, mhz] : {std::pair("lock", "1290"), std::pair("lock:1410", "1410")}) {
    const testing::outcome done = run(fmt::format("--clocks={}", state));
    EXPECT_EQ(done.exit_code, 0) << done.err;
    const result::results measured = result::read(directory_.results);
    EXPECT_EQ(measured.context.at("clocks"), state);
    EXPECT_EQ(measured.rows.at(0).counters.at("sm_mhz"), std::stod(mhz));
    EXPECT_THAT(set(), ::testing::ElementsAre(mhz, "1755")) << "and it is free again";
  }
  environment_["SOFTWARE_GPU_FAULT"] = "illegal";
  EXPECT_EQ(run("--clocks=lock:1500").exit_code, 1);
  EXPECT_THAT(set(), ::testing::ElementsAre("1500", "1755")) << "also after a lost GPU";
}

TEST_F(Gpu, RunsFusedModelsWhole) {
  const std::filesystem::path model = directory_.path() / "small.json";
  std::ofstream(model) << R"({"name": "small", "title": "of a mobile net", "layers": [
    {"name": "depthwise", "op": "conv",
     "shape": {"n": 1, "c": 8, "h": 9, "w": 9, "k": 8, "r": 3, "s": 3, "groups": 8}},
    {"name": "depthwise_relu6", "op": "activation", "shape": {"kind": "relu6", "dims": [1, 8, 7, 7]}},
    {"name": "project", "op": "conv", "shape": {"n": 1, "c": 8, "h": 7, "w": 7, "k": 8, "r": 1, "s": 1}},
    {"name": "project_swish", "op": "activation",
     "shape": {"kind": "hardswish", "dims": [1, 8, 7, 7]}},
    {"name": "sum", "op": "add", "after": ["project_swish", "depthwise_relu6"],
     "shape": {"dims": [1, 8, 7, 7]}},
    {"name": "head", "op": "gemm", "shape": {"m": 1, "n": 16, "k": 392, "b_transposed": true}},
    {"name": "head_gelu", "op": "activation", "shape": {"kind": "gelu", "dims": [1, 16]}}]})";
  for (const std::string plans : {"heuristic", "measured"}) {
    const result::results fused =
        results("bench_model", {"--backend=cudnn", "--dtype=bf16", "--fusion=openvino",
                                "--model=" + model.string(), "--plans=" + plans, "--chain"});
    std::map<std::string, bool> has_kernel;  // behind the library's call, by layer
    for (const result::measurement& row : fused.rows) {
      EXPECT_EQ(row.error, "") << row.name.text();
      const std::string first = row.name.layer.substr(0, row.name.layer.find('+'));
      has_kernel[first] = row.label.algorithm.ends_with("+layerbench:post_ops");
    }
    EXPECT_TRUE(has_kernel.at("depthwise")) << plans;
    EXPECT_TRUE(has_kernel.at("head")) << plans;
    EXPECT_TRUE(plans == "measured" || !has_kernel.at("project"));
    ASSERT_FALSE(fused.chains.empty());
    for (const result::measurement& chain : fused.chains) EXPECT_EQ(chain.error, "");
  }
}

TEST_F(Gpu, SaysHowNearRowsComeToItsPeaks) {
  const testing::outcome done =
      bench("bench_model", {"--backend=cudnn", "--dtype=f32,bf16", "--benchmark_filter=relu1|fc3",
                            "--benchmark_out=" + directory_.results});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("peak"));
  const result::results measured = result::read(directory_.results);
  constexpr double clock = 1.98e9;
  EXPECT_THAT(measured.context.at("gpu_peaks"), AllOf(HasSubstr("4.92 TB/s"), HasSubstr("bf16")));
  ASSERT_FALSE(measured.rows.empty());
  for (const result::measurement& row : measured.rows) {
    const auto share = [&](const char* of, double peak) {
      return row.counters.at(of) / row.mean_seconds() / peak;
    };
    const double per_clock = row.name.model_case.dtype == "f32" ? 256 : 4096;
    EXPECT_NEAR(row.counters.at("flops_of_peak"), share("flops_exact", per_clock * clock), 1e-9);
    EXPECT_NEAR(row.counters.at("bytes_of_peak"), share("bytes", 4.916736e12), 1e-9);
  }
}

TEST_F(Gpu, CountsTheEnergyOfItsStepsAndNotThatOfProcessors) {
  const testing::outcome silent = bench("bench_model", {"--backend=cudnn", "--energy"});
  EXPECT_EQ(silent.exit_code, 77);
  EXPECT_THAT(silent.err, AllOf(HasSubstr("NVML"), HasSubstr("--meter")));
  const testing::outcome both = bench("bench_model", {"--backend=reference,cudnn", "--energy"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("--backend"));
  const testing::outcome layers = bench("bench_model", {"--backend=cudnn", "--energy=layers"});
  EXPECT_EQ(layers.exit_code, 2) << "by default their calls are replayed as a graph";
  EXPECT_THAT(layers.err, HasSubstr("--timing=stream"));
  environment_["LD_LIBRARY_PATH"] += ":" LAYERBENCH_FAKE_NVML_FOLDER;
  environment_["FAKE_NVML_WATTS"] = "100";
  const result::results file = results("bench_model", {"--backend=cudnn", "--energy"});
  EXPECT_EQ(file.context_value("energy_counter"), "NVML");
  EXPECT_EQ(file.context_value("energy_class"), "GPU's counter");
  ASSERT_FALSE(file.chains.empty());
  for (const result::measurement& chain : file.chains) {
    const auto& counters = chain.counters;
    const double gross = counters.at("energy_gross_j");
    EXPECT_NEAR(counters.at("idle_w"), 100, 5);
    EXPECT_GT(gross, 0);
    EXPECT_LT(gross, 110 * counters.at("energy_window_s") / counters.at("energy_calls"));
    EXPECT_LT(std::abs(counters.at("energy_net_j")), 0.1 * gross) << "it draws no more than idle";
  }
  EXPECT_THAT(tool("predict").out, HasSubstr("GPU's counter (whole GPU)"));
}

TEST_F(Gpu, SaysWhatHoldsItBackAndItsSettings) {
  environment_["LD_LIBRARY_PATH"] += ":" LAYERBENCH_FAKE_NVML_FOLDER;
  environment_["NVIDIA_TF32_OVERRIDE"] = "1";
  environment_["CUBLASLT_HEURISTICS_CACHE_CAPACITY"] = "0";
  environment_["CUDNN_LOGINFO_DBG"] = "0";
  environment_["NCCL_ALGO"] = "Ring";
  environment_["CUDA_MODULE_LOADING"] = "LAZY";
  environment_["CUDA_LAUNCH_BLOCKING"] = "0";
  environment_["CUDA_VISIBLE_DEVICES"] = "0";
  const texts arguments{"--backend=cudnn", "--benchmark_filter=relu1",
                        "--benchmark_out=" + directory_.results};
  const testing::outcome done = bench("bench_model", arguments);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("1 of 1 timings were taken at the power cap"));
  const result::results file = result::read(directory_.results);
  for (const auto& [field, dimension] : file.dimensions) {
    const auto known = result::known_dimensions().find(field);
    if (known != result::known_dimensions().end()) {
      EXPECT_EQ(dimension, known->second) << field << " of older files is compared otherwise";
    }
  }
  const auto& context = file.context;
  for (const auto& [field, value] :
       std::map<std::string, std::string>{{"gpu_power_limit_w", "700"},
                                          {"gpu_max_sm_mhz", "1980"},
                                          {"gpu_uuid", "GPU-0123"},
                                          {"nvidia_driver_version", "580.1"},
                                          {"NVIDIA_TF32_OVERRIDE", "1"},
                                          {"CUBLASLT_HEURISTICS_CACHE_CAPACITY", "0"},
                                          {"NCCL_ALGO", "Ring"},
                                          {"CUDA_MODULE_LOADING", "LAZY"},
                                          {"CUDA_LAUNCH_BLOCKING", "0"},
                                          {"CUDA_VISIBLE_DEVICES", "0"}}) {
    EXPECT_TRUE(context.contains(field) && context.at(field) == value) << field;
  }
  EXPECT_FALSE(context.contains("CUDNN_LOGINFO_DBG")) << "changes no timing";
  const testing::outcome on_cpu =
      bench("bench_model", {"--backend=reference", "--benchmark_filter=relu1",
                            "--benchmark_out=" + (directory_.path() / "cpu.json").string()});
  EXPECT_EQ(on_cpu.exit_code, 0) << on_cpu.err;
  const auto facts = result::read(directory_.path() / "cpu.json").context;
  EXPECT_FALSE(facts.contains("gpu") || facts.contains("NCCL_ALGO")) << "no row ran there";
}

TEST_F(Gpu, HasPeaksOfItsL2AndOfMemory) {
  const testing::outcome done =
      testing::bench("bench_peak",
                     {"--backend=cudnn,cublas", "--benchmark_filter=^stream/", "--threads=1",
                      "--benchmark_min_time=0.0001", "--benchmark_repetitions=5", "--max-time=0",
                      "--benchmark_out=" + directory_.results},
                     environment_);
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const result::results measured = result::read(directory_.results);
  for (const result::measurement& row : measured.rows) {
    EXPECT_TRUE(row.error.empty()) << row.name.text() << ": " << row.error;
  }
  const std::vector<analysis::peaks> all = analysis::peaks_in({&measured});
  ASSERT_EQ(all.size(), 2U);
  for (const analysis::peaks& one : all) {
    EXPECT_GT(one.call, 0);
    ASSERT_EQ(one.levels.size(), 2U) << one.backend;
    EXPECT_EQ(one.levels[0].name, "l2");
    EXPECT_EQ(one.levels[1].name, "memory");
    for (const analysis::memory_level& level : one.levels) {
      EXPECT_GT(level.read, 0);
      EXPECT_GT(level.write, 0);
      EXPECT_GT(level.copy, 0);
    }
  }
}

TEST_F(Gpu, KeepsToTheWorkspaceThatItMayTake) {
  const result::results all = results(
      "bench_conv",
      {"--backend=cudnn", "--dtype=bf16", "--workspace-limit=0", "--benchmark_filter=conv1"});
  EXPECT_THAT(all.rows.front().label.algorithm, StartsWith("eng31"));
}

/// Several GPUs that are measured at once.
class AllGpus : public Gpu {
 protected:
  AllGpus() { environment_["SOFTWARE_GPUS"] = "2"; }
  /// The result file of a GPU.
  std::string file(int number) {
    return (directory_.path() / fmt::format("r_device{}.json", number)).string();
  }
  texts with_files(texts arguments) {
    arguments.insert(arguments.end(),
                     {"--backend=cudnn", "--device=all", "--benchmark_filter=relu1",
                      "--benchmark_out=" + (directory_.path() / "r.json").string()});
    return arguments;
  }
};

TEST_F(AllGpus, HaveAResultFileEach) {
  const testing::outcome done = bench("bench_model", with_files({}));
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("relu1")) << "the first one's rows";
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / "r.json"));
  for (const int number : {0, 1}) {
    const result::results one = result::read(file(number));
    EXPECT_THAT(one.context.at("command"), HasSubstr(fmt::format("--device={} ", number)));
    EXPECT_EQ(one.context.at("places"), "none") << "differing places could not be compared";
    EXPECT_EQ(one.rows.size(), 1U);
  }
}

TEST_F(AllGpus, DoNotStopForOneThatFails) {
  std::filesystem::create_directory(file(1));
  const testing::outcome done = bench("bench_model", with_files({}));
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_THAT(done.err, ContainsRegex("device 1: layerbench: .*is a directory"));
  EXPECT_THAT(done.err, HasSubstr("device 1 ended with exit code 2"));
  EXPECT_EQ(result::read(file(0)).rows.size(), 1U);
}

TEST_F(AllGpus, KeepWhatTheyMeasuredIfInterruptedAndGoOnLater) {
  testing::child running(
      testing::bench_path("bench_model"),
      testing::shortly(directory_.model, with_files({"--benchmark_min_time=0.001",
                                                     "--benchmark_repetitions=1000000"})),
      environment_);
  const auto both_have_files = [&] {
    return std::filesystem::exists(file(0)) && std::filesystem::exists(file(1));
  };
  for (int i = 0; i < 60'000 && !both_have_files(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  running.signal(SIGTERM);
  EXPECT_EQ(running.wait().exit_code, 130);
  const auto interrupted = [&](int number) {
    return result::read(file(number)).context.at("interrupted");
  };
  ASSERT_TRUE(both_have_files());
  EXPECT_EQ(interrupted(0) + interrupted(1), "11");
  const std::string all = (directory_.path() / "r.json").string();
  const testing::outcome resumed =
      bench("bench_model",
            {"--backend=cudnn", "--device=all", "--benchmark_filter=relu1", "--resume=" + all});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(interrupted(0) + interrupted(1), "00");
}

TEST_F(AllGpus, NeedSeparateFilesAndABackendOfGpus) {
  const auto refused = [&](const texts& arguments) {
    const testing::outcome done = bench("bench_model", arguments);
    EXPECT_EQ(done.exit_code, 2) << done.err;
    return done.err;
  };
  EXPECT_THAT(refused({"--backend=cudnn", "--device=all"}), HasSubstr("--benchmark_out"));
  EXPECT_THAT(refused({"--backend=cudnn,reference", "--device=all", "--benchmark_out=r.json"}),
              HasSubstr("reference has one device"));
  EXPECT_THAT(refused({"--backend=cudnn", "--device=some"}), HasSubstr("'some'"));
}

TEST(GpuCheck, SaysWhatIsWrongBeforeItBuilds) {
  const auto check = [](const std::string& word) {
    return testing::run("/bin/bash", {LAYERBENCH_SOURCE_DIR "/tools/gpu_check.sh", word});
  };
  EXPECT_EQ(check("--help").exit_code, 0);
  EXPECT_THAT(check("--help").out, AllOf(HasSubstr("--build-only"), HasSubstr("memcheck")));
  const testing::outcome unknown = check("everything");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("everything"), HasSubstr("inference training")));
}

TEST_F(Gpu, MultipliesIn8BitsWhereTheLibraryCan) {
  const std::string model = directory_.write("products.json", R"({"name": "products", "layers": [
    {"name": "fits", "op": "gemm", "shape": {"m": 32, "n": 16, "k": 64, "b_transposed": true}},
    {"name": "not", "op": "gemm", "shape": {"m": 32, "n": 10, "k": 16, "b_transposed": true}}]})");
  const testing::outcome done =
      bench("bench_gemm", {"--model=" + model, "--backend=cublas", "--dtype=f8_e4m3",
                           "--benchmark_out=" + directory_.results});
  EXPECT_EQ(done.exit_code, 4) << done.err;
  std::map<std::string, bool> measured;  // by layer
  for (const result::measurement& row : result::read(directory_.results).rows) {
    measured[row.name.layer] = row.error.empty();
  }
  EXPECT_EQ(measured, (std::map<std::string, bool>{{"fits", true}, {"not", false}})) << done.err;
}

TEST_F(Gpu, ConvolvesIn8BitsInInference) {
  const std::string model = directory_.write("images.json", R"({"name": "images", "layers": [
    {"name": "conv1", "op": "conv",
     "shape": {"n": 2, "c": 16, "h": 5, "w": 5, "k": 32, "r": 3, "s": 3, "pad": 1, "bias": true}},
    {"name": "conv2", "op": "conv",
     "shape": {"n": 2, "c": 32, "h": 5, "w": 5, "k": 16, "r": 1, "s": 1}}]})");
  const testing::outcome done =
      bench("bench_conv", {"--model=" + model, "--backend=cudnn", "--dtype=f8_e4m3", "--verify",
                           "--benchmark_out=" + directory_.results});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const auto rows = result::read(directory_.results).rows;
  EXPECT_FALSE(rows.empty());
  for (const result::measurement& row : rows) EXPECT_EQ(row.error, "");
  const testing::outcome chained =
      bench("bench_model", {"--model=" + model, "--backend=cudnn", "--dtype=f8_e4m3", "--chain"});
  EXPECT_EQ(chained.exit_code, 2) << chained.err;
  EXPECT_THAT(chained.err, AllOf(HasSubstr("--chain"), HasSubstr("f8_e4m3")));
  const testing::outcome energy =
      bench("bench_model", {"--model=" + model, "--backend=cudnn", "--dtype=f8_e4m3", "--energy"});
  EXPECT_EQ(energy.exit_code, 2);
  EXPECT_THAT(energy.err, AllOf(HasSubstr("--energy"), Not(HasSubstr("--chain"))));
}

}  // namespace bench_gpu_test
}  // namespace layerbench
