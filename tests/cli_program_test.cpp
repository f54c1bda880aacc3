// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/reference/all_plans.hpp>
#include <layerbench/cli/context.hpp>
#include <layerbench/cli/main.hpp>
#include <layerbench/op/list.hpp>
#include <layerbench/ranks/data_parallel.hpp>

#include "support/temporary_directory.hpp"

/// A library that is built but cannot run on this machine.
struct elsewhere : layerbench::reference::backend {
  static constexpr std::string_view name = "elsewhere";
  using backend::backend;
  static layerbench::run::backend_entry entry() {
    layerbench::run::backend_entry own = backend::entry();
    own.probe = []() noexcept -> std::optional<std::string> { return "no such device"; };
    return own;
  }
};
template <>
struct layerbench::plan<elsewhere, layerbench::op::activation>
    : plan<reference::backend, op::activation> {
  using plan<reference::backend, op::activation>::plan;
};

/// A library that needs scratch memory.
struct hungry : layerbench::reference::backend {
  static constexpr std::string_view name = "hungry";
  using backend::backend;
};
template <>
struct layerbench::plan<hungry, layerbench::op::activation>
    : plan<reference::backend, op::activation> {
  using plan<reference::backend, op::activation>::plan;
  [[nodiscard]] std::size_t workspace_bytes() const override { return 100; }
};

namespace layerbench {
namespace run_program_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::CaptureStdout;
using ::testing::internal::GetCapturedStderr;
using ::testing::internal::GetCapturedStdout;

/// Runs a program with that backend in this process.
int run_with_it(std::vector<std::string> words) {
  ::setenv("OMP_PROC_BIND", "close", 0);  // else it would restart this test
  ::setenv("OMP_PLACES", "cores", 0);
  const testing::temporary_directory scratch;
  const std::string model = scratch.write("tiny.json", R"({"name": "tiny", "layers": [
      {"name": "relu1", "op": "activation", "shape": {"kind": "relu", "dims": [2, 3]}}]})");
  words.insert(words.begin(), {"bench_relu", "--model=" + model});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  const int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  return run::main(count, arguments.data(),
                   {{"bench_relu", "Times activations.", {"activation"}},
                    run::registry_of<elsewhere>(op::list<op::activation>{})});
}

TEST(ABackendThatCannotRun, IsListedNevertheless) {
  for (const char* option : {"--benchmark_list_tests", "--list"}) {
    CaptureStdout();
    EXPECT_EQ(run_with_it({"--backend=elsewhere", option}), 0);
    EXPECT_THAT(GetCapturedStdout(), HasSubstr("activation/fwd/elsewhere/f32/tiny/relu1/batch:1/"));
  }
}

TEST(ABackendThatCannotRun, IsRefusedWithItsReason) {
  CaptureStderr();
  EXPECT_EQ(run_with_it({"--backend=elsewhere"}), 77);
  EXPECT_THAT(GetCapturedStderr(), AllOf(HasSubstr("elsewhere"), HasSubstr("no such device")));
}

TEST(APlan, NeedsNoMoreScratchMemoryThanIsAllowed) {
  run::backend_device<hungry, op::activation> directory(1);
  const op::any relu(op::activation{op::activation_kind::relu, {2, 3}});
  EXPECT_NO_THROW(static_cast<void>(directory.plan(relu, {.workspace_limit = 100})));
  EXPECT_THROW(static_cast<void>(directory.plan(relu, {.workspace_limit = 99})), unsupported);
}

/// One with several devices.
struct several : reference::backend {
  static constexpr std::string_view name = "several";
  using backend::backend;
  static inline int chosen = 0;
  static run::backend_entry entry() {
    run::backend_entry own = backend::entry();
    own.choose_device = [](int number) { chosen = number; };
    own.devices = [] { return 4; };
    return own;
  }
};

TEST(ADevice, IsOfTheBackendsThatHaveSeveral) {
  const run::registry both = run::registry_of<several, reference::backend>(op::list<>{});
  run::detail::choose_device(3, {"several", "reference"}, both);
  EXPECT_EQ(several::chosen, 3);
  EXPECT_THROW(run::detail::choose_device(1, {"reference"}, both), usage_error);
  EXPECT_NO_THROW(run::detail::choose_device(0, {"reference"}, both));
  EXPECT_EQ(several::chosen, 3);
}

