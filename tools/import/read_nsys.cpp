// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sqlite3.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/parse_number.hpp>

#include "logged_call.hpp"
#include "read_log.hpp"

namespace layerbench::tool::importer {
namespace {

/// The UTF-8 text of a column, empty for NULL. Valid until the next row.
std::string_view text_in(sqlite3_stmt* row, int column) {
  const unsigned char* begin = sqlite3_column_text(row, column);
  if (begin == nullptr) return {};
  return {reinterpret_cast<const char*>(begin),
          static_cast<std::size_t>(sqlite3_column_bytes(row, column))};
}

/// A database to read. All functions throw bad_input for errors of SQLite.
class database {
 public:
  database(const std::string& path, std::string name) : name_(std::move(name)) {
    sqlite3* opened = nullptr;
    const int status = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
    connection_.reset(opened);
    check(status);
    // The file may come from a stranger.
    for_rows("PRAGMA trusted_schema=OFF", [](sqlite3_stmt* /*row*/) {});
  }

  /// Whether the file has this table. Views do not count: they may have endless rows.
  [[nodiscard]] bool has(const std::string& table) const {
    bool found = false;
    for_rows(
        "SELECT 1 FROM sqlite_master WHERE type='table' AND rootpage>0 AND name='" + table + "'",
        [&](sqlite3_stmt* /*row*/) { found = true; });
    return found;
  }

  template <class Function>
  void for_rows(const std::string& query, Function function) const {
    sqlite3_stmt* row = nullptr;
    check(sqlite3_prepare_v2(connection_.get(), query.c_str(), -1, &row, nullptr));
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> owner(row, sqlite3_finalize);
    int status = SQLITE_OK;
    while ((status = sqlite3_step(row)) == SQLITE_ROW) function(row);
    check(status == SQLITE_DONE ? SQLITE_OK : status);
  }

 private:
  void check(int status) const {
    if (status == SQLITE_OK) return;
    throw bad_input(name_, "",
                    fmt::format("cannot be read as an SQLite export of Nsight Systems: {}",
                                sqlite3_errmsg(connection_.get())));
  }

  std::string name_;
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> connection_{nullptr, sqlite3_close};
};

/// The text after `name`; empty if it is not there.
std::string_view behind(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  return at == std::string_view::npos ? std::string_view{} : text.substr(at + name.size());
}

/// The extents in a text such as "[[10], [32, 5], []]"; of empty tensors none.
std::vector<dims> extents_in(std::string_view text) {
  std::vector<dims> all;
  text.remove_prefix(std::min<std::size_t>(text.size(), 1));
  while (!text.empty()) {
    if (text.front() == '[') all.emplace_back();
    const auto size = take_number<std::int64_t>(text);
    if (!size) text.remove_prefix(1);
    if (size && !all.empty()) all.back().push_back(std::clamp<std::int64_t>(*size, 0, max_size));
  }
  for (dims& one : all) {
    if (std::ranges::find(one, 0) != one.end()) one.clear();
  }
  return all;
}

/// An id that differs between processes. The upper bits of a thread's id are those of its process.
std::uint64_t id_of(std::int64_t thread, std::uint64_t number) {
  return (static_cast<std::uint64_t>(thread) >> 24U) * 0x9E3779B97F4A7C15U + number;
}

/// Joins the tables of an export: ranges with sizes, the calls within them that start work of a
/// GPU, and this work.
class export_reader {
 public:
  export_reader(const std::string& path, const std::string& name) : tables_(path, name) {
    log_.file = name;
  }

