#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Counts the functions from main to a timed call of oneDNN, by a backtrace at that call.

call_path.py BENCH_CONV    prints them, as results/call_path.txt has them

The program must be of preset release: how many frames there are depends on what was inlined.
"""
import bisect
import collections
import os
import re
import subprocess
import sys
import tempfile

EVERY = 101  # calls of the library: most are timed, the others verify, prepare and warm up

INTERPOSED = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
int dnnl_primitive_execute(void* a, void* b, int c, void* d) {
  static int calls = 0;
  if (++calls %% %d == 0) {
    void* frames[100];
    const int count = backtrace(frames, 100);
    fprintf(stderr, "call");
    for (int i = 0; i < count; ++i) {
      Dl_info of;
      dladdr(frames[i], &of);
      fprintf(stderr, " %%s:%%td", of.dli_fname, (char*)frames[i] - (char*)of.dli_fbase);
    }
    fprintf(stderr, "\\n");
  }
  int (*real)(void*, void*, int, void*) = dlsym(RTLD_NEXT, "dnnl_primitive_execute");
  return real(a, b, c, d);
}
""" % EVERY


def backtraces(program):
    """The addresses in the program at some calls, the innermost first."""
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "interposed.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library, "-ldl"],
                       input=INTERPOSED, text=True, check=True)
        ran = subprocess.run([program, "--model=resnet50", "--batch=1", "--cache=hot",
                              "--benchmark_filter=conv1"],
                             env={**os.environ, "LD_PRELOAD": library}, text=True,
                             capture_output=True, check=True)
    name = re.escape(os.path.basename(program))
    calls = re.findall(r"^call (.*)$", ran.stderr, re.MULTILINE)
    return [[int(at) for at in re.findall(rf"/{name}:(\d+)", call)] for call in calls]


def functions(program):
    """The program's functions by address."""
    listed = subprocess.run(["nm", "-nC", program], text=True, capture_output=True, check=True)
    symbols = re.findall(r"^([0-9a-f]+) [tTwWuV] (.*)$", listed.stdout, re.MULTILINE)
    return [int(at, 16) for at, _ in symbols], [text for _, text in symbols]


def short(text):
    """A function without namespaces, template arguments, return type and parameters."""
    while re.search(r"<[^<>]*>", text):
        text = re.sub(r"<[^<>]*>", "", text)
    text = text.split("(")[0].split(" ")[-1]
    return re.sub(r"^layerbench::", "", text)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    starts, names = functions(sys.argv[1])
    paths = collections.Counter(
        tuple(short(names[bisect.bisect(starts, at) - 1]) for at in addresses)
        for addresses in backtraces(sys.argv[1]))
    path = paths.most_common(1)[0][0]
    path = path[:path.index("main") + 1]
    print("\n".join(reversed(path)))


if __name__ == "__main__":
    main()
