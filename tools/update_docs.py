#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/ from the files in results/.

  tools/update_docs.py           rewrites the tables
  tools/update_docs.py --check   exit code 1 if a page is not up to date

A page marks the place of a table by two lines:

  <!-- table: ablation results/ablation/2cpu_zen4.txt -->
  <!-- end of table -->

The word after "table:" is a function below; what follows are its files.
"""
import argparse
import math
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(<!-- table: (\w+)((?: [^ >]+)*) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def markdown(header, rows):
    """A table in Markdown: the first column is text, the others are numbers."""
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return "".join("| " + " | ".join(row) + " |\n" for row in [header, rule, *rows])


def ablation(path):
    """What each part of the protocol is worth: the output of tests/ablation.cpp, one case a line."""
    cases = []
    for line in path.read_text().splitlines():
        head, _, ways = line.partition(": ")
        ratios = {}
        for way in ways.split("; ")[1:]:
            name, ratio = way.split()[:2]
            ratios[name] = float(ratio)
        cases.append((head, ratios))
    rows = []
    for way in cases[0][1]:
        errors = [100 * (ratios[way] - 1) for _, ratios in cases]
        # Against both runs of the whole protocol, which differ by noise alone.
        changes = [100 * (ratios[way] / math.sqrt(ratios["all"] * ratios["again"]) - 1)
                   for _, ratios in cases]
        largest = max(range(len(cases)), key=lambda i: abs(changes[i]))
        rows.append([way, f"{statistics.mean(map(abs, errors)):.1f}",
                     f"{statistics.median(map(abs, errors)):.1f}",
                     f"{statistics.mean(changes):+.1f}",
                     f"{changes[largest]:+.1f} ({cases[largest][0]})"])
    return markdown(["way", "mean error, %", "median error, %", "mean change, %",
                     "largest change, %"], rows)


TABLES = {"ablation": ablation}


def updated(text):
    def table(match):
        begin, name, files, end = match.groups()
        return begin + TABLES[name](*(ROOT / file for file in files.split())) + end
    return BLOCK.sub(table, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args()
    stale = []
    for page in sorted(ROOT.glob("docs/*.md")):
        old = page.read_text()
        new = updated(old)
        if new == old:
            continue
        stale.append(str(page.relative_to(ROOT)))
        if not options.check:
            page.write_text(new)
    if options.check and stale:
        sys.exit(f"not up to date: {' '.join(stale)}; run tools/update_docs.py")


if __name__ == "__main__":
    main()