  [[nodiscard]] result::verbose_log take() {
    if (tables_.has("CUPTI_ACTIVITY_KIND_RUNTIME")) read_starts();
    read_work();
    if (tables_.has("NVTX_EVENTS")) read_ranges();
    find_ranges();
    add_calls();
    add_notes();
    return std::move(log_);
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  /// A range's name and the extents of the tensors that its op reads.
  struct sized_op {
    std::string name;
    std::vector<dims> tensors;
    bool is_known;
  };

  struct range {
    std::int64_t thread, begin, end;  ///< nanoseconds
    std::uint64_t id;                 ///< of the op that runs
    std::uint32_t op;
    std::uint32_t outer = none;
    std::uint32_t call = none;  ///< of the ranges around it the outermost known op, or itself
  };

  /// A kernel or copy.
  struct work {
    std::int64_t begin;  ///< nanoseconds
    double seconds;
    std::string_view name;
    std::pair<std::int64_t, std::int64_t> start;  ///< thread and time of the call that starts it
    std::uint32_t range = none;
  };

  void read_starts() {
    tables_.for_rows("SELECT globalTid, correlationId, start FROM CUPTI_ACTIVITY_KIND_RUNTIME",
                     [&](sqlite3_stmt* row) {
                       const std::int64_t thread = sqlite3_column_int64(row, 0);
                       const auto id = static_cast<std::uint64_t>(sqlite3_column_int64(row, 1));
                       starts_.try_emplace(id_of(thread, id), thread, sqlite3_column_int64(row, 2));
                     });
  }

  void read_work() {
    constexpr std::pair<const char*, const char*> all[]{
        {"CUPTI_ACTIVITY_KIND_KERNEL", "(SELECT value FROM StringIds WHERE id = shortName)"},
        {"CUPTI_ACTIVITY_KIND_MEMCPY",
         "CASE copyKind WHEN 1 THEN 'memcpy to device' WHEN 2 THEN 'memcpy to host' "
         "ELSE 'memcpy' END"},
        {"CUPTI_ACTIVITY_KIND_MEMSET", "'memset'"},
        {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "'CUDA graph'"}};
    for (const auto& [table, name] : all) {
      if (!tables_.has(table)) continue;
      const std::string query = fmt::format(
          R"(SELECT start, "end" - start, globalPid, correlationId, {} FROM {})", name, table);
      tables_.for_rows(query, [&](sqlite3_stmt* row) {
        const auto integer = [&](int column) { return sqlite3_column_int64(row, column); };
        if (sqlite3_column_type(row, 1) != SQLITE_INTEGER || integer(1) < 0) {
          return static_cast<void>(++log_.damaged);
        }
        processes_.insert(integer(2));
        const std::string_view text = *names_.emplace(text_in(row, 4)).first;
        // Copies from and to the host are no reorders: no other memory order would avoid them.
        const auto found =
            text.starts_with("memcpy to")
                ? starts_.end()
                : starts_.find(id_of(integer(2), static_cast<std::uint64_t>(integer(3))));
        work_.push_back({integer(0), static_cast<double>(integer(1)) * 1e-9, text,
                         found == starts_.end() ? std::pair(INT64_MAX, INT64_MAX) : found->second});
      });
    }
    if (work_.empty()) {
      throw bad_input(log_.file, "",
                      "has no work of a GPU; record it with 'nsys profile --trace=cuda,nvtx'");
    }
  }

  void read_ranges() {
    // Pushed and popped ranges, of NVTX and of files in its format.
    tables_.for_rows(
        R"(SELECT start, "end", globalTid,
           coalesce(text, (SELECT value FROM StringIds WHERE id = textId)) FROM NVTX_EVENTS
           WHERE eventType IN (59, 70) AND "end" IS NOT NULL ORDER BY globalTid, start, "end" DESC)",
        [&](sqlite3_stmt* row) {
          const std::string_view text = text_in(row, 3);
          std::string_view sizes = behind(text, ", sizes = ");
          std::string_view read = behind(sizes, ", input_op_ids = ");
          sizes = sizes.substr(0, sizes.find(", input_op_ids"));
          if (sizes.empty()) return;
          const std::string_view name = text.substr(0, text.find(", "));
          const auto next = static_cast<std::uint32_t>(ops_.size());
          const auto [op, is_new] = by_text_.try_emplace(fmt::format("{}\n{}", name, sizes), next);
          if (is_new) ops_.push_back({std::string(name), extents_in(sizes), has_primitive(name)});
          const std::int64_t thread = sqlite3_column_int64(row, 2);
          const auto take_id = [&](std::string_view& from) {
            return take_number<std::uint64_t>(from).value_or(0);
          };
          std::string_view id = behind(text, ", op_id = ");
          ranges_.push_back({thread, sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1),
                             id_of(thread, take_id(id)), op->second});
          // Ids and numbers of the results that the op reads, such as "[(6,0), (0,-1)]".
          for (const dims& tensor : ops_[op->second].tensors) {
            read = behind(read, "(");
            const std::uint64_t writer = take_id(read);
            if (read.starts_with(",0)")) results_.try_emplace(id_of(thread, writer), &tensor);
          }
        });
  }

  /// Finds the ranges around the starts of work.
  void find_ranges() {
    std::ranges::sort(work_, {}, &work::start);
    std::vector<std::uint32_t> around;
    const auto leave = [&](std::pair<std::int64_t, std::int64_t> at) {
      while (!around.empty() &&
             std::pair(ranges_[around.back()].thread, ranges_[around.back()].end) <= at) {
        around.pop_back();
      }
    };
    std::uint32_t next = 0;
    for (work& one : work_) {
      for (; next < ranges_.size(); ++next) {
        const std::pair begin(ranges_[next].thread, ranges_[next].begin);
        if (begin > one.start) break;
        leave(begin);
        range& inner = ranges_[next];
        if (!around.empty()) inner.outer = around.back();
        const std::uint32_t call = around.empty() ? next : ranges_[inner.outer].call;
        inner.call = ops_[ranges_[call].op].is_known ? call : next;
        around.push_back(next);
      }
      leave(one.start);
      if (!around.empty()) one.range = ranges_[around.back()].call;
    }
  }

