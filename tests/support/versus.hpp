// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <layerbench/shape/json.hpp>

#include "program.hpp"

/// `layerbench versus` with a program that only seems to measure.
namespace layerbench::testing {

using texts = std::vector<std::string>;

/// A benchmark program of a machine that drifts by up to 20 % from round to round: it tells rounds
/// and sides apart by the name of its result file. Rounds of a row vary by 0.3 %. --slow=30 makes
/// its convolution 3 % slower, --fail=2 fails in round 2, --hang=2 waits there for a signal.
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

/// Comparisons of that program with itself.
class Versus : public ::testing::Test {
 protected:
  Versus() { std::filesystem::permissions(fake_, std::filesystem::perms::owner_all); }

  /// The words of a comparison of the program with itself, each side with words of its own.
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

  /// Where the tool's own files go, so that they can be looked for.
  [[nodiscard]] std::string temporary() const {
    std::filesystem::create_directories(path("tmp"));
    return path("tmp");
  }

  /// Names of the files that are in the directory `name`.
  [[nodiscard]] texts files(const std::string& name) const {
    texts found;
    for (const auto& entry : std::filesystem::directory_iterator(path(name))) {
      found.push_back(entry.path().filename().string());
    }
    return found;
  }

  /// The result files that were written, in this order.
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
