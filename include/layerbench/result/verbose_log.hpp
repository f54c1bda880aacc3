// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/shape/dims.hpp>

/// Reads the log that oneDNN prints with ONEDNN_VERBOSE: the lines of 2.x, of 3.x, and those that
/// begin with "onednn_verbose,v1"
/// (https://uxlfoundation.github.io/oneDNN/dev_guide_verbose.html).
namespace layerbench::result {

/// A tensor of a primitive as the log describes it.
struct verbose_tensor {
  std::string_view name;  ///< src wei bia dst, or of gradients diff_src and so on
  std::string_view type;  ///< f32 and so on; "undef" where there is no such tensor
  std::string_view tag;   ///< memory order, such as aBcd16b
};

/// A primitive as the log describes it: the fields of a line, which all calls of it share.
struct verbose_primitive {
  std::string engine, kind, implementation, prop, memory, attributes, auxiliary, problem;
  /// Why the library refused faster implementations (lines create:dispatch), each once.
  std::vector<std::string> refusals = {};

  [[nodiscard]] std::vector<verbose_tensor> tensors() const;
  /// The tensor of that name; a type of "undef" if there is none.
  [[nodiscard]] verbose_tensor tensor(std::string_view name) const;
  /// The value behind `key` and a colon in the auxiliary field, such as "eltwise_relu" of "alg".
  [[nodiscard]] std::string_view setting(std::string_view key) const;
  /// Whether the library's slow reference code computes it: "ref:any", "simple:any" and so on.
  [[nodiscard]] bool is_reference() const;
};

enum class verbose_event : std::uint8_t { exec, create_miss, create_hit };

/// A line that says how long a call or the creation of a primitive took.
struct verbose_record {
  verbose_event event;
  std::size_t primitive;  ///< position in verbose_log::primitives
  double seconds;
  std::optional<double> at_seconds;  ///< when it began, if the log has timestamps
};

/// What the lines of a log are.
struct verbose_counts {
  std::size_t lines = 0;
  std::size_t headers = 0;  ///< of processes: lines "info,oneDNN v"
  std::size_t others = 0;   ///< known lines that are not timed: info, dispatch, checks
  std::size_t graphs = 0;   ///< partitions of the graph API, whose primitives have their own lines
  std::size_t damaged = 0;  ///< cut lines, and lines that another process wrote into
  std::size_t foreign = 0;  ///< text of other programs
};

struct verbose_log {
  std::string file;
  std::string version;       ///< of oneDNN; empty: unknown
  std::string isa;           ///< the library's words for the instructions that it may use
  std::int64_t threads = 0;  ///< of the library; 0: unknown
  std::vector<verbose_primitive> primitives = {};
  std::vector<verbose_record> records = {};
  verbose_counts counts = {};

  /// Positions in `records` of the calls.
  [[nodiscard]] std::vector<std::size_t> calls() const;
};

/// Reads a log, whatever text stands between its lines. Lines that cannot be read are counted.
[[nodiscard]] verbose_log read_verbose(std::istream& text, std::string file);

/// The same of a file; "-" is stdin. Throws bad_input for a file that cannot be read or has no
/// timed call.
[[nodiscard]] verbose_log read_verbose(const std::filesystem::path& path);

/// A sequence of numbers that repeats: elements [first, first + period * steps) are `steps` equal
/// parts.
struct repeated_step {
  std::size_t first = 0;
  std::size_t period = 0;
  std::size_t steps = 1;
};

/// The repetition that covers most of a sequence, by its smallest period; the elements before it
/// (warm-up) and behind it (a cut step) belong to none. The whole sequence as one step if nothing
/// repeats over at least half of it.
[[nodiscard]] repeated_step find_step(const std::vector<std::size_t>& sequence);

/// A call of a step, and its median time over all steps.
struct verbose_call {
  std::size_t primitive;
  double seconds;
  /// Of a reorder: the call of the step whose tensor it brings into another order, and that tensor.
  std::optional<std::size_t> reorders_for = {};
  std::string_view reordered = {};  ///< src wei dst
};

/// The step of a log.
struct verbose_step {
  repeated_step place;  ///< among the calls of the log
  std::vector<verbose_call> calls = {};
  double seconds = 0;  ///< of all calls in one step, mean of all steps
};

/// The repeated step of a log, of three or more steps without the first; the whole log as one step
/// if it is to be `whole`.
[[nodiscard]] verbose_step step_of(const verbose_log& log, bool whole = false);

/// A number from 0 on that is the whole text; nothing for other texts.
[[nodiscard]] std::optional<double> verbose_number(std::string_view text);

/// The sizes in the text of a problem, such as 64 for "ic" in "mb1_ic64oc128".
[[nodiscard]] std::map<std::string, std::int64_t, std::less<>> sizes_of(std::string_view problem);

/// The extents of each tensor in the text of a problem, such as "2x3:3x4"; nothing for other texts.
[[nodiscard]] std::optional<std::vector<dims>> extents_of(std::string_view problem);

}  // namespace layerbench::result

#ifndef LAYERBENCH_COMPILED
#include <layerbench/result/verbose_log-inl.hpp>
#endif
