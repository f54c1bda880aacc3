// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/times.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include <layerbench/base/child_process.hpp>
#include <layerbench/machine/check.hpp>
#include <layerbench/machine/machine_watch.hpp>

#include "support/mentions.hpp"
#include "support/temporary_directory.hpp"

/// Checks of the machine, on copies of the files in which Linux describes itself.
namespace layerbench::machine {
namespace machine_check_test {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::mentions;
using ::testing::Not;

/// A machine's /proc and /sys.
struct tree : testing::temporary_directory {
  using files = std::vector<std::pair<std::string, std::string>>;
  explicit tree(const files& all = {}) {
    for (const auto& [name, text] : all) put(name, text);
  }
  void put(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path() / name).parent_path());
    static_cast<void>(write(name, text));
  }
  void put_governor(const std::string& governor, const std::string& driver) const {
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor + "\n");
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", driver + "\n");
  }
};

constexpr std::int64_t gibi = std::int64_t{1} << 30;

TEST(AvailableMemory, IsThatOfTheSystemWithoutALimit) {
  const tree directory(tree::files{
      {"proc/meminfo", "MemTotal:  8388608 kB\nMemFree: 1 kB\nMemAvailable:    2097152 kB\n"}});
  EXPECT_EQ(available_memory_bytes(directory.path()), 2 * gibi);
  EXPECT_EQ(available_memory_bytes(tree().path()), std::nullopt);
}

TEST(AvailableMemory, RespectsControlGroupsOfVersion2) {
  const tree directory(
      tree::files{{"proc/meminfo", "MemAvailable: 8388608 kB\n"},
                  {"proc/self/cgroup", "0::/outer/inner\n"},
                  {"sys/fs/cgroup/outer/memory.max", "3221225472\n"},
                  {"sys/fs/cgroup/outer/memory.current", "2147483648\n"},
                  {"sys/fs/cgroup/outer/memory.stat", "anon 7\ninactive_file 1073741824\n"},
                  {"sys/fs/cgroup/outer/inner/memory.max", "max\n"},
                  {"sys/fs/cgroup/outer/inner/memory.current", "1073741824\n"}});
  EXPECT_EQ(available_memory_bytes(directory.path()), 2 * gibi)
      << "inactive file pages count as available";
}

TEST(AvailableMemory, RespectsControlGroupsOfVersion1) {
  const tree directory(
      tree::files{{"proc/meminfo", "MemAvailable: 8388608 kB\n"},
                  {"proc/self/cgroup", "4:memory:/docker/abc\n2:cpu,cpuacct:/\n0::/\n"},
                  {"sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n"},
                  {"sys/fs/cgroup/memory/memory.usage_in_bytes", "1073741824\n"}});
  EXPECT_EQ(available_memory_bytes(directory.path()), gibi)
      << "the path is that outside the container";
  directory.put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(available_memory_bytes(directory.path()), 8 * gibi) << "no limit";
}

TEST(AvailableMemory, IsNeverNegative) {
  const tree directory(tree::files{{"proc/self/cgroup", "0::/\n"},
                                   {"sys/fs/cgroup/memory.max", "100\n"},
                                   {"sys/fs/cgroup/memory.current", "200\n"}});
  EXPECT_EQ(available_memory_bytes(directory.path()), 0);
}

TEST(MemoryLimit, IsTheLeastOfAllGroups) {
  const tree directory(tree::files{{"proc/self/cgroup", "0::/a/b\n"},
                                   {"sys/fs/cgroup/a/memory.max", "3221225472\n"},
                                   {"sys/fs/cgroup/a/b/memory.max", "max\n"}});
  EXPECT_EQ(memory_limit_bytes(directory.path()), 3 * gibi);
  EXPECT_EQ(memory_limit_bytes(tree().path()), std::nullopt);
}

