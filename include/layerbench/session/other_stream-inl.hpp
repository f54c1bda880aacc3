// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/line_socket.hpp>
#include <layerbench/session/chain.hpp>
#include <layerbench/session/other_stream.hpp>
#include <layerbench/session/streams.hpp>
#include <layerbench/session/suite.hpp>

namespace layerbench::run {

namespace detail {

/// The chain of a case, with the suite that it is of. Throws what make_suite() throws.
class other_stream {
 public:
  other_stream(const options& o, const program& what, const registry& known,
               const std::string& model_case)
      : all_(make_suite(o, what, known, nullptr, [&](const std::vector<std::string>& names) {
          return std::ranges::any_of(names, [&](const std::string& name) {
            const auto row = result::parse_row(name);
            return row && row->model_case.text() == model_case;
          });
        })) {
    for (const chain_spec& one : all_.chains) {
      if (one.model_case.text() == model_case) chain_ = one.make();
    }
    if (!chain_) throw error(fmt::format("no step {}", model_case));
  }

  void step() {
    chain_->set_up();
    chain_->run(0, chain_->layers());
  }

  /// Repeats the step until there is a line for it; says when the caches are warm.
  void repeat(const line_socket& link) {
    chain_->activate();
    for (std::size_t i = 0; i < chain_->warm_up_steps(); ++i) step();
    link.send(std::string(running_answer));
    while (!link.has_input()) step();
  }

 private:
  suite all_;
  std::unique_ptr<chain> chain_;
};

}  // namespace detail

LAYERBENCH_INLINE void serve_stream(const options& o, const program& what, const registry& known) {
  const line_socket link(detail::stream_socket);
  std::map<std::string, detail::other_stream> steps;
  while (const auto line = link.receive()) {
    if (*line == detail::stop_command) link.send(std::string(detail::stopped_answer));
    if (*line == detail::end_command) steps.clear();
    if (!line->starts_with(detail::run_command)) continue;
    const std::string model_case = line->substr(detail::run_command.size());
    steps.try_emplace(model_case, o, what, known, model_case).first->second.repeat(link);
  }
}

}  // namespace layerbench::run
