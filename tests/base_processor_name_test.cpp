// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>

#include <gmock/gmock.h>

#include <layerbench/base/processor_name.hpp>

#include "support/temporary_directory.hpp"

namespace layerbench::machine {
namespace base_processor_name_test {

std::string name_in(const std::string& cpuinfo) {
  const testing::temporary_directory root;
  std::filesystem::create_directory(root.path() / "proc");
  static_cast<void>(root.write("proc/cpuinfo", cpuinfo));
  return processor_name(root.path());
}

TEST(ProcessorName, IsTheModelOnX86) {
  EXPECT_EQ(name_in("processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel\t\t: 17\n"
                    "model name\t: AMD EPYC 9R14\n"),
            "AMD EPYC 9R14");
}

TEST(ProcessorName, IsOfAllKindsOfCoresOnAarch64) {
  const std::string n1 = "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd0c\n";
  const std::string a53 = "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd03\n";
  EXPECT_EQ(name_in("processor\t: 0\n" + n1 + "\nprocessor\t: 1\n" + n1),
            "CPU implementer 0x41 part 0xd0c");
  EXPECT_EQ(name_in(n1 + "\n" + a53), "CPU implementer 0x41 part 0xd03, 0x41 part 0xd0c");
}

TEST(ProcessorName, IsUnknownWhereTheSystemDoesNotSay) {
  EXPECT_EQ(name_in(""), "unknown");
  EXPECT_EQ(name_in("processor\t: 0\nmodel name\t:\n"), "unknown");
  EXPECT_EQ(processor_name("/nowhere"), "unknown");
}

}  // namespace base_processor_name_test
}  // namespace layerbench::machine
