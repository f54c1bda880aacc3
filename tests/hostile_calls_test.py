#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Calls that lost data, lied or hung: hostile_calls_test.py TOOL BENCH_DIR.

Each call states its exit code, and the files that must be as they were.
"""
import json
import os
import pathlib
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


if __name__ == "__main__":
    TOOL, BENCH = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
