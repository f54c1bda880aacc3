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

/// A call, and the primitives that were created between the one before it and this one.
struct verbose_record {
  std::size_t primitive = 0;              ///< position in verbose_log::primitives
  double seconds = 0;                     ///< of the call
  std::optional<double> at_seconds = {};  ///< when it began, if the log has timestamps
  double creation = 0;                    ///< seconds, by the library's clock
  std::size_t created = 0;                ///< number of primitives
  std::size_t anew = 0;                   ///< those that the library's cache did not have
};

struct verbose_log {
  std::string file;
  std::string library = "oneDNN";  ///< whose calls these are
  std::string version;             ///< of the library; empty: unknown
  std::string isa;                 ///< the library's words for the instructions that it may use
  std::int64_t threads = 0;        ///< of the library; 0: unknown
  std::size_t processes = 0;       ///< lines "info,oneDNN v"
  std::size_t damaged = 0;         ///< cut lines, and lines that another process wrote into
  std::vector<std::string> notes = {};  ///< what the log lacks, for people
  std::vector<verbose_primitive> primitives = {};
  std::vector<verbose_record> records = {};
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
class problem_sizes {
 public:
  explicit problem_sizes(std::string_view problem);

  [[nodiscard]] bool has(std::string_view name) const { return sizes_.contains(name); }
  /// At most max_size.
  [[nodiscard]] std::int64_t of(std::string_view name, std::int64_t otherwise = 1) const;

 private:
  std::map<std::string, std::int64_t, std::less<>> sizes_;
};

/// The extents of each tensor in the text of a problem, such as "2x3:3x4"; nothing for other texts.
[[nodiscard]] std::optional<std::vector<dims>> extents_of(std::string_view problem);

}  // namespace layerbench::result

#ifndef LAYERBENCH_COMPILED
#include <layerbench/result/verbose_log-inl.hpp>
#endif
