// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <regex>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/parse_number.hpp>
#include <layerbench/base/split.hpp>
#include <layerbench/machine/processor_energy.hpp>

namespace layerbench::run {

namespace detail {

/// Why a file with a number cannot be read; nothing if it can.
[[nodiscard]] inline std::optional<std::string> unreadable_number(const machine::path& file) {
  const int opened = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) {
    return fmt::format("{}: {}{}", file.string(), std::generic_category().message(errno),
                       errno == EACCES ? " (root may read it)" : "");
  }
  ::close(opened);
  if (machine::number_of(file)) return std::nullopt;
  return file.string() + ": no number";
}

/// The energy of a powercap zone, whose file counts microjoules up to a range.
[[nodiscard]] inline energy_domain powercap_domain(const machine::path& zone) {
  constexpr double microjoule = 1e-6;
  const machine::path file = zone / "energy_uj";
  const std::int64_t range = machine::number_of(zone / "max_energy_range_uj").value_or(0);
  energy_domain domain{[file] {
    if (const auto count = machine::number_of(file)) {
      return microjoule * static_cast<double>(*count);
    }
    throw energy_error(unreadable_number(file).value_or(file.string() + ": changed"));
  }};
  if (range > 0) domain.range = microjoule * static_cast<double>(range);
  return domain;
}

/// "package, DRAM", or "2 packages, DRAM".
[[nodiscard]] inline std::string coverage_of(std::size_t packages, bool has_dram) {
  return (packages == 1 ? "package" : fmt::format("{} packages", packages)) +
         (has_dram ? ", DRAM" : "");
}

/// The numbers of a list of the kernel: "0,18" or "0-3".
[[nodiscard]] inline std::vector<int> numbers_of_list(std::string_view text) {
  std::vector<int> all;
  for (const std::string_view part : split(text, ',')) {
    const auto first = machine::number_in(part);
    const std::size_t dash = part.find('-');
    const auto last = dash == part.npos ? first : machine::number_in(part.substr(dash + 1));
    for (auto number = first; number && last && *number <= *last; ++*number) {
      all.push_back(static_cast<int>(*number));
    }
  }
  return all;
}

/// The config of an event that is described by its number alone: "event=0x02".
[[nodiscard]] inline std::optional<std::uint64_t> config_of(std::string_view text) {
  constexpr std::string_view begin = "event=0x";
  if (!text.starts_with(begin)) return std::nullopt;
  std::uint64_t config = 0;
  constexpr int hexadecimal = 16;
  const char* const end = text.data() + text.size();
  const auto [rest, failed] = std::from_chars(text.data() + begin.size(), end, config, hexadecimal);
  return failed == std::errc() && rest == end ? std::optional(config) : std::nullopt;
}

/// An open event of the kernel on one processor.
class perf_count {
 public:
  /// Throws energy_error.
  perf_count(const perf_energy_event& event, int processor)
      : name_("perf_event power/" + event.name + "/") {
    perf_event_attr how{};
    how.size = sizeof how;
    how.type = event.type;
    how.config = event.config;
    file_ = static_cast<int>(
        ::syscall(SYS_perf_event_open, &how, -1, processor, -1, PERF_FLAG_FD_CLOEXEC));
    if (file_ >= 0) return;
    const bool refused = errno == EACCES || errno == EPERM;
    throw energy_error(fmt::format("{}: {}{}", name_, std::generic_category().message(errno),
                                   refused ? " (root, or kernel.perf_event_paranoid=0)" : ""));
  }
  perf_count(const perf_count&) = delete;
  perf_count& operator=(const perf_count&) = delete;
  ~perf_count() {
    if (file_ >= 0) ::close(file_);
  }

  [[nodiscard]] double read() const {
    std::uint64_t count = 0;
    if (::read(file_, &count, sizeof count) == sizeof count) return static_cast<double>(count);
    throw energy_error(name_ + ": cannot be read any more");
  }

 private:
  std::string name_;
  int file_ = -1;
};

}  // namespace detail

