// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/backend/list.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/session/program.hpp>
#include <layerbench/timing/mode.hpp>

/// Which backends a program uses.
namespace layerbench::run::detail {

/// Why each backend cannot be used here, or nothing: those of this build first, then those that it
/// lacks.
template <backend... Bs>
[[nodiscard]] std::vector<std::pair<std::string, std::optional<std::string>>> probe_all(
    backend_list<Bs...> /*built*/, bool collective) {
  std::vector<std::pair<std::string, std::optional<std::string>>> all{
      {std::string(Bs::name), Bs::probe()}...};
  for (const unbuilt_backend& item : unbuilt_backends) {
    if (item.collective != collective) continue;
    all.emplace_back(item.name,
                     fmt::format("not part of this build; configure with -D{}=ON", item.option));
  }
  return all;
}

/// The backends to use: those asked for (throws `unavailable` when one cannot run, usage_error when
/// nobody knows it), else all that can, else the reference.
template <backend... Bs>
[[nodiscard]] std::vector<std::string> chosen_backends(const options& o, const program& what,
                                                       backend_list<Bs...> built,
                                                       std::vector<std::string>& notes) {
  const auto all = probe_all(built, what.collective);
  const auto unranked = [&](const std::string& of) {
    return o.data_parallel && ((Bs::name == of && !on_host<Bs>) || ...);
  };
  for (const std::string& name : o.backends) {
    const auto found = std::ranges::find(all, name, &decltype(all)::value_type::first);
    if (found == all.end()) {
      std::string known;
      for (const auto& [item, reason] : all) known += " " + item;
      throw usage_error(fmt::format("--backend: unknown backend '{}'; known:{}", name, known));
    }
    const bool plans = std::size_t(found - all.begin()) < sizeof...(Bs);  // listing needs no more
    if (found->second && !(plans && (o.list || o.list_tests))) {
      throw unavailable(fmt::format("backend {} cannot run here: {}", name, *found->second));
    }
    if (unranked(name)) {
      throw usage_error(
          fmt::format("--ranks: {} has memory of its own; name a backend of the CPU", name));
    }
  }
  if (!o.backends.empty()) return o.backends;
  const auto few_ops = [](const std::string& of) {
    return ((Bs::name == of && has_few_ops<Bs>) || ...);
  };
  std::vector<std::string> usable;
  std::vector<std::string> lacking;
  for (const auto& [name, reason] : all) {
    if (name == reference::backend::name) continue;
    if (!reason && unranked(name)) {
      notes.push_back(fmt::format("backend {} is left out: --ranks is for the CPU's", name));
      continue;
    }
    if (!reason) {
      if (!what.whole_model() || !few_ops(name)) usable.push_back(name);
      continue;
    }
    const bool built_in = ((name == Bs::name) || ...);
    (built_in ? notes : lacking)
        .push_back(fmt::format("backend {} is left out: {}", name, *reason));
  }
  if (usable.empty()) {
    notes.insert(notes.end(), lacking.begin(), lacking.end());
    notes.emplace_back(
        "no library can run here: timing the reference backend, which is slow and "
        "says nothing about this machine");
    usable.emplace_back(reference::backend::name);
  }
  return usable;
}

/// What the backends of these names say of their libraries and their device.
template <backend... Bs>
[[nodiscard]] description libraries(const std::vector<std::string>& used,
                                    backend_list<Bs...> /*built*/) {
  description facts;
  const auto add = [&]<backend B>(std::type_identity<B> /*tag*/) {
    if (std::ranges::find(used, B::name) != used.end()) B::describe(facts);
  };
  (add(std::type_identity<Bs>{}), ...);
  return facts;
}

/// Has the backends of these names use that device. Throws usage_error where none of them has
/// several, and unavailable where it is not there.
template <backend... Bs>
void choose_device(int number, const std::vector<std::string>& used,
                   backend_list<Bs...> /*built*/) {
  if (number == 0) return;
  bool chosen = false;
  const auto choose = [&]<backend B>(std::type_identity<B> /*tag*/) {
    if constexpr (has_devices<B>) {
      if (std::ranges::find(used, B::name) == used.end()) return;
      B::choose(number);
      chosen = true;
    }
  };
  (choose(std::type_identity<Bs>{}), ...);
  if (!chosen) {
    throw usage_error(fmt::format("--device={}: there is no device to choose for {}", number,
                                  fmt::join(used, ", ")));
  }
}

/// Whether that backend leaves the choice how its calls are timed.
template <backend... Bs>
[[nodiscard]] bool has_timings(std::string_view name, backend_list<Bs...> /*built*/) {
  return ((Bs::name == name && has_graphs<Bs>) || ...);
}

/// How calls are timed on those of these backends that leave the choice; what are no parts of
/// steps, in a stream. Throws usage_error where something was asked for and none of them does.
template <backend... Bs>
[[nodiscard]] timing_mode timing_of(const options& o, const program& what,
                                    const std::vector<std::string>& used,
                                    backend_list<Bs...> built) {
  if (!what.of_steps()) return timing_mode::stream;
  if (o.timing.empty()) return default_timing(o.phase);
  const auto leaves_it = [&](const std::string& name) { return has_timings(name, built); };
  if (std::ranges::any_of(used, leaves_it)) return from_name<timing_mode>(o.timing).value();
  throw usage_error(fmt::format("--timing={}: calls are timed in one way only by {}", o.timing,
                                fmt::join(used, ", ")));
}

/// How many ranks a backend reaches; nothing where they are all in this program.
template <backend... Bs>
[[nodiscard]] std::optional<std::int64_t> ranks_of(std::string_view name,
                                                   backend_list<Bs...> /*built*/) {
  std::optional<std::int64_t> found;
  const auto look = [&]<backend B>(std::type_identity<B> /*tag*/) {
    if constexpr (has_ranks<B>) {
      if (B::name == name) found = B::ranks();
    }
  };
  (look(std::type_identity<Bs>{}), ...);
  return found;
}

/// Says of which backends the rows tell nothing of communication.
template <backend... Bs>
void note_ranks(const std::vector<std::string>& used, backend_list<Bs...> /*built*/,
                std::vector<std::string>& notes) {
  const auto note = [&]<backend B>(std::type_identity<B> /*tag*/) {
    if (std::ranges::find(used, B::name) == used.end()) return;
    if constexpr (!has_ranks<B>) {
      notes.push_back(
          fmt::format("{}: all ranks are in this program, so nothing is communicated", B::name));
    } else if (B::ranks() == 1) {
      notes.push_back(
          fmt::format("{}: one rank, so nothing is communicated; {}", B::name, B::more_ranks));
    }
  };
  (note(std::type_identity<Bs>{}), ...);
}

/// Does what the first of a team of processes says, to its end; false where this is the first.
template <backend... Bs>
[[nodiscard]] bool served_first_rank(backend_list<Bs...> /*built*/) {
  const auto serve_first_rank = []<backend B>(std::type_identity<B> /*tag*/) {
    if constexpr (led_by_first_rank<B>) return B::serve_first_rank();
    return false;
  };
  return (serve_first_rank(std::type_identity<Bs>{}) || ...);
}

}  // namespace layerbench::run::detail
