// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>

// Who may include whom, for the headers (named from include/layerbench/ on), src/, tools/ and
// bench/.

namespace layerbench {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using strings = std::vector<std::string>;

/// A room and the rooms whose headers it may include, besides its own.
using room_order = std::map<std::string, std::set<std::string>>;

/// The dependency order: each room may include the rooms named here.
const room_order below = [] {
  room_order all{{"base", {}},
                 {"shape", {"base"}},
                 {"op", {"base", "shape"}},
                 {"model", {"base", "shape", "op"}},
                 {"result", {"base", "shape", "op", "model"}}};
  const auto add = [&](const std::string& room, const std::set<std::string>& parents) {
    std::set<std::string> allowed = parents;
    for (const std::string& parent : parents)
      allowed.insert(all[parent].begin(), all[parent].end());
    all[room] = allowed;
  };
  add("analysis", {"result"});
  add("report", {"analysis"});
  add("help", {"base"});
  add("import", {"result"});
  add("tools", {"help", "import", "report"});
  add("topology", {"shape"});
  add("backend", {"op", "topology"});
  // timing/measurement_pass.hpp and machine/telemetry.hpp fill in result::measurement.
  add("timing", {"backend", "result"});
  add("machine", {"timing"});
  add("cache_state", {"timing"});
  all["cache_state"].erase("result");
  all["cache_state"].erase("model");
  add("session", {"cache_state", "machine", "result"});
  add("ranks", {"session"});
  add("cli", {"help", "ranks", "report"});
  add("google", {"session"});
  add("src", {"cli", "import"});
  add("bench", {"src"});
  return all;
}();

/// A header or macro, and the beginnings of the paths of the files that may name it.
struct permission {
  std::string name;
  strings files;
};

/// Every header that is neither ours nor the C++ standard library's needs a line here.
const std::vector<permission> other_headers{
    {"benchmark/", {"cli/", "google/"}},
    {"nlohmann/",
     {"base/json.hpp", "result/google_json_reader.hpp", "result/manifest_json-inl.hpp",
      "result/plan_candidates-inl.hpp", "result/context_difference-inl.hpp",
      "result/read_results-inl.hpp", "cli/google_formats.hpp"}},
    {"CLI/", {"cli/", "help/", "tools/"}},
    {"omp.h", {"backend/onednn/", "backend/openmp_backend.hpp", "backend/kernels/host/"}},
    {"oneapi/dnnl/", {"backend/onednn/"}},
    {"cuda_runtime_api.h", {"backend/cuda/", "backend/nccl/", "backend/nccl_mpi/"}},
    {"google/protobuf/", {"tools/import/read_onnx.cpp"}},
    {"sqlite3.h", {"tools/import/read_nsys.cpp"}},
    {"hwloc", {"topology/hwloc.hpp"}},
    {"nvrtc.h", {"backend/cuda/"}},
    {"cudnn", {"backend/cudnn/"}},
    {"cublas", {"backend/cublas/"}},
    {"nccl.h", {"backend/nccl/", "backend/nccl_mpi/"}},
    {"mpi.h", {"backend/mpi/", "backend/nccl_mpi/"}},
    {"fmt/", {""}},
    {"sys/", {""}},
    {"fcntl.h", {""}},
    {"linux/perf_event.h", {"machine/processor_energy-inl.hpp"}},
    {"poll.h", {"base/child_process-inl.hpp", "base/line_socket-inl.hpp"}},
    {"dlfcn.h", {"backend/cuda/", "backend/cblas/"}},
    {"sched.h", {"topology/this_machine-inl.hpp"}},
    {"spawn.h", {"base/child_process"}},
    {"time.h", {""}},
    {"unistd.h", {""}}};

/// Every macro in a preprocessor condition or definition needs a line here.
const std::vector<permission> macros{{"LAYERBENCH_COMPILED", {""}},
                                     {"LAYERBENCH_INLINE", {"base/compiled.hpp"}},
                                     {"LAYERBENCH_SHAPES_DIR", {"model/find-inl.hpp"}},
                                     {"LAYERBENCH_HAS_MPI", {"bench/bench_model.cpp"}},
                                     {"DNNL_VERSION_MAJOR", {"backend/onednn/backend.hpp"}},
                                     {"DNNL_VERSION_MINOR", {"backend/onednn/backend.hpp"}},
                                     {"LAYERBENCH_ONEDNN_HAS_NARROW_WEIGHTS", {"backend/onednn/"}}};

bool permits(const std::vector<permission>& all, const std::string& name, const std::string& file) {
  return std::ranges::any_of(all, [&](const permission& one) {
    return name.starts_with(one.name) && std::ranges::any_of(one.files, [&](const auto& begin) {
             return file.starts_with(begin);
           });
  });
}

/// The groups of all lines of `text` that match.
std::vector<strings> matches(const std::string& text, const std::string& pattern) {
  const std::regex line(pattern, std::regex::ECMAScript | std::regex::multiline);
  std::vector<strings> found;
  for (std::sregex_iterator match(text.begin(), text.end(), line), end; match != end; ++match) {
    found.emplace_back(match->begin() + 1, match->end());
  }
  return found;
}

std::string directory(const std::string& file) {
  return std::filesystem::path(file).parent_path().string();
}

/// The first folder of a file. The import of models, which bench/ has too, is a room in
/// tools/.
std::string room(const std::string& file) {
  return file.starts_with("tools/import/") ? "import" : file.substr(0, file.find('/'));
}

/// Whether a file is of a program, not of the library.
bool is_of_program(const std::string& file) {
  const std::set<std::string> rooms{"bench", "import", "src", "tools"};
  return rooms.contains(room(file));
}

/// The header that `name` in quotes means in `file`: beside it, in tools/ or in src/.
std::string quoted_header(const std::string& file, const std::string& name) {
  for (const char* folder : {"tools/", "src/"}) {
    const std::filesystem::path root(LAYERBENCH_SOURCE_DIR);
    if (exists(root / directory(file) / name)) break;
    if (exists(root / folder / name)) return folder + name;
  }
  return directory(file) + '/' + name;
}

/// Our headers that `file` includes.
strings included(const std::string& file, const std::string& text) {
  strings ours;
  for (const strings& match : matches(text, R"(^\s*#\s*include\s*<layerbench/([^>]+)>)")) {
    ours.push_back(match[0]);
  }
  if (!is_of_program(file)) return ours;
  for (const strings& match : matches(text, R"(^\s*#\s*include\s*"([^"]+)\")")) {
    ours.push_back(quoted_header(file, match[0]));
  }
  return ours;
}

/// The header that a file belongs to: "a/b.hpp" for its definitions, "a/b-inl.hpp".
std::string header_of(const std::string& file) {
  constexpr std::string_view definitions = "-inl.hpp";
  if (!file.ends_with(definitions)) return file;
  return file.substr(0, file.size() - definitions.size()) + ".hpp";
}

/// Whether a file of analysis/ prints what others compute.
bool prints(const std::string& file) {
  static const std::regex name("analysis/.*[/_](text|json)[.]hpp");
  return std::regex_match(header_of(file), name);
}

/// Whether `file` may include our `header`.
bool may_include(const std::string& file, const std::string& header) {
  const std::string from = room(file);
  const std::string to = room(header);
  if (from != to) return below.contains(from) && below.at(from).contains(to);
  if (from == "analysis") return prints(file) || !prints(header);
  if (from != "backend") return true;
  // A backend may include itself and the shared headers; those on CPUs and NVIDIA GPUs share more.
  const std::set<std::string> on_cuda{"backend/cudnn", "backend/cublas", "backend/nccl",
                                      "backend/nccl_mpi"};
  const std::set<std::string> on_cblas{"backend/mkl", "backend/openblas", "backend/blis"};
  std::set<std::string> on_cpus = on_cblas;
  on_cpus.insert({"backend/onednn", "backend/cblas"});
  if (header == "backend/openmp_backend.hpp") return on_cpus.contains(directory(file));
  return directory(header) == directory(file) || directory(header) == "backend" ||
         (directory(header) == "backend/cuda" && on_cuda.contains(directory(file))) ||
         (directory(header) == "backend/kernels/gpu" &&
          (directory(file) == "backend/cuda" || directory(file) == "backend/kernels/gpu/plans" ||
           on_cuda.contains(directory(file)))) ||
         (directory(header) == "backend/kernels/gpu/plans" && on_cuda.contains(directory(file))) ||
         (directory(header) == "backend/kernels/host" && on_cpus.contains(directory(file))) ||
         (directory(header) == "backend/cblas" && on_cblas.contains(directory(file))) ||
         (directory(header) == "backend/cublas" && directory(file) == "backend/cudnn") ||
         ((directory(header) == "backend/nccl" || directory(header) == "backend/mpi") &&
          directory(file) == "backend/nccl_mpi");
}

/// The violations in the text of `file`, one text each.
strings violations(const std::string& file, const std::string& text) {
  strings found;
  const bool is_header = file.ends_with(".hpp");
  const std::string licence =
      "// SPDX-FileCopyrightText: 2026 the layerbench authors\n"
      "// SPDX-License-Identifier: Apache-2.0\n";
  if (!text.starts_with(licence + (is_header ? "#pragma once\n" : ""))) {
    found.push_back(is_header ? "begins without SPDX lines and #pragma once"
                              : "begins without SPDX lines");
  }
  for (const std::string& header : included(file, text)) {
    if (!may_include(file, header)) found.push_back("includes layerbench/" + header);
  }
  for (const strings& match : matches(text, R"(^\s*#\s*include\s*([^\s]+))")) {
    const std::string name = match[0].substr(1, match[0].size() - 2);
    const bool quoted = match[0].front() != '<';
    if (quoted && !is_of_program(file)) found.push_back("includes in quotes " + name);
    if (quoted || name.starts_with("layerbench/") || name.find('.') == std::string::npos) continue;
    if (!permits(other_headers, name, file)) found.push_back("includes " + name);
  }
  for (const strings& match : matches(text, R"(^\s*#\s*((?:el)?if|define|undef)(.*))")) {
    const std::vector<strings> names = matches(match[1], R"(\b([A-Z][A-Z0-9_]+))");
    const bool permitted = !names.empty() && std::ranges::all_of(names, [&](const strings& name) {
      return permits(macros, name[0], file);
    });
    if (!permitted) found.push_back("preprocessor: " + match[0] + match[1]);
  }
  return found;
}

using texts = std::map<std::string, std::string>;

/// Names, each with those that it includes.
using graph = std::map<std::string, strings>;

/// The headers of `all`. Headers include their own definitions, which include them.
graph headers_of(const texts& all) {
  graph headers;
  for (const auto& [file, text] : all) {
    for (const std::string& name : included(file, text)) {
      const bool own = file != name && header_of(file) == header_of(name);
      if (!own) headers[header_of(file)].push_back(header_of(name));
    }
  }
  return headers;
}

/// The folders of `all`, at any depth. An include is one between the folders in which the paths of
/// both files part; the files of a folder that are in none of its folders are "folder/.".
graph folders_of(const texts& all) {
  const auto part = [](const std::string& path, std::size_t common) {
    const std::size_t end = path.find('/', common);
    return path.substr(0, common) + (end == path.npos ? "." : path.substr(common, end - common));
  };
  graph folders;
  for (const auto& [file, text] : all) {
    for (const std::string& name : included(file, text)) {
      const auto differ = std::ranges::mismatch(file, name).in1;
      const std::string same(file.begin(), differ);
      const std::size_t common = same.rfind('/') + 1;
      const std::string from = part(file, common);
      const std::string to = part(name, common);
      if (from != to) folders[from].push_back(to);
    }
  }
  return folders;
}

/// Names that include each other in a ring, the first one again at its end; empty: no ring.
strings ring(const graph& all) {
  std::set<std::string> finished;
  strings path;
  const std::function<bool(const std::string&)> closes = [&](const std::string& file) {
    const auto begin = std::ranges::find(path, file);
    const bool closed = begin != path.end();
    if (closed) path.erase(path.begin(), begin);
    path.push_back(file);
    if (closed) return true;
    if (!finished.contains(file) && all.contains(file)) {
      if (std::ranges::any_of(all.at(file), closes)) return true;
    }
    finished.insert(file);
    path.pop_back();
    return false;
  };
  for (const auto& [file, names] : all) {
    if (closes(file)) return path;
  }
  return {};
}

std::string read(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// All files that the rules apply to.
const texts& library() {
  static const texts all = [] {
    const std::filesystem::path root = LAYERBENCH_SOURCE_DIR;
    texts found;
    for (const auto& [folder, base] :
         {std::pair{root / "include", root / "include/layerbench"}, std::pair{root / "tools", root},
          std::pair{root / "src", root}, std::pair{root / "bench", root}}) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        const std::string extension = entry.path().extension().string();
        const bool is_source = extension == ".hpp" || extension == ".cpp" || extension == ".in";
        if (!is_source) continue;
        found[entry.path().lexically_relative(base).string()] = read(entry.path());
      }
    }
    return found;
  }();
  return all;
}

TEST(IncludeOrder, FindsEveryRoom) {
  std::set<std::string> found;
  for (const auto& [file, text] : library()) found.insert(room(file));
  for (const auto& [name, allowed] : below) EXPECT_THAT(found, Contains(name));
  EXPECT_EQ(found.size(), below.size()) << ::testing::PrintToString(found);
}

TEST(IncludeOrder, IsRespected) {
  for (const auto& [file, text] : library()) EXPECT_THAT(violations(file, text), IsEmpty()) << file;
}

TEST(IncludeOrder, CompilesEveryDefinitionOnce) {
  std::map<std::string, int> compiled;
  for (const auto& [file, text] : library()) {
    if (!file.ends_with(".cpp")) continue;
    for (const std::string& name : included(file, text)) ++compiled[name];
  }
  for (const auto& [file, text] : library()) {
    if (!file.ends_with("-inl.hpp")) continue;
    EXPECT_EQ(compiled[file], 1) << file;
  }
}

/// The rooms whose definitions a source compiles.
std::set<std::string> compiled_rooms(const std::string& file, const std::string& text) {
  std::set<std::string> rooms;
  for (const std::string& name : included(file, text)) {
    if (name.ends_with("-inl.hpp")) rooms.insert(room(name));
  }
  return rooms;
}

/// Whether one of these rooms may include all others.
bool has_top(const std::set<std::string>& rooms) {
  return rooms.empty() || std::ranges::any_of(rooms, [&](const std::string& top) {
           return std::ranges::all_of(rooms, [&](const std::string& other) {
             return other == top || below.at(top).contains(other);
           });
         });
}

TEST(IncludeOrder, CompilesARoomWithThoseBelowIt) {
  for (const auto& [file, text] : library()) {
    if (!file.ends_with(".cpp")) continue;
    EXPECT_TRUE(has_top(compiled_rooms(file, text))) << file;
  }
}

TEST(IncludeOrder, HasNoRing) {
  EXPECT_THAT(ring(headers_of(library())), IsEmpty());
  EXPECT_THAT(ring(folders_of(library())), IsEmpty());
}

/// The folders of libraries, and how the names of a library begin; a plan by a graph of cuDNN calls
/// it in its base class. Their lists of plans also name layerbench's kernels.
const std::map<std::string, std::string> names_of_libraries{
    {"backend/cudnn", R"(\b(cudnn[A-Z]|CUDNN_|graph_plan<))"},
    {"backend/cublas", R"(\b(cublas[A-Z]|CUBLAS))"},
    {"backend/onednn", R"(\b(dnnl::|dnnl_|DNNL_))"},
    {"backend/cblas", R"(\b(library_|dlopen))"},
    {"backend/mkl", R"(\bMKL_)"},
    {"backend/openblas", R"(\bopenblas_)"},
    {"backend/blis", R"(\bbli_)"}};

/// Whether a file in the folder of a library has nothing of that library.
bool belongs_elsewhere(const std::string& file, const std::string& text) {
  const auto library = names_of_libraries.find(directory(file));
  if (library == names_of_libraries.end() || file.ends_with("/all_plans.hpp")) return false;
  return matches(std::regex_replace(text, std::regex("//.*"), ""), library->second).empty();
}

TEST(IncludeOrder, KeepsLayerbenchsKernelsOutOfTheFoldersOfLibraries) {
  for (const auto& [file, text] : library()) EXPECT_FALSE(belongs_elsewhere(file, text)) << file;
}

// The checks themselves.

std::string header(const std::string& line) {
  return "// SPDX-FileCopyrightText: 2026 the layerbench authors\n"
         "// SPDX-License-Identifier: Apache-2.0\n"
         "#pragma once\n" +
         line + "\n";
}

struct example {
  std::string file;
  std::string line;
};

TEST(IncludeOrderCheck, PassesWhatIsAllowed) {
  const std::vector<example> allowed{
      {"base/a.hpp", "#include <vector>"},
      {"base/a.hpp", "#include <layerbench/base/b.hpp>"},
      {"base/json.hpp", "#include <nlohmann/json.hpp>"},
      {"report/a.hpp", "#include <layerbench/model/graph.hpp>"},
      {"session/a.hpp", "#include <layerbench/backend/device.hpp>"},
      {"session/a.hpp", "#include <layerbench/result/name.hpp>"},
      {"session/a.hpp", "#include <layerbench/cache_state/a.hpp>"},
      {"session/a.hpp", "// #include <layerbench/analysis/predict/cases.hpp>"},
      {"timing/a.hpp", "#include <layerbench/result/measurement.hpp>"},
      {"machine/a.hpp", "#include <layerbench/timing/clock.hpp>"},
      {"ranks/a.hpp", "#include <layerbench/session/suite.hpp>"},
      {"cli/a.hpp", "#include <benchmark/benchmark.h>"},
      {"cli/a.hpp", "#include <CLI/CLI.hpp>"},
      {"google/a.hpp", "#include <benchmark/benchmark.h>"},
      {"google/a.hpp", "#include <layerbench/session/verify.hpp>"},
      {"cli/a.hpp", "#include <layerbench/analysis/predict/text.hpp>"},
      {"analysis/predict/text-inl.hpp", "#include <layerbench/analysis/base/headline_text.hpp>"},
      {"analysis/predict/a_json.hpp", "#include <layerbench/analysis/base/headline_text.hpp>"},
      {"analysis/predict/a.hpp", "#include <layerbench/base/json.hpp>"},
      {"analysis/predict/a.hpp", "#include <layerbench/analysis/roofline/a.hpp>"},
      {"analysis/predict/a.hpp", "#include <layerbench/base/table.hpp>"},
      {"topology/hwloc.hpp", "#include <hwloc.h>"},
      {"backend/a.hpp", "#include <layerbench/topology/topology.hpp>"},
      {"bench/a.cpp", "#include <layerbench/cli/main.hpp>"},
      {"model/find-inl.hpp", "#ifdef LAYERBENCH_SHAPES_DIR"},
      {"model/a.hpp", "#ifndef LAYERBENCH_COMPILED"},
      {"backend/a/a.hpp", "#include <layerbench/backend/host.hpp>"},
      {"backend/a/a.hpp", "#include <layerbench/backend/a/b.hpp>"},
      {"backend/cudnn/a.hpp", "#include <layerbench/backend/cuda/a.hpp>"},
      {"backend/cudnn/a.hpp", "#include <cudnn_backend.h>"},
      {"backend/cudnn/a.hpp", "#include <layerbench/backend/kernels/gpu/a.hpp>"},
      {"backend/cuda/a.hpp", "#include <layerbench/backend/kernels/gpu/a.hpp>"},
      {"backend/onednn/a.hpp", "#include <layerbench/backend/kernels/host/a.hpp>"},
      {"backend/onednn/a.hpp", "#include <oneapi/dnnl/dnnl.hpp>"},
      {"tools/import/read_onnx.cpp", "#include <google/protobuf/io/coded_stream.h>"},
      {"src/a.cpp", "#include <layerbench/cli/main.hpp>"},
      {"src/a.cpp", "#include \"import/import.hpp\""},
      {"bench/a.cpp", "#include \"suite.hpp\""},
      {"tools/a.hpp", "#include \"commands.hpp\""}};
  for (const auto& [file, line] : allowed) {
    EXPECT_THAT(violations(file, header(line)), IsEmpty()) << file << ": " << line;
  }
}

TEST(IncludeOrderCheck, FindsWhatIsNot) {
  const std::vector<example> wrong{
      {"base/a.hpp", "#include <layerbench/shape/dims.hpp>"},
      {"shape/a.hpp", "#include <layerbench/op/conv.hpp>"},
      {"op/a.hpp", "#  include <layerbench/backend/backend.hpp>"},
      {"model/a.hpp", "#include <layerbench/result/name.hpp>"},
      {"model/a.hpp", "#include <layerbench/session/suite.hpp>"},
      {"result/a.hpp", "#include <layerbench/backend/device.hpp>"},
      {"result/a.hpp", "#include <layerbench/analysis/predict/cases.hpp>"},
      {"analysis/predict/a.hpp", "#include <layerbench/report/tables.hpp>"},
      {"analysis/predict/a.hpp", "#include <layerbench/session/suite.hpp>"},
      {"analysis/predict/a.hpp", "#include <layerbench/backend/backend.hpp>"},
      {"analysis/predict/a.hpp", "#include <layerbench/analysis/base/headline_text.hpp>"},
      {"analysis/predict/a-inl.hpp", "#include <layerbench/analysis/base/a_json.hpp>"},
      {"report/a.hpp", "#include <layerbench/cli/main.hpp>"},
      {"backend/a.hpp", "#include <layerbench/machine/a.hpp>"},
      {"backend/a.hpp", "#include <layerbench/result/name.hpp>"},
      {"timing/a.hpp", "#include <layerbench/machine/a.hpp>"},
      {"timing/a.hpp", "#include <layerbench/cache_state/a.hpp>"},
      {"timing/a.hpp", "#include <layerbench/analysis/predict/cases.hpp>"},
      {"cache_state/a.hpp", "#include <layerbench/result/name.hpp>"},
      {"cache_state/a.hpp", "#include <layerbench/session/suite.hpp>"},
      {"session/a.hpp", "#include <layerbench/ranks/a.hpp>"},
      {"session/a.hpp", "#include <layerbench/analysis/predict/cases.hpp>"},
      {"session/a.hpp", "#include <layerbench/new/table.hpp>"},
      {"ranks/a.hpp", "#include <layerbench/cli/main.hpp>"},
      {"tools/a.hpp", "#include <layerbench/cli/main.hpp>"},
      {"tools/a.hpp", "#include <layerbench/session/suite.hpp>"},
      {"tools/a.cpp", "#include \"suite.hpp\""},
      {"tools/import/a.cpp", "#include <layerbench/report/tables.hpp>"},
      {"src/a.cpp", "#include <layerbench/google/a.hpp>"},
      {"src/a.cpp", "#include \"commands.hpp\""},
      {"session/a.hpp", "#include <benchmark/benchmark.h>"},
      {"google/a.hpp", "#include <layerbench/cli/main.hpp>"},
      {"cli/a.hpp", "#include <layerbench/google/a.hpp>"},
      {"machine/a.hpp", "#include <hwloc.h>"},
      {"topology/a.hpp", "#include <hwloc.h>"},
      {"topology/a.hpp", "#include <layerbench/backend/device.hpp>"},
      {"model/a.hpp", "#include <layerbench/topology/topology.hpp>"},
      {"new/a.hpp", "#include <layerbench/base/error.hpp>"},
      {"tools/a.hpp", "#include <layerbench/backend/backend.hpp>"},
      {"backend/a.hpp", "#include <layerbench/model/graph.hpp>"},
      {"backend/a/a.hpp", "#include <layerbench/backend/b/a.hpp>"},
      {"backend/a.hpp", "#include <layerbench/backend/a/all_plans.hpp>"},
      {"backend/a/a.hpp", "#include <layerbench/backend/cuda/a.hpp>"},
      {"backend/cuda/a.hpp", "#include <layerbench/backend/cudnn/a.hpp>"},
      {"backend/cuda/a.hpp", "#include <cudnn.h>"},
      {"backend/kernels/gpu/a.hpp", "#include <cuda_runtime_api.h>"},
      {"backend/kernels/gpu/a.hpp", "#include <layerbench/backend/cuda/a.hpp>"},
      {"backend/kernels/gpu/a.hpp", "#include <layerbench/backend/kernels/gpu/plans/a.hpp>"},
      {"backend/kernels/host/a.hpp", "#include <oneapi/dnnl/dnnl.hpp>"},
      {"backend/cudnn/a.hpp", "#include <layerbench/backend/openmp_backend.hpp>"},
      {"backend/kernels/host/a.hpp", "#include <layerbench/backend/onednn/a.hpp>"},
      {"backend/onednn/a.hpp", "#include <layerbench/backend/kernels/gpu/a.hpp>"},
      {"backend/host.hpp", "#include <layerbench/backend/a/a.hpp>"},
      {"result/a.hpp", "#include <benchmark/benchmark.h>"},
      {"model/a.hpp", "#include <nlohmann/json.hpp>"},
      {"session/main.hpp", "#include <CLI/CLI.hpp>"},
      {"timing/clock.hpp", "#include <omp.h>"},
      {"tools/import.cpp", "#include <google/protobuf/io/coded_stream.h>"},
      {"backend/a/a.hpp", "#include <oneapi/dnnl/dnnl.hpp>"},
      {"backend/a/a.hpp", "#include <cuda_runtime.h>"},
      {"base/a.hpp", "#include \"error.hpp\""},
      {"base/a.hpp", "#include PLUGIN"},
      {"cli/main.hpp", "#if LAYERBENCH_ONEDNN"},
      {"cli/main.hpp", "#  ifdef LAYERBENCH_ONEDNN"},
      {"cli/main.hpp", "#elif defined(LAYERBENCH_ONEDNN)"},
      {"model/find-inl.hpp", "#if LAYERBENCH_SHAPES_DIR && FOO"},
      {"model/find.hpp", "#ifdef LAYERBENCH_SHAPES_DIR"},
      {"base/a.hpp", "#define CHECK(x) x"}};
  for (const auto& [file, line] : wrong) {
    EXPECT_THAT(violations(file, header(line)), SizeIs(1)) << file << ": " << line;
  }
  const std::string good = header("");
  EXPECT_THAT(violations("base/a.hpp", good.substr(good.find('\n') + 1)), SizeIs(1));
  EXPECT_THAT(violations("base/a.hpp", good.substr(0, good.find("#pragma"))), SizeIs(1));
  EXPECT_THAT(violations("tools/a.cpp", "#include <vector>\n"), ElementsAre(HasSubstr("SPDX")));
}

TEST(IncludeOrderCheck, FindsWhatCallsNoLibrary) {
  EXPECT_FALSE(belongs_elsewhere("backend/cudnn/a.hpp", header("check(cudnnCreate(&handle));")));
  EXPECT_FALSE(
      belongs_elsewhere("backend/onednn/a.hpp", header("dnnl::reorder::primitive_desc d;")));
  EXPECT_FALSE(belongs_elsewhere("backend/onednn/all_plans.hpp", header("")));
  EXPECT_FALSE(belongs_elsewhere("backend/kernels/gpu/a.hpp", header("")));
  EXPECT_TRUE(belongs_elsewhere("backend/cudnn/a.hpp", header("int a;  // cudnnCreate(&handle)")));
  EXPECT_TRUE(belongs_elsewhere("backend/cublas/a.hpp", header("check(cudnnCreate(&handle));")));
}

std::string includes(const std::string& name) {
  return header("#include <layerbench/" + name + ">");
}

TEST(IncludeOrderCheck, FindsARingOfHeaders) {
  texts files{{"op/a.hpp", includes("op/b.hpp")},
              {"op/b.hpp", includes("op/c.hpp")},
              {"op/c.hpp", includes("op/absent.hpp")}};
  const auto found = [&] { return ring(headers_of(files)); };
  EXPECT_THAT(found(), IsEmpty());
  files["op/c.hpp"] = includes("op/b.hpp");
  EXPECT_THAT(found(), ElementsAre("op/b.hpp", "op/c.hpp", "op/b.hpp"));
  files["op/c.hpp"] = includes("op/c.hpp");
  EXPECT_THAT(found(), ElementsAre("op/c.hpp", "op/c.hpp"));
  files["op/c.hpp"] = includes("op/c-inl.hpp");
  files["op/c-inl.hpp"] = includes("op/c.hpp");
  EXPECT_THAT(found(), IsEmpty());
  files["op/c-inl.hpp"] = includes("op/b.hpp");
  EXPECT_THAT(found(), ElementsAre("op/b.hpp", "op/c.hpp", "op/b.hpp"));
}

TEST(IncludeOrderCheck, FindsARingOfFolders) {
  texts files{{"a/b/1.hpp", includes("a/bc/1.hpp")},
              {"a/bc/1.hpp", includes("a/1.hpp")},
              {"a/1.hpp", includes("d/1.hpp")}};
  const auto found = [&] { return ring(folders_of(files)); };
  EXPECT_THAT(found(), IsEmpty());
  files["a/bc/2.hpp"] = includes("a/b/2.hpp");
  EXPECT_THAT(found(), ElementsAre("a/b", "a/bc", "a/b"));
  files["a/bc/2.hpp"] = includes("d/1.hpp");
  files["a/2.hpp"] = includes("a/b/c/1.hpp");
  EXPECT_THAT(found(), ElementsAre("a/.", "a/b", "a/bc", "a/."));
  files["a/2.hpp"] = includes("a/1.hpp");
  files["d/2.hpp"] = includes("a/b/1.hpp");
  EXPECT_THAT(found(), ElementsAre("a", "d", "a"));
}

TEST(IncludeOrderCheck, FindsASourceOfUnrelatedRooms) {
  EXPECT_TRUE(has_top({"base", "topology", "shape"}));
  EXPECT_FALSE(has_top({"backend", "cache_state", "machine"}));
  EXPECT_THAT(compiled_rooms("src/a.cpp", includes("op/a-inl.hpp") + includes("model/b.hpp")),
              ElementsAre("op"));
}

}  // namespace
}  // namespace layerbench
