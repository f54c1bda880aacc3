#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Calls that lost data, lied or hung: hostile_calls_test.py TOOL BENCH_DIR.

Each call states its exit code, and the files that must be as they were.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = BENCH = None
# Without variables of layerbench, so that a developer's own change nothing.
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if not name.startswith(("LAYERBENCH_", "OMP_", "NO_COLOR", "CI"))}


def content(path):
    """What a path holds, and what it is: its inode does not change where it is only read."""
    path = pathlib.Path(path)
    return path.read_bytes() if path.is_file() else None


class Case(unittest.TestCase):
    """Calls in an empty folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def call(self, command, code, untouched=(), timeout=120, **options):
        """Runs `command` in the folder. Returns the finished process, whose output is text.

        Fails on another exit code, and where a file of `untouched` has changed.
        """
        before = {name: content(self.folder / name) for name in untouched}
        options.setdefault("env", ENVIRONMENT)
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        done = subprocess.run([str(word) for word in command], cwd=self.folder, timeout=timeout,
                              text=True, check=False, **options)
        words = " ".join(map(str, command))
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}\n{done.stderr}")
        for name, old in before.items():
            self.assertEqual(content(self.folder / name), old, f"{words} changed {name}")
        return done

    def tool(self, *arguments, code=0, **options):
        """Calls layerbench."""
        return self.call([TOOL, *arguments], code, **options)

    def bench(self, program, *arguments, code=0, **options):
        """Calls a benchmark program."""
        return self.call([BENCH / program, *arguments], code, **options)


class FirstScreens(Case):
    """What a newcomer reads first: answers, and each reason once."""

    QUICK = ("--model=lenet5", "--threads=1", "--max-time=0", "--benchmark_min_time=0",
             "--benchmark_repetitions=1")

    def test_a_program_of_models_leaves_its_rows_to_the_file(self):
        several = (*self.QUICK, "--batch=1,2", "--cache=model,hot", "--chain")
        done = self.bench("bench_model", *several, "--benchmark_out=r.json")
        self.assertLess(len(done.stdout.splitlines()), 20, done.stdout)
        self.assertNotIn("conv1", done.stdout)
        for words in ("| lenet5, batch 1 ", "| lenet5, batch 2 ", "of 2 cases", "r.json"):
            self.assertEqual(done.stdout.count(words), 1, done.stdout)
        for more in (["--benchmark_out=w.json", "--wide"], []):
            done = self.bench("bench_model", *several, *more)
            self.assertRegex(done.stdout, "(?m)^conv/.*conv1", "asked for, or nowhere else")
            self.assertRegex(done.stdout, "(?m)^[|] conv1 ")
        done = self.bench("bench_model", *several, "--benchmark_out=f.json",
                          "--benchmark_filter=conv1")
        self.assertRegex(done.stdout, "(?m)^conv/conv1", "a filter asks for rows")

    def test_one_case_is_predicted_in_full(self):
        done = self.bench("bench_model", *self.QUICK, "--benchmark_out=r.json")
        self.assertRegex(done.stdout, "(?m)^[|] conv1 ")
        self.assertNotRegex(done.stdout, "(?m)^conv/")

    def test_a_program_of_an_op_prints_its_rows(self):
        done = self.bench("bench_conv", *self.QUICK, "--benchmark_out=r.json")
        self.assertRegex(done.stdout, "(?m)^conv1 |conv/.*conv1")

    def lacks(self, kind):
        """The stderr of a run in this type on oneDNN, in which rows must fail."""
        return self.bench("bench_model", *self.QUICK, "--backend=onednn", f"--dtype={kind}",
                          "--benchmark_out=r.json", code=4).stderr

    def test_a_type_that_the_cpu_lacks_is_named_once(self):
        backends = self.bench("bench_model", "--backends").stdout
        if not re.search("onednn +available", backends):
            self.bench("bench_model", *self.QUICK, "--backend=onednn", code=77)
            return
        self.assertEqual(self.lacks("s8").count("--fusion=int8_default"), 1)
        if not re.search("avx512_fp16|avx_ne_convert", pathlib.Path("/proc/cpuinfo").read_text()):
            lines = self.lacks("f16").splitlines()
            self.assertEqual(sum("f16 on this CPU" in line for line in lines), 1, lines)

    def test_a_missing_argument_is_described(self):
        for words, described in (("report", "Result files"), ("show", "Name of a model"),
                                 ("compare a.json", "new: "), ("import", "onnx")):
            done = self.tool(*words.split(), code=2)
            self.assertIn(described, done.stderr.splitlines()[0])

    def test_missing_peaks_are_named_once(self):
        done = self.tool("predict", ROOT / "results/quickstart_2cpu_zen4.json")
        self.assertEqual(done.stdout.count("--peaks"), 1, done.stdout)


if __name__ == "__main__":
    TOOL, BENCH = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
