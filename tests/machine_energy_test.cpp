// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <gmock/gmock.h>

#include <layerbench/machine/energy_counter.hpp>
#include <layerbench/machine/processor_energy.hpp>

#include "support/temporary_directory.hpp"

namespace layerbench::run {
namespace machine_energy_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const unavailable& e) {
    return e.what();
  }
  return "no error";
}

/// A copy of Linux's files on energy.
class EnergyFiles : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = root() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << '\n';
  }
  /// A zone of powercap: "0", or "0:1" in it.
  void write_zone(const std::string& zone, const std::string& name, std::int64_t microjoules,
                  const std::string& driver = "intel-rapl") const {
    const std::string folder = "sys/class/powercap/" + driver + ":" + zone + "/";
    write(folder + "name", name);
    write(folder + "energy_uj", std::to_string(microjoules));
    write(folder + "max_energy_range_uj", "1000000000");  // 1 kJ
  }
  /// What perf says of AMD's and Intel's processors with two packages.
  void write_events() const {
    const std::string folder = "sys/bus/event_source/devices/power/";
    write(folder + "type", "9");
    write(folder + "cpumask", "0,18-19");
    write(folder + "events/energy-pkg", "event=0x02");
    write(folder + "events/energy-pkg.scale", "2.3283064365386962890625e-10");
    write(folder + "events/energy-pkg.unit", "Joules");
  }
  [[nodiscard]] const std::filesystem::path& root() const { return directory_.path(); }
  [[nodiscard]] std::unique_ptr<energy_counter> powercap() {
    return powercap_energy(root(), reasons_);
  }

  testing::temporary_directory directory_;
  std::vector<std::string> reasons_;
};

TEST_F(EnergyFiles, CountThePackageOfAnAmdProcessor) {
  write_zone("0", "package-0", 5'000'000);
  write_zone("0:0", "core", 1'000'000);
  const auto counter = powercap();
  ASSERT_NE(counter, nullptr);
  EXPECT_EQ(counter->source().text(), "processor's counter (package)");
  EXPECT_EQ(counter->source().counter, "powercap");
  counter->start();
  write_zone("0", "package-0", 7'500'000);
  write_zone("0:0", "core", 2'000'000);
  EXPECT_NEAR(counter->stop(), 2.5, 1e-9) << "the package has the cores in it";
}