TEST(ProcessorQuota, IsTheMinimumOfAllGroups) {
  const tree two(tree::files{{"proc/self/cgroup", "0::/a/b\n"},
                             {"sys/fs/cgroup/a/cpu.max", "150000 100000\n"},
                             {"sys/fs/cgroup/a/b/cpu.max", "max 100000\n"}});
  EXPECT_EQ(processor_quota(two.path()), 1.5);
  const tree one(tree::files{{"proc/self/cgroup", "2:cpu,cpuacct:/\n"},
                             {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n"},
                             {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}});
  EXPECT_EQ(processor_quota(one.path()), 4);
  one.put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(processor_quota(one.path()), std::nullopt);
}

TEST(Quota, IsBadBelowTheNumberOfThreads) {
  const tree directory(
      tree::files{{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "150000 100000\n"}});
  EXPECT_EQ(check_quota(directory.path(), {.threads = 1}).how, verdict::ok);
  const check_result two = check_quota(directory.path(), {.threads = 2});
  EXPECT_EQ(two.how, verdict::bad);
  EXPECT_THAT(two.what, mentions("1.5"));
  EXPECT_THAT(two.remedy, mentions("--threads=1"));
  EXPECT_EQ(check_quota(tree().path(), {.threads = 2}).how, verdict::ok);
}

std::string stat_line(int busy, int idle, int stolen) {
  const std::string two = " " + std::to_string(busy) + " 0 0 " + std::to_string(idle) + " 0 0 0 " +
                          std::to_string(stolen) + " 0 0\n";
  return "cpu " + two + "cpu0" + two + "cpu1" + two + "intr 1 2 3\nprocs_running 3\n";
}

/// What is seen between two readings, a second on two processors apart.
std::optional<disturbance> seen_between(int busy, int stolen, double own) {
  const tree before(tree::files{{"proc/stat", stat_line(1000, 5000, 10)}});
  const tree after(
      tree::files{{"proc/stat", stat_line(1000 + busy, 5200 - busy - stolen, 10 + stolen)}});
  return disturbance_between(processor_times_of(before.path()), processor_times_of(after.path()),
                             own);
}

TEST(Disturbance, IsTheTimeOfOtherProgramsAndTheHost) {
  const auto seen = seen_between(150, 10, 50);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->processors, 2);
  EXPECT_DOUBLE_EQ(seen->others, 1);
  EXPECT_DOUBLE_EQ(seen->stolen, 0.05);
  EXPECT_DOUBLE_EQ(seen_between(50, 0, 60)->others, 0);
}

TEST(Disturbance, IsNotKnownForShortTimes) {
  const tree before(tree::files{{"proc/stat", stat_line(1000, 5000, 0)}});
  const tree after(tree::files{{"proc/stat", stat_line(1003, 5003, 0)}});
  const auto first = processor_times_of(before.path());
  EXPECT_FALSE(disturbance_between(first, processor_times_of(after.path()), 0));
  EXPECT_FALSE(disturbance_between(first, std::nullopt, 0));
}

/// Whether a round of `ticks` on two processors is disturbed if `stolen` of them were stolen.
bool disturbed_by(std::int64_t ticks, std::int64_t stolen) {
  const processor_times before{1000, 5000, 3, 2};
  processor_times after = before;
  after.stolen += stolen;
  after.idle += (ticks - stolen) / 2;
  after.busy += ticks - stolen - (ticks - stolen) / 2;
  return run::host_disturbed(before, after);
}

TEST(Host, DisturbsARoundOfWhichItTakesMoreThanTwoPercent) {
  EXPECT_FALSE(disturbed_by(1000, 0));
  EXPECT_FALSE(disturbed_by(1000, 20));
  EXPECT_TRUE(disturbed_by(1000, 21));
  EXPECT_TRUE(disturbed_by(1000, 1000));
}

TEST(Host, IsNotAssessedWithinHalfASecond) {
  EXPECT_FALSE(disturbed_by(99, 50));
  EXPECT_TRUE(disturbed_by(100, 50));
  EXPECT_FALSE(disturbed_by(0, 0));
}

TEST(Host, IsNotAssessedWithoutReadings) {
  const processor_times some{1000, 5000, 3, 2};
  EXPECT_FALSE(run::host_disturbed(std::nullopt, some));
  EXPECT_FALSE(run::host_disturbed(some, std::nullopt));
}

