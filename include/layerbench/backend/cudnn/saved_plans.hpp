// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/cudnn/engine.hpp>
#include <layerbench/shape/json.hpp>
#include <layerbench/shape/record_json.hpp>

namespace layerbench::cudnn {

/// What a saved plan is for: "conv/fwd/tf32/nhwc/n:1,c:64,...".
template <class Op>
[[nodiscard]] std::string work_of(const Op& op, const plan_request& request) {
  return fmt::format("{}/{}/{}/{}/{}", Op::name, name(request.pass), name(request.type),
                     name(request.order), key(op));
}

/// Plans that were chosen, by what they are for, so that they can be chosen again. Engines have
/// other numbers in other versions of the library and on other GPUs: both are part of it.
class saved_plans {
 public:
  saved_plans(std::string version, std::string gpu)
      : version_(std::move(version)), gpu_(std::move(gpu)) {}

  void add(const std::string& work, const engine_choice& choice) { choices_[work] = choice; }

  /// The choice for that work, or nothing.
  [[nodiscard]] std::optional<engine_choice> find(const std::string& work) const {
    const auto found = choices_.find(work);
    if (found == choices_.end()) return std::nullopt;
    return found->second;
  }

  /// The text of a file that keeps them.
  [[nodiscard]] std::string text() const {
    json::value file{{"schema", 1}, {"cudnn_version", version_}, {"gpu", gpu_}};
    json::value& plans = file["plans"] = json::value::object();
    for (const auto& [work, choice] : choices_) {
      json::value knobs = json::value::array();
      for (const knob& each : choice.knobs) knobs.push_back({each.type, each.value});
      plans[work] = {{"engine", choice.engine}, {"knobs", knobs}};
    }
    return file.dump(1) + "\n";
  }

  /// Adds those of the file. Throws bad_input, also where it is of another version or GPU.
  void read(const std::filesystem::path& path) {
    const json::value parsed = json::parse_file(path);
    const json::cursor file(parsed, path.string());
    const std::vector<std::string_view> keys{"schema", "cudnn_version", "gpu", "plans"};
    file.check_keys(keys, keys);
    if (json::read_size(file["schema"], {}) != 1) file["schema"].fail("only schema 1 is known");
    require(file["cudnn_version"], version_);
    require(file["gpu"], gpu_);
    const json::cursor plans = file["plans"];
    plans.require_object();
    for (const auto& item : plans.get().items()) add(item.key(), choice_at(plans[item.key()]));
  }

 private:
  static void require(const json::cursor& at, const std::string& expected) {
    if (at.text() == expected) return;
    at.fail(fmt::format("the plans were chosen for {}, here is {}; choose them again", at.text(),
                        expected));
  }

  [[nodiscard]] static engine_choice choice_at(const json::cursor& at) {
    at.check_keys({"engine", "knobs"}, {"engine", "knobs"});
    engine_choice made{json::read_size(at["engine"], {}, 0), {}};
    const json::cursor knobs = at["knobs"];
    knobs.require_array();
    for (std::size_t i = 0; i < knobs.get().size(); ++i) {
      const json::cursor each = knobs[i];
      if (!each.get().is_array() || each.get().size() != 2) each.fail("expected [type, value]");
      made.knobs.push_back({json::read_size(each[0], {}, 0), json::read_size(each[1], {}, 0)});
    }
    return made;
  }

  std::string version_;
  std::string gpu_;
  std::map<std::string, engine_choice> choices_;
};

}  // namespace layerbench::cudnn