TEST_F(EnergyFiles, CountAllPackagesWithTheirDramAndWraps) {
  write_zone("0", "package-0", 999'000'000);
  write_zone("0:0", "dram", 100'000'000);
  write_zone("1", "package-1-die-0", 10'000'000);
  write_zone("1:0", "dram", 0);
  write_zone("1:1", "core", 0);
  write_zone("2", "psys", 0);
  write_zone("0", "package-0", 999'000'000, "intel-rapl-mmio");
  const auto counter = powercap();
  ASSERT_NE(counter, nullptr);
  EXPECT_EQ(counter->source().coverage, "2 packages, DRAM");
  counter->start();
  write_zone("0", "package-0", 2'000'000);  // 3 J later
  write_zone("0:0", "dram", 101'000'000);
  write_zone("1", "package-1-die-0", 20'000'000);
  write_zone("1:0", "dram", 500'000);
  write_zone("1:1", "core", 900'000'000);
  write_zone("2", "psys", 900'000'000);
  EXPECT_NEAR(counter->stop(), 3 + 1 + 10 + 0.5, 1e-9);
}

TEST_F(EnergyFiles, LeaveOutDramThatOnlySomePackagesHave) {
  write_zone("0", "package-0", 0);
  write_zone("0:0", "dram", 0);
  write_zone("1", "package-1", 0);
  EXPECT_EQ(powercap()->source().coverage, "2 packages");
}

TEST_F(EnergyFiles, SayWhichFileIsRefusedAndWhoMayReadIt) {
  write_zone("0", "package-0", 0);
  write_zone("1", "package-1", 0);
  const std::filesystem::path file = root() / "sys/class/powercap/intel-rapl:1/energy_uj";
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  std::filesystem::permissions(root(), std::filesystem::perms(0755));
  if (::geteuid() != 0) std::filesystem::permissions(file, std::filesystem::perms::none);
  const ::uid_t own = ::geteuid();
  constexpr ::uid_t nobody = 65534;
  ASSERT_EQ(::seteuid(own == 0 ? nobody : own), 0);
  const auto counter = powercap();
  ASSERT_EQ(::seteuid(own), 0);
  EXPECT_EQ(counter, nullptr) << "half of the packages is no answer";
  EXPECT_THAT(reasons_, ElementsAre(AllOf(HasSubstr(file.string()), HasSubstr("Permission denied"),
                                          HasSubstr("root"))));
}

TEST_F(EnergyFiles, ThatVanishAreAnErrorLater) {
  write_zone("0", "package-0", 0);
  const auto counter = powercap();
  counter->start();
  write("sys/class/powercap/intel-rapl:0/energy_uj", "none");
  EXPECT_THAT(error_of([&] { static_cast<void>(counter->stop()); }), HasSubstr("energy_uj"));
}

TEST_F(EnergyFiles, DescribeTheEventsOfThePackageAndOfDram) {
  write_events();
  ASSERT_THAT(perf_energy_events(root()), SizeIs(1));
  const perf_energy_event package = perf_energy_events(root()).front();
  EXPECT_EQ(package.name, "energy-pkg");
  EXPECT_EQ(package.type, 9U);
  EXPECT_EQ(package.config, 2U);
  EXPECT_EQ(package.joules_per_count, 1.0 / (1LL << 32));
  EXPECT_THAT(package.processors, ElementsAre(0, 18, 19));
  const std::string ram = "sys/bus/event_source/devices/power/events/energy-ram";
  write(ram, "event=0x03,umask=0x1");
  write(ram + ".scale", "1.5e-05");
  write(ram + ".unit", "Joules");
  EXPECT_THAT(perf_energy_events(root()), SizeIs(1)) << "more than a number of an event";
  write(ram, "event=0x1f");
  ASSERT_THAT(perf_energy_events(root()), SizeIs(2));
  EXPECT_EQ(perf_energy_events(root()).back().config, 0x1fU);
  EXPECT_EQ(perf_energy_events(root()).back().joules_per_count, 1.5e-5);
  write(ram + ".unit", "Watts");
  EXPECT_THAT(perf_energy_events(root()), SizeIs(1));
  std::filesystem::remove(root() / "sys/bus/event_source/devices/power/type");
  EXPECT_THAT(perf_energy_events(root()), IsEmpty());
}

TEST_F(EnergyFiles, ThatAreAbsentAreNamedWithTheRemedy) {
  EXPECT_THAT(error_of([&] { static_cast<void>(processor_energy(root())); }),
              AllOf(HasSubstr("sys/class/powercap"),
                    HasSubstr("sys/bus/event_source/devices/power"), HasSubstr("--meter")));
}

TEST_F(EnergyFiles, OfPowercapGoBeforeEvents) {
  write_events();
  write_zone("0", "package-0", 0);
  EXPECT_EQ(processor_energy(root())->source().counter, "powercap");
}

std::string meter_error(const std::string& command, const std::string& unit = "J",
                        double timeout = 10) {
  return error_of([&] {
    const auto meter = meter_by_command(command, unit, timeout);
    meter->start();
    static_cast<void>(meter->stop());
  });
}

TEST(EnergyMeter, CountsTheJoulesThatACommandPrints) {
  const testing::temporary_directory directory;
  const std::string file = directory.write("joules", " 10.5\n").string();
  const auto meter = meter_by_command("cat " + file, "J");
  EXPECT_EQ(meter->source().evidence, "meter");
  EXPECT_EQ(meter->source().counter, "cat " + file);
  EXPECT_GT(meter->reading_seconds(), 0);
  meter->start();
  static_cast<void>(directory.write("joules", "12.75"));
  EXPECT_DOUBLE_EQ(meter->stop(), 2.25);
}

TEST(EnergyMeter, ThatFailsOrPrintsRubbishSaysHow) {
  EXPECT_THAT(meter_error("exit 3"), AllOf(HasSubstr("exit 3"), HasSubstr("exit code 3")));
  EXPECT_THAT(meter_error("echo 12 J"), HasSubstr("'12 J' instead of one number"));
  EXPECT_THAT(meter_error("true"), HasSubstr("''"));
  EXPECT_THAT(meter_error("echo nan"), HasSubstr("'nan'"));
  EXPECT_THAT(meter_error("echo -5", "W"), HasSubstr("'-5'"));
  EXPECT_THAT(meter_error("yes", "J", 0.2), HasSubstr("longer than 0.2 s"));
}

TEST(EnergyMeter, ThatGoesBackwardsSaysSo) {
  const testing::temporary_directory directory;
  const std::string file = directory.write("joules", "50").string();
  const auto meter = meter_by_command("cat " + file, "J");
  meter->start();
  static_cast<void>(directory.write("joules", "49"));
  EXPECT_THAT(error_of([&] { static_cast<void>(meter->stop()); }),
              AllOf(HasSubstr("backwards"), HasSubstr("50 to 49")));
}

TEST(EnergyMeter, ThatHangsIsKilledWithWhatItStarted) {
  const testing::temporary_directory directory;
  const std::string id = (directory.path() / "id").string();
  std::string process;
  // A busy machine may not start the command in time.
  for (double timeout = 0.5; process.empty() && timeout < 100; timeout *= 4) {
    EXPECT_THAT(meter_error("sleep 600 & echo $! > " + id + "; echo 5; wait", "J", timeout),
                HasSubstr("longer than"));
    std::ifstream(id) >> process;
  }
  EXPECT_THAT(meter_error("exec >&-; sleep 600", "J", 0.2), HasSubstr("longer than 0.2 s"));
  ASSERT_FALSE(process.empty());
  std::string state = "R";
  for (int i = 0; i < 6000 && state != "Z" && !state.empty(); ++i) {  // until its parent takes it
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::string skipped;
    state.clear();
    std::ifstream("/proc/" + process + "/stat") >> skipped >> skipped >> state;
  }
  EXPECT_TRUE(state.empty() || state == "Z") << state;
}

TEST(EnergyMeter, OfWattsIsReadWhileTheWorkRuns) {
  const testing::temporary_directory directory;
  const std::string file = directory.write("watts", "7").string();
  const auto meter = meter_by_command("cat " + file, "W");
  static_cast<void>(directory.write("watts", "100"));
  const double begin = stopwatch::now();
  meter->start();
  const double started = stopwatch::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double stopped = stopwatch::now();
  const double joules = meter->stop();
  EXPECT_GE(joules, 100 * (stopped - started));
  EXPECT_LE(joules, 100 * (stopwatch::now() - begin));
  meter->start();
  EXPECT_GT(meter->stop(), 0) << "one reading at least";
  std::filesystem::remove(file);
  meter->start();
  EXPECT_THAT(error_of([&] { static_cast<void>(meter->stop()); }), HasSubstr("exit code"));
}

}  // namespace machine_energy_test
}  // namespace layerbench::run