/// Backends that can run, one of them of a few ops.
struct complete : reference::backend {
  static constexpr std::string_view name = "complete";
  using backend::backend;
};
struct partial : reference::backend {
  static constexpr std::string_view name = "partial";
  using backend::backend;
  static run::backend_entry entry() {
    run::backend_entry own = backend::entry();
    own.only_when_named = true;
    own.on_host = false;
    return own;
  }
};
struct partial_on_host : reference::backend {
  static constexpr std::string_view name = "partial_on_host";
  using backend::backend;
  static run::backend_entry entry() {
    run::backend_entry own = partial::entry();
    own.on_host = true;
    return own;
  }
};

TEST(ABackendOfFewOps, RunsWholeModelsOnlyWhereItIsNamed) {
  const auto chosen = [](const run::program& what, const std::vector<std::string>& named) {
    run::options o;
    o.backends = named;
    std::vector<std::string> notes;
    return run::detail::chosen_backends(
        o, what, run::registry_of<complete, partial, partial_on_host>(op::list<>{}), notes);
  };
  const run::program one_op{"bench_relu", "", {"activation"}};
  const run::program whole{"bench_model", "", {}};
  EXPECT_THAT(chosen(one_op, {}), ::testing::ElementsAre("complete", "partial"));
  EXPECT_THAT(chosen(whole, {}), ::testing::ElementsAre("complete"));
  EXPECT_THAT(chosen(whole, {"partial"}), ::testing::ElementsAre("partial"));
  EXPECT_THAT(chosen(one_op, {"partial_on_host"}), ::testing::ElementsAre("partial_on_host"));
}

/// Counts how often its library is looked for.
template <bool if_named>
struct counted_backend : reference::backend {
  static constexpr std::string_view name = if_named ? "counted_if_named" : "counted";
  using backend::backend;
  static inline int probes = 0;
  static run::backend_entry entry() {
    run::backend_entry own = if_named ? partial_on_host::entry() : backend::entry();
    own.probe = []() noexcept -> std::optional<std::string> {
      ++probes;
      return std::nullopt;
    };
    return own;
  }
};
using counted = counted_backend<false>;
using counted_if_named = counted_backend<true>;

class looking_for_libraries : public ::testing::Test {
 protected:
  void SetUp() override { counted::probes = counted_if_named::probes = 0; }

  [[nodiscard]] std::vector<std::string> chosen(const run::options& o) const {
    std::vector<std::string> notes;
    return run::detail::chosen_backends(o, {"bench_relu", "", {"activation"}}, known_, notes);
  }

  const run::registry known_ = run::registry_of<counted, counted_if_named>(op::list<>{});
};

TEST_F(looking_for_libraries, takes_those_of_named_backends_alone) {
  run::options o;
  o.backends = {"counted"};
  EXPECT_THAT(chosen(o), ::testing::ElementsAre("counted"));
  EXPECT_EQ(counted::probes, 1);
  EXPECT_EQ(counted_if_named::probes, 0);
  o.backends = {"counted_if_named"};
  EXPECT_THAT(chosen(o), ::testing::ElementsAre("counted_if_named"));
  EXPECT_EQ(counted::probes, 1);
  EXPECT_EQ(counted_if_named::probes, 1);
}

TEST_F(looking_for_libraries, leaves_out_those_that_run_only_when_named) {
  EXPECT_THAT(chosen({}), ::testing::ElementsAre("counted"));
  static_cast<void>(run::describe_run({}, known_, {"counted"}));
  EXPECT_EQ(counted::probes, 2);
  EXPECT_EQ(counted_if_named::probes, 0);
  static_cast<void>(run::describe_run({}, known_, {"counted_if_named"}));
  EXPECT_EQ(counted_if_named::probes, 1);
}

TEST_F(looking_for_libraries, takes_none_for_a_list_and_all_for_a_list_of_backends) {
  run::options o;
  o.backends = {"counted_if_named"};
  o.list = true;
  EXPECT_THAT(chosen(o), ::testing::ElementsAre("counted_if_named"));
  EXPECT_EQ(counted_if_named::probes, 0);
  EXPECT_THAT(run::detail::probe_all(known_), ::testing::SizeIs(2));
  EXPECT_EQ(counted::probes, 1);
  EXPECT_EQ(counted_if_named::probes, 1);
}

/// Three ranks, of which this is the leader.
struct leader : run::communicator {
  std::vector<std::string> received = {};  ///< by the workers

