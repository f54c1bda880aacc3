// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <layerbench/base/json.hpp>

#include "program.hpp"

/// Tests of `layerbench versus` with a fake benchmark program.
namespace layerbench::testing {

using texts = std::vector<std::string>;

/// A shell script that writes the result file of a benchmark program. Times drift by up to 20 %
/// from run to run, and by 0.3 % between the rounds of a row. The script learns the run and the
/// variant from the name of its result file. --slow=30 makes the convolution 3 % slower, --fail=2
/// fails in run 2, --hang=2 waits there for a signal.
inline constexpr const char* fake_program = R"(#!/bin/sh
slow=0 comma=
for word; do
  case $word in
    --benchmark_out=*) out=${word#*=} ;;
    --slow=*) slow=${word#*=} ;;
    --fail=*) fail=${word#*=} ;;
    --hang=*) hang=${word#*=} ;;
    --nothing) exit ;;
  esac
done
file=${out##*/}
side=${file%%_*}
round=${file#*_}
round=${round%.json}
echo "$file" >> "${0%/*}/log"
echo "table of $file"
[ "$side" = old ] && x=$round || x=$((round + 1000))
[ "$round" = "$fail" ] && {
  for line in 1 2 3 4 5; do echo "line $line of stderr" >&2; done
  echo "no such model: $round" >&2
  exit 3
}
[ "$round" = "$hang" ] && {
  trap 'exit 130' INT TERM
  touch "${0%/*}/hangs"
  while :; do sleep 0.02; done
}
drift=$((100 + (round * 7 + 3) % 5 * 5))
row() {
  i=0
  while [ $i -lt 6 ]; do
    x=$(((x * 1103515245 + 12345) % 2147483648))
    time=$(($3 * drift / 100 * (1000 + x / 65536 % 7 - 3) / 1000))
    printf '%s{"name": "%s", "run_type": "iteration", "repetition_index": %d, "iterations": 1,' \
      "$comma" "$1" $i
    printf '"real_time": %d, "cpu_time": %d, "time_unit": "ns", "label": "key=%s;algo=x;state="}\n' \
      $time $time "$2"
    comma=,
    i=$((i + 1))
  done
}
{
  printf '{"context": {"executable": "%s", "device": "example", "threads": "1",' "$0"
  printf '"onednn_version": "%s", "onednn_isa": "any", "manifest":' "${FAKE_VERSION:-3.2.0}"
  printf '"{\\"inference/reference/f32/tiny/batch:2\\":'
  printf '[[\\"conv1\\",\\"conv\\",\\"fwd\\",\\"k:1\\",2],'
  printf '[\\"relu1\\",\\"activation\\",\\"fwd\\",\\"k:2\\",1]]}"},\n'
  printf '"benchmarks": [\n'
  row conv/fwd/reference/f32/tiny/conv1/batch:2/cache:hot k:1 $((10000 * (1000 + slow)))
  row activation/fwd/reference/f32/tiny/relu1/batch:2/cache:hot k:2 1000000
  printf ']}\n'
} > "$out"
)";

/// Compares the fake program with itself.
class Versus : public ::testing::Test {
 protected:
  Versus() { std::filesystem::permissions(fake_, std::filesystem::perms::owner_all); }

  /// The arguments for comparing the program with itself; each variant has further arguments.
  [[nodiscard]] texts line(const texts& options, const texts& old, const texts& now) const {
    texts all{"versus"};
    for (const texts& part : {options, texts{"--"}, old, texts{"--"}, now}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  [[nodiscard]] outcome versus(const texts& options, const texts& old, const texts& now) const {
    return run(LAYERBENCH_TOOL, line(options, old, now), {{"TMPDIR", temporary()}});
  }

  [[nodiscard]] json::value json_of(texts options, const texts& old, const texts& now) const {
    options.insert(options.begin(), "--format=json");
    const outcome done = versus(options, old, now);
    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_EQ(done.err, "");
    return json::value::parse(done.out);
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (scratch_.path() / name).string();
  }

  /// The directory for the tool's temporary files.
  [[nodiscard]] std::string temporary() const {
    std::filesystem::create_directories(path("tmp"));
    return path("tmp");
  }

  /// Names of the files in the directory `name`.
  [[nodiscard]] texts files(const std::string& name) const {
    texts found;
    for (const auto& entry : std::filesystem::directory_iterator(path(name))) {
      found.push_back(entry.path().filename().string());
    }
    return found;
  }

  /// The names of the result files in the order of writing.
  [[nodiscard]] texts log() const {
    texts names;
    std::ifstream stream(path("log"));
    for (std::string name; std::getline(stream, name);) names.push_back(name);
    return names;
  }

  temporary_directory scratch_;
  std::string fake_ = scratch_.write("fake", fake_program).string();
};

}  // namespace layerbench::testing
