// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace layerbench::cuda {

/// Behind kernel_source: what combines tensors of different extents.
inline constexpr std::string_view tensor_kernel_source = R"cuda(
// Runs of several tensors that follow each other in memory of a whole one, again and again: where
// each ends, in elements from the first.
struct concat_runs {
  i64 ends[64];
  void* at[64];
  void* whole;
  int count, by_four;
};

template <bool Split, int N, class Index>
void move_run(Index i, const concat_runs& o) {
  const Index row = static_cast<Index>(o.ends[o.count - 1]);
  const Index column = i % row;
  int low = 0;
  for (int high = o.count - 1; low < high;) {
    const int middle = (low + high) / 2;
    if (static_cast<Index>(o.ends[middle]) <= column) low = middle + 1;
    else high = middle;
  }
  const i64 begin = low == 0 ? 0 : o.ends[low - 1];
  const i64 length = o.ends[low] - begin;
  number* one = static_cast<number*>(o.at[low]) + static_cast<i64>(i / row) * length +
                (static_cast<i64>(column) - begin);
  number* whole = static_cast<number*>(o.whole) + static_cast<i64>(i);
  if (Split) store(one, load<N>(whole));
  else store(whole, load<N>(one));
}

template <bool Split>
void move_runs(i64 size, const concat_runs& o) {
  for_elements(size, o.by_four != 0, [&](auto wide, i64 i) {
    constexpr int n = decltype(wide)::value;
    if (size <= 0x7FFFFFFF) move_run<Split, n>(static_cast<unsigned>(i), o);
    else move_run<Split, n>(i, o);
  });
}

extern "C" __global__ void concat(i64 size, const __grid_constant__ concat_runs o) {
  move_runs<false>(size, o);
}
extern "C" __global__ void split(i64 size, const __grid_constant__ concat_runs o) {
  move_runs<true>(size, o);
}
)cuda";

}  // namespace layerbench::cuda