  [[nodiscard]] int size() const override { return 3; }
  [[nodiscard]] int ranks_on_host() const override { return 3; }
  [[nodiscard]] bool is_leader() const override { return true; }
  void send(const run::command& /*next*/) override { received.emplace_back("command"); }
  [[nodiscard]] std::optional<run::command> receive() override { return {}; }
  void barrier() override { received.emplace_back("barrier"); }
  void take_gpus() override {}
  void prepare_background_allreduce() override {}
  void post(run::compute_device& /*device*/, run::bound_plan& /*collective*/) override {}
  void wait_for_posted(run::compute_device& /*device*/) override {}
  void begin_background_allreduce(run::compute_device& /*device*/) override {
    received.emplace_back("begin reducing");
  }
  [[nodiscard]] bool background_allreduce_running() const override { return false; }
  void end_background_allreduce() override { received.emplace_back("end reducing"); }
  [[nodiscard]] run::allreduce_times allreduce_seconds() const override { return {}; }
  [[noreturn]] void abort_all(const std::string& reason) override {
    throw error("aborted: " + reason);
  }
  [[nodiscard]] std::unique_ptr<run::any_plan> plan(run::compute_device& /*device*/,
                                                    const op::any& /*op*/,
                                                    const plan_request& /*request*/) override {
    return nullptr;
  }
  void describe(description& /*facts*/) const override {}
};

TEST(Ranks, AddUpNumbersAsLongAsWorkGoesOnBesideThem) {
  using ::testing::ElementsAre;
  leader all;
  const run::command_sender workers(all, 0);
  run::backend_device<reference::backend, op::add> device(1);
  EXPECT_EQ(workers.run_overlapped(device, [&] { return all.received.size(); }), 2U);
  EXPECT_THAT(all.received, ElementsAre("command", "begin reducing", "end reducing"));
  all.received.clear();
  const auto fails = [] { throw error("no memory"); };
  EXPECT_THROW(workers.run_overlapped(device, fails), error);
  EXPECT_THAT(all.received, ElementsAre("command", "begin reducing", "end reducing"));
}

/// One whose memory is not this program's.
struct remote : reference::backend {
  static constexpr std::string_view name = "remote";
  using backend::backend;
  static run::backend_entry entry() {
    run::backend_entry own = backend::entry();
    own.on_host = false;
    own.binding = nullptr;
    return own;
  }
};

TEST(Ranks, UseGpusWhereTheyAreNamed) {
  const run::program whole{"bench_model", "", {}};
  std::vector<std::string> notes;
  const auto chosen = [&](bool ranks, const std::vector<std::string>& named) {
    run::options o;
    o.backends = named;
    o.data_parallel = ranks;
    return run::detail::chosen_backends(o, whole, run::registry_of<complete, remote>(op::list<>{}),
                                        notes);
  };
  EXPECT_THAT(chosen(false, {}), ::testing::ElementsAre("complete", "remote"));
  EXPECT_THAT(notes, ::testing::IsEmpty());
  EXPECT_THAT(chosen(true, {}), ::testing::ElementsAre("complete"));
  EXPECT_THAT(notes, ::testing::ElementsAre(AllOf(HasSubstr("remote"), HasSubstr("--ranks"))));
  EXPECT_THAT(chosen(true, {"complete", "remote"}), ::testing::ElementsAre("complete", "remote"));
}

TEST(Ranks, EndTogetherWhereTheLeaderCannotGetReady) {
  leader all;
  const run::command_sender workers(all, 0);
  workers.send_and_barrier(run::command::kind::run_step, 0,
                           [&] { all.received.emplace_back("ready"); });
  EXPECT_THAT(all.received, ::testing::ElementsAre("command", "ready", "barrier"));
  const auto fail = [] { throw error("no memory"); };
  EXPECT_THAT([&] { workers.send_and_barrier(run::command::kind::run_step, 0, fail); },
              ::testing::ThrowsMessage<error>(HasSubstr("aborted: no memory")));
}

TEST(Ranks, ExecuteWhatTheLeadersRowDoes) {
  const op::add sum{{4}};
  const auto one_row = [&] {
    run::row_spec what{.name = {},
                       .op = op::any(sum),
                       .signature = {},
                       .expected = reference::exact_value_of(sum, op::pass::fwd)};
    return run::benchmark_row(
        std::move(what),
        std::make_shared<run::device_context>(
            std::make_unique<run::backend_device<reference::backend, op::add>>(1)));
  };
  const auto use = [](run::benchmark_row& row) {
    row.prepare({});
    row.prepare({});
    row.set_up(1);
    row.call(1);
    row.release();
  };
  leader all;
  run::benchmark_row local = one_row();
  use(local);
  EXPECT_THAT(all.received, ::testing::IsEmpty());
  EXPECT_FALSE(local.prepared());
  run::distributed_row distributed(one_row(), run::command_sender(all, 0));
  use(distributed);
  EXPECT_THAT(all.received, ::testing::ElementsAre("command", "command", "barrier", "command"));
}

}  // namespace run_program_test
}  // namespace layerbench