LAYERBENCH_INLINE std::vector<perf_energy_event> perf_energy_events(const machine::path& root) {
  const machine::path device = root / "sys/bus/event_source/devices/power";
  const auto type = machine::number_of(device / "type");
  const std::vector<int> processors =
      detail::numbers_of_list(machine::line_of(device / "cpumask").value_or(""));
  std::vector<perf_energy_event> found;
  for (const std::string name : {"energy-pkg", "energy-ram"}) {
    const machine::path file = device / "events" / name;
    const auto text = [&](const char* what) {
      return machine::line_of(file.string() + what).value_or("");
    };
    const auto config = detail::config_of(text(""));
    const double joules = parse_number<double>(text(".scale")).value_or(0);
    if (!type || processors.empty() || !config || !(joules > 0) || text(".unit") != "Joules") {
      continue;
    }
    found.push_back({name, static_cast<std::uint32_t>(*type), *config, joules, processors});
  }
  return found;
}

LAYERBENCH_INLINE std::unique_ptr<energy_counter> powercap_energy(
    const machine::path& root, std::vector<std::string>& reasons) {
  const machine::path all = root / "sys/class/powercap";
  std::error_code absent;
  std::vector<machine::path> packages;
  std::vector<machine::path> dram;
  // intel-rapl-mmio has the same packages again, and psys contains them.
  static const std::regex zone("intel-rapl:[0-9]+(:[0-9]+)?");
  for (const auto& entry : std::filesystem::directory_iterator(all, absent)) {
    if (!std::regex_match(entry.path().filename().string(), zone)) continue;
    const std::string name = machine::line_of(entry.path() / "name").value_or("");
    if (name.starts_with("package")) packages.push_back(entry.path());
    if (name == "dram") dram.push_back(entry.path());
  }
  if (packages.empty()) {
    reasons.push_back(all.string() + ": no zone intel-rapl:N with a package");
    return nullptr;
  }
  std::ranges::sort(packages);
  for (const machine::path& package : packages) {
    if (const auto reason = detail::unreadable_number(package / "energy_uj")) {
      reasons.push_back(*reason);
      return nullptr;
    }
  }
  const bool has_dram =
      dram.size() == packages.size() && std::ranges::none_of(dram, [](const auto& one) {
        return detail::unreadable_number(one / "energy_uj").has_value();
      });
  std::vector<energy_domain> domains;
  for (const machine::path& package : packages) {
    domains.push_back(detail::powercap_domain(package));
  }
  if (has_dram) {
    for (const machine::path& one : dram) domains.push_back(detail::powercap_domain(one));
  }
  return std::make_unique<domain_counter>(
      energy_source{"powercap", "processor's counter",
                    detail::coverage_of(packages.size(), has_dram)},
      std::move(domains));
}

LAYERBENCH_INLINE std::unique_ptr<energy_counter> perf_energy(const machine::path& root,
                                                              std::vector<std::string>& reasons) {
  const std::vector<perf_energy_event> events = perf_energy_events(root);
  if (events.empty() || events.front().name != "energy-pkg") {
    reasons.push_back((root / "sys/bus/event_source/devices/power").string() +
                      ": no event energy-pkg");
    return nullptr;
  }
  try {
    std::vector<energy_domain> domains;
    for (const perf_energy_event& event : events) {
      for (const int processor : event.processors) {
        const auto count = std::make_shared<detail::perf_count>(event, processor);
        const double scale = event.joules_per_count;
        domains.push_back({[count, scale] { return scale * count->read(); }});
      }
    }
    const std::string coverage =
        detail::coverage_of(events.front().processors.size(), events.size() > 1);
    return std::make_unique<domain_counter>(
        energy_source{"perf_event", "processor's counter", coverage}, std::move(domains));
  } catch (const energy_error& e) {
    reasons.emplace_back(e.what());
    return nullptr;
  }
}

LAYERBENCH_INLINE std::unique_ptr<energy_counter> processor_energy(const machine::path& root) {
  std::vector<std::string> reasons;
  if (auto counter = powercap_energy(root, reasons)) return counter;
  if (auto counter = perf_energy(root, reasons)) return counter;
  throw unavailable(
      fmt::format("--energy: no energy counter can be read: {}; name a meter with --meter",
                  fmt::join(reasons, "; ")));
}

}  // namespace layerbench::run
