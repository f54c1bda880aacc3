// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/plain_text.hpp>
#include <layerbench/op/memory_order.hpp>

#include "logged_call.hpp"
#include "read_log.hpp"

namespace layerbench::tool::importer {
namespace {

/// What the format lets an event say of itself, beside its time.
struct event_text {
  std::string name, category, thread, op, provider;
  /// JSON of the arguments in argument_names.
  std::array<std::string, 6> arguments;
};

constexpr std::array<std::string_view, 6> argument_names{"input_type_shape", "output_type_shape",
                                                         "Input Dims",       "Input type",
                                                         "Input Strides",    "Concrete Inputs"};

/// Text in quotes, without what would need an escape in JSON.
std::string quoted(std::string text) {
  std::erase_if(text, [](char c) { return c == '"' || c == '\\' || is_control(c); });
  return '"' + text + '"';
}

/// The list in an argument; an empty one for other text.
json::value list_in(const std::string& text) {
  json::value list = json::value::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!list.is_array()) list = json::value::array();  // a copy of deep lists would recurse
  return list;
}

/// The numbers of a list; nothing if one is none from `least` to `most`.
dims numbers_of(const json::value& list, std::int64_t least, std::int64_t most) {
  dims numbers;
  if (!list.is_array()) return {};
  for (const json::value& one : list) {
    if (!one.is_number_integer() || one > most || one < least) return {};
    numbers.push_back(one.get<std::int64_t>());
  }
  return numbers;
}

/// Axes for which orders have letters, as oneDNN's tensors.
constexpr std::size_t most_letters = 12;

/// Axes by their strides, the largest first; empty if elements lie apart or are repeated.
std::string order_of(const dims& extents, const dims& strides) {
  if (strides.size() != extents.size() || extents.size() > most_letters) return {};
  std::string order = op::plain_order(extents);
  const auto stride = [&](char axis) { return strides[static_cast<std::size_t>(axis - 'a')]; };
  std::ranges::stable_sort(order, [&](char a, char b) { return stride(a) > stride(b); });
  std::int64_t expected = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i] - 'a');
    if (extents[axis] > 1 && strides[axis] != expected) return {};
    expected = std::max(expected, strides[axis] * extents[axis]);
  }
  return order;
}

/// Tensors such as [{"float":[1,3,224,224]}].
std::vector<logged_operand> onnx_tensors(const json::value& list, bool is_blocked) {
  std::vector<logged_operand> tensors;
  for (const json::value& one : list) {
    logged_operand& tensor = tensors.emplace_back();
    if (!one.is_object() || one.empty()) continue;
    tensor.type = one.begin().key();
    tensor.extents = numbers_of(one.begin().value(), 1, max_size);
    const bool has_letters = tensor.extents.size() <= most_letters;
    if (has_letters && !is_blocked) tensor.order = op::plain_order(tensor.extents);
  }
  return tensors;
}

logged_call call_of(const event_text& of) {
  if (!of.op.empty()) {
    // Nodes in a memory order with blocks of channels, which the profile does not name.
    const bool is_blocked = of.name.find("_nchwc") != std::string::npos ||
                            of.op == "ReorderInput" || of.op == "ReorderOutput";
    const bool on_cpu = of.provider.empty() || of.provider == "CPUExecutionProvider";
    return {of.op, of.op + ' ' + of.name, on_cpu ? "cpu" : of.provider,
            onnx_tensors(list_in(of.arguments[0]), is_blocked),
            onnx_tensors(list_in(of.arguments[1]), is_blocked)};
  }
  logged_call call{of.name, of.name};
  const json::value all = list_in(of.arguments[2]);
  const json::value types = list_in(of.arguments[3]);
  const json::value strides = list_in(of.arguments[4]);
  const json::value values = list_in(of.arguments[5]);
  const auto text = [](const json::value& list, std::size_t i) {
    return i < list.size() && list[i].is_string() ? list[i].get<std::string>() : "";
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_list = all[i].is_array() && !all[i].empty() && all[i][0].is_array();
    if (is_list) {  // of tensors, as concatenations have
      for (const json::value& one : all[i]) {
        call.inputs.push_back({numbers_of(one, 1, max_size), text(types, i)});
      }
      continue;
    }
    const dims extents = numbers_of(all[i], 1, max_size);
    constexpr std::int64_t most = std::int64_t{1} << 31U;
    call.inputs.push_back(
        {extents, text(types, i),
         i < strides.size() ? order_of(extents, numbers_of(strides[i], 0, most)) : "",
         text(values, i)});
  }
  return call;
}