TEST(Load, IsBadWhereThreadsShareProcessors) {
  const tree directory(tree::files{{"proc/loadavg", "1.50 0.7 0.3 3/89 29023\n"},
                                   {"proc/stat", stat_line(1, 1, 0)}});
  const disturbance one{1, 0, 2};
  EXPECT_EQ(check_load(directory.path(), {.threads = 2}, one).how, verdict::bad);
  EXPECT_THAT(check_load(directory.path(), {.threads = 2}, one).remedy, Not(IsEmpty()));
  EXPECT_EQ(check_load(directory.path(), {.threads = 1}, one).how, verdict::note);
  EXPECT_EQ(check_load(directory.path(), {.threads = 2}, disturbance{0.02, 0, 2}).how, verdict::ok);
  EXPECT_THAT(check_load(directory.path(), {}, one).what,
              AllOf(mentions("1.50"), mentions("2"), mentions("1.00")));
}

TEST(Steal, IsBadAboveTwoPercent) {
  EXPECT_EQ(check_steal(disturbance{0, 0.001, 2}).how, verdict::ok);
  EXPECT_EQ(check_steal(disturbance{0, 0.01, 2}).how, verdict::note);
  const check_result much = check_steal(disturbance{0, 0.03, 2});
  EXPECT_EQ(much.how, verdict::bad);
  EXPECT_THAT(much.what, mentions("3.0 %"));
}

TEST(Speed, IsBadAboveALargeSlowShare) {
  EXPECT_EQ(check_slowdown(0).how, verdict::ok);
  EXPECT_EQ(check_slowdown(0.1).how, verdict::note);
  const check_result much = check_slowdown(0.5);
  EXPECT_EQ(much.how, verdict::bad);
  EXPECT_THAT(much.what, mentions("50 %"));
  EXPECT_THAT(much.remedy, Not(IsEmpty()));
  EXPECT_EQ(check_slowdown(std::nullopt).how, verdict::note) << "not looked at";
}

TEST(Disturbers, AreNamedWithTheirShares) {
  EXPECT_EQ(disturbers({}, {}), "");
  EXPECT_EQ(disturbers(disturbance{0.05, 0.001, 2}, 0.01), "") << "nothing that spoils timings";
  EXPECT_THAT(disturbers(disturbance{1.2, 0, 2}, {}),
              AllOf(mentions("other programs", "1.20 of 2"), Not(HasSubstr("host"))));
  EXPECT_THAT(disturbers(disturbance{1.2, 0.083, 2}, 0.4),
              mentions("other programs", "host", "8.3 %", "40 %"));
}

TEST(Disturbers, AreNoCommandsOfMeters) {
  std::int64_t busy = 0;
  const auto read = [&] { return std::optional(processor_times{busy, 0, 0, 1}); };
  const run::machine_watch watch({}, read);
  busy = ::sysconf(_SC_CLK_TCK);
  EXPECT_THAT(watch.disturbers({}), HasSubstr("other programs"));

  // The command is all that the processor does. It ends after a second of processor time, of which
  // the system may count less, since it counts by samples.
  const auto used_by_commands = [] {
    ::tms used{};
    ::times(&used);
    return static_cast<std::int64_t>(used.tms_cutime + used.tms_cstime);
  };
  const std::int64_t before = used_by_commands();
  static_cast<void>(output_of("exec 2>/dev/null; (ulimit -t 1; while :; do :; done); true", 60));
  busy = used_by_commands() - before;
  EXPECT_GT(busy, 0);
  EXPECT_THAT(watch.disturbers({}), IsEmpty());
}