  /// Adds one call per range, and one for each work outside of ranges.
  void add_calls() {
    struct call {
      result::verbose_record record;
      std::uint32_t range;
      std::vector<std::string_view> names;
    };
    std::vector<call> calls;
    std::unordered_map<std::uint32_t, std::size_t> by_range;
    std::ranges::stable_sort(work_, {}, &work::begin);
    constexpr std::size_t most = 8;  // names in a text for people
    for (const work& one : work_) {
      // Since the first one: a time since 1970 has no nanoseconds in a double.
      const double at = static_cast<double>(static_cast<std::uint64_t>(one.begin) -
                                            static_cast<std::uint64_t>(work_.front().begin)) *
                        1e-9;
      std::size_t i = calls.size();
      if (one.range != none) i = by_range.try_emplace(one.range, i).first->second;
      if (i == calls.size()) calls.push_back({{0, 0, at}, one.range, {}});
      calls[i].record.seconds += one.seconds;
      std::vector<std::string_view>& names = calls[i].names;
      if (names.size() < most && std::ranges::find(names, one.name) == names.end()) {
        names.push_back(one.name);
      }
      (one.range == none ? seconds_beside_ : seconds_within_) += one.seconds;
    }
    for (call& one : calls) {
      one.record.primitive = primitive_for(one.range, fmt::format("{}", fmt::join(one.names, "+")));
      log_.records.push_back(one.record);
    }
  }

  /// The position of the primitive for work of these names in a range.
  [[nodiscard]] std::size_t primitive_for(std::uint32_t of, const std::string& names) {
    std::string key = names;
    result::verbose_primitive primitive{"cuda", names, "kernel " + names, "", "", "", "", ""};
    if (of != none) {
      const sized_op& op = ops_[ranges_[of].op];
      logged_call call{op.name, fmt::format("{} {}", op.name, names), "cuda"};
      for (const dims& one : op.tensors) call.inputs.push_back({one});
      const dims result = result_of(of);
      if (!result.empty()) call.outputs.push_back({result});
      key = fmt::format("{} {} {}", ranges_[of].op, joined(result, "x"), names);
      primitive = primitive_of(call);
    }
    const auto [found, is_new] = by_key_.try_emplace(std::move(key), log_.primitives.size());
    if (is_new) log_.primitives.push_back(std::move(primitive));
    return found->second;
  }

  /// The extents of what a range's op wrote, by the first op that read it: ops of PyTorch within
  /// each other write one tensor, which has the id of the outermost one.
  [[nodiscard]] dims result_of(std::uint32_t of) const {
    const std::vector<dims>& read = ops_[ranges_[of].op].tensors;
    constexpr int most = 9;  // within each other
    for (int i = 0; i < most && of != none && ops_[ranges_[of].op].name.starts_with("aten::");
         ++i, of = ranges_[of].outer) {
      const auto found = results_.find(ranges_[of].id);
      if (found == results_.end()) continue;
      const dims& result = *found->second;
      const bool fits =
          !read.empty() && !read[0].empty() && !result.empty() && read[0][0] == result[0];
      return fits ? result : dims{};
    }
    return {};
  }

  void add_notes() {
    log_.library = ranges_.empty() ? "CUDA" : "PyTorch";
    log_.processes = processes_.size();
    std::vector<std::string>& notes = log_.notes;
    if (ranges_.empty()) {
      notes.emplace_back(
          "the report has no ranges with sizes; PyTorch writes them with "
          "torch.autograd.profiler.emit_nvtx(record_shapes=True)");
      return;
    }
    notes.emplace_back(no_attributes);
    notes.emplace_back("the report has no data types and memory orders of tensors");
    if (seconds_beside_ > 0) {
      notes.push_back(fmt::format(
          "{} of the GPU's time is in no range with sizes, or in copies from and to the host",
          format::percent(seconds_beside_ / (seconds_beside_ + seconds_within_))));
    }
  }

  database tables_;
  result::verbose_log log_;
  std::unordered_map<std::uint64_t, std::pair<std::int64_t, std::int64_t>> starts_;
  std::set<std::string, std::less<>> names_;  ///< of work
  std::set<std::int64_t> processes_;
  std::vector<work> work_;
  std::deque<sized_op> ops_;  ///< a deque: results_ points into it
  std::unordered_map<std::string, std::uint32_t> by_text_;
  std::vector<range> ranges_;
  std::unordered_map<std::uint64_t, const dims*> results_;  ///< by the op that wrote
  std::unordered_map<std::string, std::size_t> by_key_;
  double seconds_within_ = 0, seconds_beside_ = 0;
};

}  // namespace

result::verbose_log read_nsys(const std::filesystem::path& path, const std::string& name) {
  return export_reader(path.string(), name).take();
}

}  // namespace layerbench::tool::importer