/// Reads events one by one. What they have in common is kept once.
class trace_reader : public json::value::json_sax_t {
 public:
  explicit trace_reader(std::string file) { log_.file = std::move(file); }

  bool null() override { return add("null"); }
  bool boolean(bool value) override { return add(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return number(value);
  }
  bool string(string_t& value) override {
    if (depth_ == event_depth_) {
      if (key_ == "name") event_.name = value;
      if (key_ == "cat") event_.category = value;
      if (key_ == "tid") event_.thread = value;
    } else if (depth_ == event_depth_ + 1) {
      if (key_ == "op_name") event_.op = value;
      if (key_ == "provider") event_.provider = value;
    }
    if (argument_ == nullptr) return true;
    return add(quoted(value));
  }
  bool binary(binary_t& /*value*/) override { return true; }

  bool start_object(std::size_t /*count*/) override {
    open('{');
    if (depth_ == event_depth_) {
      event_ = {};
      begin_ = duration_ = std::nullopt;
      threads_ = 0;
    }
    return true;
  }
  bool start_array(std::size_t /*count*/) override { return open('['); }
  bool key(string_t& value) override {
    if (depth_ <= event_depth_ + 1) {
      key_ = value;
      argument_ = nullptr;
      if (value == "thread_scheduling_stats") threads_ = 1;
      const auto found = std::ranges::find(argument_names, value);
      if (depth_ == event_depth_ + 1 && found != argument_names.end()) {
        argument_ = &event_.arguments[static_cast<std::size_t>(found - argument_names.begin())];
      }
    } else if (key_ == "thread_scheduling_stats") {
      if (value == "num_run" && threads_ < most_threads) ++threads_;
    } else {
      if (add(quoted(value)) && argument_ != nullptr) *argument_ += ':';
    }
    return true;
  }
  bool end_object() override { return close('}'); }
  bool end_array() override { return close(']'); }

  bool parse_error(std::size_t at, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    cut_ = at;
    return false;
  }

  [[nodiscard]] result::verbose_log take() {
    if (events_.empty()) {
      throw bad_input(log_.file, "",
                      (cut_ ? fmt::format("is damaged at byte {} and ", *cut_) : std::string()) +
                          "has no timed op; ONNX Runtime writes them with enable_profiling, "
                          "PyTorch with ProfilerActivity.CPU");
    }
    add_calls();
    add_notes();
    return std::move(log_);
  }

 private:
  static constexpr std::int64_t most_threads = 100'000;

  /// In microseconds.
  struct event {
    double begin, duration;
    std::uint32_t primitive, thread;
    [[nodiscard]] double end() const { return begin + duration; }
  };

  /// Time of all events of a primitive, and of those within them.
  struct total {
    double all = 0, within = 0;
    bool is_known = false;
  };

  bool add(std::string_view text) {
    if (argument_ == nullptr) return true;
    if (!argument_->empty() &&
        std::string_view("[{:").find(argument_->back()) == std::string::npos) {
      *argument_ += ',';
    }
    *argument_ += text;
    return true;
  }

  bool number(double value) {
    if (depth_ == event_depth_) {
      if (key_ == "ts") begin_ = value;
      if (key_ == "dur") duration_ = value;
      if (key_ == "tid") event_.thread = fmt::format("{}", value);
    }
    return argument_ == nullptr || add(fmt::format("{}", value));
  }

  bool open(char bracket) {
    if (depth_ == 0) event_depth_ = bracket == '[' ? 2 : 3;  // or in the field traceEvents
    ++depth_;
    return add({&bracket, 1});
  }

  bool close(char bracket) {
    if (argument_ != nullptr && depth_ > event_depth_ + 1) *argument_ += bracket;
    if (depth_ == event_depth_ && bracket == '}') finish();
    --depth_;
    if (depth_ <= event_depth_) argument_ = nullptr;
    return true;
  }

  void finish() {
    constexpr std::string_view suffix = "_kernel_time";
    const bool is_node = event_.category == "Node";
    if (event_.category == "kernel" || event_.category.starts_with("gpu_mem")) {
      ++gpu_events_;
      gpu_seconds_ += std::max(0.0, duration_.value_or(0)) * 1e-6;
    }
    if (!is_node && event_.category != "cpu_op" && event_.category != "Operator") return;
    if (is_node && !event_.name.ends_with(suffix)) return;  // a fence
    if (!begin_ || !duration_ || *duration_ < 0) return static_cast<void>(++log_.damaged);
    if (is_node) {
      event_.name.resize(event_.name.size() - suffix.size());
      log_.threads = std::max(log_.threads, threads_);
    } else {
      event_.op.clear();
      // Values such as a learning rate differ from step to step.
      if (!has_primitive(event_.name)) event_.arguments.back().clear();
    }
    is_onnx_ = is_onnx_ || is_node;
    const auto thread =
        threads_seen_.try_emplace(event_.thread, threads_seen_.size()).first->second;
    events_.push_back({*begin_, *duration_, known(), static_cast<std::uint32_t>(thread)});
  }

  /// The position of the event's primitive.
  [[nodiscard]] std::uint32_t known() {
    std::string text = event_.name + '\n' + event_.op + '\n' + event_.provider;
    for (const std::string& one : event_.arguments) text += '\n' + one;
    const auto [found, is_new] = by_text_.try_emplace(std::move(text), 0);
    if (!is_new) return found->second;
    const logged_call call = call_of(event_);
    for (const logged_operand& one : call.inputs) has_sizes_ = has_sizes_ || !one.extents.empty();
    result::verbose_primitive primitive = primitive_of(call);
    const std::string same = fmt::format(
        "{}\n{}\n{}\n{}\n{}\n{}\n{}", primitive.engine, primitive.kind, primitive.implementation,
        primitive.memory, primitive.attributes, primitive.auxiliary, primitive.problem);
    const auto [position, is_other] = by_primitive_.try_emplace(same, log_.primitives.size());
    if (is_other) {
      log_.primitives.push_back(std::move(primitive));
      totals_.push_back({.is_known = has_primitive(call.op)});
    }
    return found->second = static_cast<std::uint32_t>(position->second);
  }

  /// Of events within each other, those are calls that are known, or whose time is mostly their
  /// own. The rest of the others' time is between calls.
  void add_calls() {
    std::ranges::sort(events_, {}, [](const event& one) {
      return std::tuple(one.thread, one.begin, -one.duration);
    });
    constexpr double rounding = 1;  // of begin and duration
    std::vector<const event*> around;
    for (const event& one : events_) {
      while (!around.empty() &&
             (around.back()->thread != one.thread || around.back()->end() <= one.begin)) {
        around.pop_back();
      }
      totals_[one.primitive].all += one.duration;
      const bool is_inner = !around.empty() && one.end() <= around.back()->end() + rounding;
      if (is_inner) totals_[around.back()->primitive].within += one.duration;
      around.push_back(&one);
    }
    const event* call = nullptr;
    std::vector<event> calls;
    for (const event& one : events_) {
      if (call != nullptr && call->thread == one.thread && one.begin < call->end() &&
          one.end() <= call->end() + rounding) {
        continue;
      }
      const total& of = totals_[one.primitive];
      if (!of.is_known && of.within * 2 > of.all) continue;
      call = &one;
      calls.push_back(one);
    }
    std::ranges::stable_sort(calls, {}, &event::begin);
    for (const event& one : calls) {
      log_.records.push_back({one.primitive, one.duration * 1e-6, one.begin * 1e-6});
    }
  }

  void add_notes() {
    log_.library = is_onnx_ ? "ONNX Runtime" : "PyTorch";
    const auto note = [&](std::string text) { log_.notes.push_back(std::move(text)); };
    if (cut_)
      note(fmt::format("the log is cut or damaged at byte {}; the rest is not read", *cut_));
    if (!has_sizes_)
      note("the log has no sizes of tensors; PyTorch writes them with record_shapes");
    if (gpu_events_ > 0) {
      note(fmt::format("{} events on GPUs, {} ms, are not read: they have no sizes", gpu_events_,
                       format::milliseconds(gpu_seconds_)));
    }
    if (is_onnx_) note(std::string(no_attributes));
  }

  result::verbose_log log_;
  std::size_t depth_ = 0;
  std::size_t event_depth_ = 0;
  std::string key_;                  ///< of the event, or of its arguments
  std::string* argument_ = nullptr;  ///< that is being read
  event_text event_;
  std::optional<double> begin_, duration_;
  std::optional<std::size_t> cut_;
  std::int64_t threads_ = 0;  ///< of the event; 0: unknown
  std::size_t gpu_events_ = 0;
  double gpu_seconds_ = 0;
  bool has_sizes_ = false;
  bool is_onnx_ = false;
  std::vector<event> events_;
  std::vector<total> totals_;  ///< by primitive
  std::unordered_map<std::string, std::uint32_t> by_text_;
  std::unordered_map<std::string, std::size_t> by_primitive_, threads_seen_;
};

}  // namespace

result::verbose_log read_trace(std::istream& text, std::string file) {
  trace_reader reader(std::move(file));
  json::value::sax_parse(text, &reader, json::value::input_format_t::json, /*strict=*/false);
  return reader.take();
}

}  // namespace layerbench::tool::importer