TEST(Frequency, FollowsGovernorAndTurbo) {
  const tree device;
  const check_result absent = check_frequency_scaling(device.path());
  EXPECT_EQ(absent.how, verdict::note);
  EXPECT_THAT(absent.what, mentions("cpufreq"));
  device.put_governor("performance", "intel_pstate");
  device.put("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
  EXPECT_EQ(check_frequency_scaling(device.path()).how, verdict::ok);
  device.put("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
  EXPECT_EQ(check_frequency_scaling(device.path()).how, verdict::note);
  device.put_governor("powersave", "intel_pstate");
  EXPECT_EQ(check_frequency_scaling(device.path()).how, verdict::note) << "a dynamic one there";
  device.put_governor("powersave", "acpi-cpufreq");
  EXPECT_EQ(check_frequency_scaling(device.path()).how, verdict::bad) << "the lowest rate";
  EXPECT_THAT(check_frequency_scaling(device.path()).remedy, HasSubstr("cpupower"));
}

/// `count` cores with `siblings` processors each, half of them on each of two nodes and caches, or
/// all on one.
topology machine_of(int count, int siblings, int nodes = 1) {
  topology result;
  std::vector<processor_list> halves(static_cast<std::size_t>(nodes));
  for (int i = 0; i < count; ++i) {
    processor_list processors;
    for (int j = 0; j < siblings; ++j) processors.push_back(i + j * count);
    processor_list& half = halves[static_cast<std::size_t>(i * nodes / count)];
    half.insert(half.end(), processors.begin(), processors.end());
    result.cores.push_back({processors});
  }
  for (int i = 0; i < nodes; ++i) {
    const processor_list& half = halves[static_cast<std::size_t>(i)];
    result.caches.push_back({3, std::int64_t{32} << 20, half});
    result.nodes.push_back({i, 8 * gibi, half});
  }
  return result;
}

TEST(Cores, AreSharedByMoreThreadsThanCores) {
  EXPECT_EQ(check_cores({.threads = 4, .machine = machine_of(4, 2)}, {}).how, verdict::ok);
  const check_result shared = check_cores({.threads = 8, .machine = machine_of(4, 2)}, {});
  EXPECT_EQ(shared.how, verdict::note);
  EXPECT_THAT(shared.what, mentions("8", "4", "SMT"));
  EXPECT_EQ(shared.remedy, "--threads=4");
}

TEST(Cores, AreSharedByThreadsOnSiblings) {
  const check_result shared = check_cores({.threads = 2,
                                           .machine = machine_of(4, 2),
                                           .binding = {{{0}, {4}, {1}}, thread_order::close}},
                                          {});
  EXPECT_EQ(shared.how, verdict::note);
  EXPECT_THAT(shared.remedy, HasSubstr("--places"));
}

TEST(Cores, AreThoseThatTheProcessMayUse) {
  const check_result shared = check_cores(
      {.threads = 2, .machine = machine_of(4, 2), .binding = {{{0}, {4}}, thread_order::close}},
      {});
  EXPECT_EQ(shared.how, verdict::note);
  EXPECT_EQ(shared.remedy, "--threads=1") << "two siblings, as mpirun and taskset leave them";
}

TEST(Cores, AreBadWhereCoresOfOneCacheAreFarApart) {
  const resource_request of{.threads = 2, .machine = machine_of(2, 1)};
  EXPECT_EQ(check_cores(of, 60e-9).how, verdict::ok);
  EXPECT_THAT(check_cores(of, 60e-9).what, mentions("60.0 ns"));
  const check_result moved = check_cores(of, 320e-9);
  EXPECT_EQ(moved.how, verdict::bad);
  EXPECT_THAT(moved.remedy, mentions("--threads=1"));
  EXPECT_EQ(check_cores({.threads = 2, .machine = machine_of(2, 1, 2)}, 320e-9).how, verdict::ok)
      << "two last-level caches";
}

TEST(MachineTopology, IsNotedWhereItWasGuessed) {
  resource_request of{.machine = machine_of(2, 1)};
  EXPECT_EQ(check_topology(of).how, verdict::ok);
  EXPECT_THAT(check_topology(of).what, HasSubstr("1 L3 (32 MB), 2 cores, 2 processors"));
  of.machine = completed({}, {0, 1}, {1, 2, 3});
  EXPECT_EQ(check_topology(of).how, verdict::note);
  EXPECT_THAT(check_topology(of).what, HasSubstr("hwloc"));
  EXPECT_THAT(check_topology(of).remedy, Not(IsEmpty()));
}

TEST(Nodes, AreNotedWhereThreadsAreOnSeveral) {
  EXPECT_EQ(check_nodes({.threads = 8, .machine = machine_of(8, 1)}).how, verdict::ok);
  const thread_binding places{{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}, thread_order::close};
  const auto with = [&](int threads, std::int64_t footprint, numa_policy numa) {
    return check_nodes({.threads = threads,
                        .footprint = footprint,
                        .machine = machine_of(8, 1, 2),
                        .binding = places,
                        .numa = numa});
  };
  EXPECT_EQ(with(4, gibi, numa_policy::first_touch).how, verdict::ok);
  const check_result both = with(5, gibi, numa_policy::first_touch);
  EXPECT_EQ(both.how, verdict::note);
  EXPECT_THAT(both.what, mentions("2 of 2", "first-touch"));
  EXPECT_THAT(both.remedy, HasSubstr("--threads=4"));
  EXPECT_EQ(check_nodes({.threads = 1, .machine = machine_of(8, 1, 2)}).how, verdict::note)
      << "a free thread moves between them";
  const check_result small = with(4, 5 * gibi, numa_policy::first_touch);
  EXPECT_EQ(small.how, verdict::note);
  EXPECT_THAT(small.what, mentions("10.7 GB", "8.59 GB"));
  EXPECT_THAT(small.remedy, HasSubstr("--numa=interleave"));
  EXPECT_EQ(with(4, 5 * gibi, numa_policy::interleave).how, verdict::ok);
  EXPECT_EQ(with(8, 5 * gibi, numa_policy::local).how, verdict::note);
  EXPECT_EQ(with(4, 9 * gibi, numa_policy::interleave).remedy, "a smaller --batch");
}

TEST(Nodes, HaveRoomWhereTheirSizesAreNotKnown) {
  resource_request request{.threads = 4,
                           .footprint = 5 * gibi,
                           .machine = machine_of(8, 1, 2),
                           .binding = {{{0}, {1}, {2}, {3}}, thread_order::close}};
  EXPECT_EQ(check_nodes(request).how, verdict::note);
  request.machine.memory = 64 * gibi;
  EXPECT_EQ(check_nodes(request).how, verdict::ok);
}

TEST(Nodes, AreNotOfMemoryOfTheWholeMachine) {
  topology machine = machine_of(8, 1, 2);
  machine.nodes.push_back({2, 16 * gibi, machine.processors()});
  const check_result all = check_nodes({.threads = 8, .machine = machine});
  EXPECT_THAT(all.what, mentions("2 of 2"));
  EXPECT_THAT(all.remedy, HasSubstr("--threads=4,"));
}

TEST(Binding, NeedsAProcessorPerThread) {
  const thread_binding places{{{2}, {3}, {0}}, thread_order::close};
  const check_result bound = check_binding({.threads = 2,
                                            .processors = 3,
                                            .environment = {{"OMP_PROC_BIND", "close"}},
                                            .machine = machine_of(4, 1),
                                            .binding = places});
  EXPECT_EQ(bound.how, verdict::ok);
  EXPECT_THAT(bound.what, AllOf(HasSubstr("OMP_PROC_BIND=close"), HasSubstr("on 3 of 4 processors"),
                                HasSubstr("at {2},{3}")));
  const check_result crowded = check_binding({.threads = 4, .processors = 3, .binding = places});
  EXPECT_EQ(crowded.how, verdict::bad);
  EXPECT_EQ(crowded.remedy, "--threads=3");
}

TEST(Binding, IsNotedWhereThreadsMayMove) {
  resource_request of{.machine = machine_of(4, 2), .binding = {{{0, 1}}}};
  EXPECT_EQ(check_binding(of).how, verdict::note);
  of.environment = {{"KMP_AFFINITY", "compact"}};
  EXPECT_EQ(check_binding(of).how, verdict::note) << "of another run time";
  for (const char* value : {"false", "FALSE", "False"}) {
    of.environment = {{"OMP_PROC_BIND", value}};
    EXPECT_THAT(check_binding(of).remedy, HasSubstr("unset OMP_PROC_BIND")) << value;
  }
  of.environment = {{"OMP_PROC_BIND", "close"}};
  EXPECT_EQ(check_binding(of).how, verdict::note) << "OpenMP took no places";
  of.environment = {};
  of.processes = 2;
  EXPECT_THAT(check_binding(of).remedy,
              AllOf(HasSubstr("--bind-to"), Not(HasSubstr("OMP_PROC_BIND"))));
  of.binding = {{{0, 4}}};
  EXPECT_EQ(check_binding(of).how, verdict::ok) << "a core, as the launcher gave it";
}

TEST(Hypervisor, IsFoundAndNamed) {
  const tree directory(tree::files{{"proc/cpuinfo", "flags : fpu sse hypervisor lm\n"}});
  EXPECT_EQ(check_hypervisor(directory.path()).how, verdict::note);
  directory.put("sys/class/dmi/id/sys_vendor", "QEMU\n");
  EXPECT_THAT(check_hypervisor(directory.path()).what, mentions("QEMU"));
  EXPECT_EQ(check_hypervisor(tree(tree::files{{"proc/cpuinfo", "flags : fpu lm\n"}}).path()).how,
            verdict::ok);
  EXPECT_EQ(check_hypervisor(tree(tree::files{{"sys/hypervisor/type", "xen\n"}}).path()).how,
            verdict::note);
}

TEST(MachineMemory, MustHoldTheLargestCase) {
  const tree directory(tree::files{{"proc/meminfo", "MemAvailable: 4194304 kB\n"}});
  EXPECT_EQ(check_memory(directory.path(), {.footprint = gibi}).how, verdict::ok);
  const check_result short_of = check_memory(directory.path(), {.footprint = 3 * gibi});
  EXPECT_EQ(short_of.how, verdict::bad);
  EXPECT_THAT(short_of.remedy, HasSubstr("--batch"));
}

TEST(Clock, IsBadWhenItIsCoarse) {
  const tree directory(
      tree::files{{"sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"}});
  const check_result good =
      check_clock_source(directory.path(), {.clock_resolution = 1e-9, .clock_cost = 3e-8});
  EXPECT_EQ(good.how, verdict::ok);
  EXPECT_THAT(good.what, mentions("tsc", "1.00 ns", "30.0 ns"));
  EXPECT_EQ(
      check_clock_source(directory.path(), {.clock_resolution = 1e-9, .clock_cost = 2e-6}).how,
      verdict::note);
  EXPECT_EQ(check_clock_source(directory.path(), {.clock_resolution = 1e-2}).how, verdict::bad);
}

TEST(HugePages, ShowTheModeThatIsSet) {
  const tree directory(
      tree::files{{"sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"}});
  EXPECT_THAT(check_huge_pages(directory.path()).what, EndsWith(" madvise"));
  EXPECT_EQ(check_huge_pages(tree().path()).how, verdict::ok);
}

TEST(Check, NeedsNoFileOfTheSystem) {
  const std::vector<check_result> all = check(tree().path(), {}, {}, {}, {});
  EXPECT_EQ(summary(all), "fit");
  for (const check_result& result : all) EXPECT_THAT(result.name, Not(IsEmpty()));
}

/// Matches a text whose last line matches.
template <class Matcher>
auto last_line(const Matcher& matcher) {
  const auto last = [](const std::string& text) {
    return text.substr(text.rfind('\n', text.size() - 2) + 1);
  };
  return ::testing::ResultOf(last, matcher);
}

TEST(Report, HasALinePerCheckAndTheVerdictAtTheEnd) {
  std::vector<check_result> all{{"load", verdict::ok, "0.1"},
                                {"cores", verdict::note, "few", "more"}};
  EXPECT_EQ(summary(all), "fit");
  EXPECT_THAT(report(all),
              AllOf(ContainsRegex("(^|\n)ok +load +0[.]1\n"), ContainsRegex("\nnote +cores +few\n"),
                    ContainsRegex("\n .*more\n"), last_line(mentions("fit"))));
  all.push_back({"steal", verdict::bad, "9 %", "go"});
  all.push_back({"quota", verdict::bad, "1", "lift"});
  EXPECT_EQ(summary(all), "steal quota");
  EXPECT_THAT(report(all), last_line(AllOf(mentions("not"), mentions("steal", "quota"))));
}

}  // namespace machine_check_test
}  // namespace layerbench::machine
