#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of README and docs/ from the files in results/, and the figures in docs/figures.

  tools/update_docs.py           rewrites tables and figures
  tools/update_docs.py --check   exit code 1 if one is not up to date
  tools/update_docs.py --programs build/release
                                 also what these programs print for --help, in docs/options.md,
                                 which plans the backends of this build have, in docs/ops.md, and
                                 the memory of studies, in docs/studies.md

A page marks the place of a table by two lines:

  <!-- table: ablation results/ablation/2cpu_zen4.txt -->
  <!-- end of table -->

The word after "table:" is a function below; what follows are its arguments: a file, or runs of
results/validation/runs.csv.
"""
import argparse
import collections
import csv
import functools
import itertools
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import textwrap

import protocol_errors
from package_files import output
from protocol_errors import covered_cases as cases_of, runs, shape_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
HELP = re.compile(r"(<!-- help: ([^>]+) -->\n).*?(<!-- end of help -->)", re.DOTALL)
PLANS = re.compile(r"(<!-- plans: ([^>]+) -->\n).*?(<!-- end of plans -->)", re.DOTALL)
MEMORY = re.compile(r"(<!-- memory: ([^>]+) -->\n).*?(<!-- end of memory -->)", re.DOTALL)
BLOCK = re.compile(r"(<!-- table: (\w+)((?: [^ >]+)*) -->\n)"
                   r"(?:(?!<!-- table).)*?(<!-- end of table -->)", re.DOTALL)


def markdown(header, rows, text_columns=1):
    """A table in Markdown: the first columns are text, the others are numbers."""
    rule = ["---"] * text_columns + ["---:"] * (len(header) - text_columns)
    return "".join("| " + " | ".join(row) + " |\n" for row in [header, rule, *rows])


def ablation(file):
    """What each part of the protocol is worth: output of tests/ablation.cpp, a line per case."""
    cases = []
    for line in (ROOT / file).read_text().splitlines():
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


def percent(ratio, sign="+"):
    return "-" if ratio is None else f"{100 * ratio:{sign}.1f}"


def error(case):
    """The error of the prediction; a star marks cases with many disturbed timings."""
    return percent(case["error"]) + ("\\*" if case["disturbed"] else "")


def mean(values):
    known = [value for value in values if value is not None]
    return statistics.mean(known) if known else None


def magnitudes(values):
    return [abs(value) for value in values if value is not None]


def inside(cases):
    """The share, in percent, of measured steps inside the predicted interval, as learned from all
    other runs."""
    return f"{100 * mean(case['covered'] for case in cases):.0f}"


def summary():
    """A row per run: how far its predictions are from the measured steps."""
    rows = []
    for name, run in runs().items():
        cases = list(cases_of(name).values())
        errors = [case["error"] for case in cases]
        naive = [case["naive_error"] for case in cases]
        rows.append([f"`{name}`", run["machine"], run["date"], run["what"], str(len(cases)),
                     percent(mean(magnitudes(errors)), ""),
                     percent(statistics.median(magnitudes(errors)), ""),
                     percent(max(magnitudes(errors)), ""), percent(mean(errors)),
                     percent(mean(magnitudes(naive)), ""), inside(cases),
                     percent(statistics.median(case["half_width"] for case in cases if case["half_width"]), "")])
    return markdown(["run", "machine", "date", "what", "cases", "mean", "median", "worst", "bias",
                     "naive", "inside", "half-width"], rows, text_columns=4)


def accuracy():
    """How far all predictions are from the measured steps, by phase and kind of device."""
    rows = []
    every = [(case, run["machine"] == "H100") for name, run in runs().items()
             for case in cases_of(name).values()]
    for phase, on_gpu in itertools.product(("inference", "training"), (False, True)):
        cases = [case for case, of_gpu in every if case["phase"] == phase and of_gpu == on_gpu]
        errors = magnitudes(case["error"] for case in cases)
        title = f"{phase}, one H100" if on_gpu else f"{phase}, CPU"
        with_hot = [case for case in cases if case["naive_error"] is not None]
        rows.append([title, str(len(cases)), percent(mean(errors), ""),
                     percent(statistics.median(errors), ""), percent(max(errors), ""),
                     f"{inside(cases)} %", str(len(with_hot)),
                     percent(mean(magnitudes(case["error"] for case in with_hot)), ""),
                     percent(mean(magnitudes(case["naive_error"] for case in with_hot)), "")])
    return markdown(["", "cases", "mean", "median", "worst", "inside the interval",
                     "with a naive sum", "their mean", "their naive mean"], rows)


def intervals():
    """A row per kind of step: what intervals hold that were learned without the case's run, or without
    its machine. Engines whose error was then not known have none."""
    def titles(case):
        if case.kind not in protocol_errors.KINDS:
            return [f"{case.backend}, as {case.kind}"]
        return ["all steps of our own", case.backend, f"{case.backend}, {case.kind}"]
    cases = protocol_errors.all_cases()
    held_out = {part: collections.defaultdict(list) for part in ("run", "machine")}
    for part, of in held_out.items():
        for case, width in zip(cases, protocol_errors.held_out(cases, part)):
            for title in titles(case) if width else ():
                of[title].append((case, width))

    def cells(pairs):
        if not pairs:
            return ["-"] * 4
        known, widths = zip(*pairs)
        needed = protocol_errors.needed_widths(known, widths)
        return [str(len(pairs)), percent(protocol_errors.coverage(known, widths), ""),
                percent(statistics.median(widths), ""), percent(statistics.median(needed), "")]
    rows = [[title, *cells(held_out["run"][title]), *cells(held_out["machine"][title])]
            for title in sorted({title for case in cases for title in titles(case)})]
    return markdown(["", "cases, other runs", "inside", "half-width", "needed",
                     "cases, other machines", "inside", "half-width", "needed"], rows)


def learned():
    """A row per kind whose error was learned."""
    steps = {None: "all", True: "below", False: "from"}
    limit = f"{1000 * protocol_errors.SHORT_SECONDS:g} ms"
    rows = []
    for (backend, kind, disturbed, short), (error, count) in protocol_errors.in_order():
        length = "all" if short is None else f"{steps[short]} {limit}"
        rows.append([backend, kind or "all", "yes" if disturbed else "no", length, str(count),
                     percent(error, "")])
    return markdown(["backend", "kind", "disturbed", "step", "cases", "error, %"], rows, text_columns=4)


def changes():
    """A row per kind of step of which two runs of a machine have a case."""
    rows = []
    for (kind, disturbed), of in sorted(protocol_errors.changes().items()):
        errors = [error for error, _ in of]
        within = percent(statistics.quantiles(errors, n=20)[-1], "") if len(of) >= 20 else "-"
        inside = mean(error <= sampling for error, sampling in of)
        rows.append([kind, "yes" if disturbed else "no", str(len(of)), percent(mean(errors), ""),
                     percent(statistics.median(errors), ""), within, percent(inside, "")])
    return markdown(["kind", "disturbed", "pairs", "mean", "median", "19 of 20 within",
                     "inside the interval of sampling, %"], rows, text_columns=2)


def errors(*names):
    """A row per model, batch and data type. For each number of threads: the errors of the runs that
    have the case, in their order, and the mean error of the naive sum."""
    def key(case):
        return case["model"], case["batch"], case["dtype"]
    found = [case for name in names for case in cases_of(name).values()]
    threads = sorted({case["threads"] for case in found})
    header = ["model", "batch", "type"]
    for count in threads:
        header += [f"{count} thread{'s' * (count > 1)}", "naive"]
    rows = []
    for which in dict.fromkeys(map(key, sorted(found, key=lambda case: case["batch"]))):
        row = [which[0], str(which[1]), which[2]]
        for count in threads:
            here = [[case for case in cases_of(name).values()
                     if key(case) == which and case["threads"] == count] for name in names]
            naive = [case["naive_error"] for of_run in here for case in of_run]
            row += [" ".join(error(case) for of_run in here for case in of_run[:1]) or "-",
                    percent(mean(naive))]
        rows.append(row)
    order = list(dict.fromkeys(case["model"] for case in found))
    rows.sort(key=lambda row: order.index(row[0]))
    return markdown(header, rows, text_columns=3)


def families(*names):
    """A row per family of shipped models; then all whose models join tensors by concats, and all
    others."""
    found = [case for name in names for case in cases_of(name).values()]
    groups = collections.defaultdict(list)
    for case in found:
        groups[shape_file(case["model"])["family"]].append(case)
    rows = sorted(groups.items())

    def joins(case):
        return any(layer["op"] == "concat" for layer in shape_file(case["model"])["layers"])
    if any(map(joins, found)):
        rows += [("with concats", [case for case in found if joins(case)]),
                 ("without", [case for case in found if not joins(case)])]
    rows.append(("all", found))

    def average(ratios):
        return mean(magnitudes(ratios))

    def worst(ratios):
        return max(magnitudes(ratios))
    return markdown(["family", "models", "cases", "mean", "worst", "bias", "naive mean",
                     "naive worst", "inside"], [
        [title, str(len({case["model"] for case in of})), str(len(of)),
         *(percent(value(case[error] for case in of), sign) for error, value, sign in (
             ("error", average, ""), ("error", worst, ""), ("error", mean, "+"),
             ("naive_error", average, ""), ("naive_error", worst, ""))),
         inside(of)]
        for title, of in rows])


def case_name(case, shown=("ranks:", "during:", "fusion:", "memory:", "tokens:", "context:")):
    """The case with the parameters in `shown`."""
    ranks = [part for part in case["case"].split("/") if part.startswith(shown)]
    threads = f"{case['threads']} thread{'s' * (case['threads'] > 1)}"
    return ", ".join([case["model"], case["dtype"], f"batch {case['batch']}", threads, *ranks])


def milliseconds(seconds):
    return f"{1000 * seconds:.4g}"


def cases(*names):
    """A row per case."""
    rows = [[case_name(case), milliseconds(case["predicted_seconds"]),
             milliseconds(case["measured_seconds"]), percent(case["error"]),
             percent(case["naive_error"]), {True: "yes", False: "no", None: "-"}[case["covered"]],
             str(case["predicted_rounds"]), "yes" if case["disturbed"] else ""]
            for name in names for case in cases_of(name).values()]
    return markdown(["case", "predicted ms", "measured ms", "error %", "naive error %", "inside",
                     "rounds", "disturbed"], rows)


def engine_cases(pattern, engine):
    """The cases of an engine in the files of `pattern`, file by file."""
    for file in sorted(ROOT.glob(pattern)) or sys.exit(f"{pattern}: no such file"):
        for of in json.loads(file.read_text())["engines"]:
            if of["engine"] == engine:
                yield from of["cases"]


def engines(pattern, engine):
    """A row per case: the calls that were timed, the prediction for the engine, and its step, as means
    over the files of `pattern`; the differences of both in each file; then the means, the largest and
    the mean of the differences. The text above the table has the plan and the memory, which all cases
    share."""
    found = {}  # by case, from each file
    for case in engine_cases(pattern, engine):
        alone = case["predicted_seconds"] - case.get("overhead_seconds", 0)
        calls = {**case, "predicted_seconds": alone, "error": alone / case["measured_seconds"] - 1}
        found.setdefault(case_name(case, shown=()), []).append((calls, case))
    # Without an engine's terms the prediction is the calls alone.
    shown = (0, 1) if any(case.get("overhead_seconds") for runs in found.values()
                          for _, case in runs) else (0,)
    rows = [[name, *(milliseconds(mean(run[which]["predicted_seconds"] for run in runs))
                     for which in shown),
             milliseconds(mean(case["measured_seconds"] for _, case in runs)),
             *(" ".join(error(run[which]) for run in runs) for which in shown)]
            for name, runs in found.items()]
    differences = [[run[which]["error"] for runs in found.values() for run in runs]
                   for which in shown]
    for title, of in (("mean", lambda known: percent(mean(magnitudes(known)), "")),
                      ("worst", lambda known: percent(max(magnitudes(known)), "")),
                      ("bias", lambda known: percent(mean(known)))):
        rows.append([title, *[""] * (1 + len(shown)), *map(of, differences)])
    titles = ("calls", "predicted")[:len(shown)]
    return markdown(["case", *(f"{title} ms" for title in titles), f"{engine} ms",
                     *(f"{title} %" for title in titles)], rows)


def libraries(pattern, engine):
    """A row per case: the shares of an engine's profile that each library's code takes, as means over
    the files of `pattern`. For engines whose profile names no layers."""
    found = {}
    for case in engine_cases(pattern, engine):
        shares = {node["type"]: node["seconds"] / case["profile_seconds"]
                  for node in case["in_no_layer"]}
        found.setdefault(case_name(case, shown=()), []).append(shares)
    names = sorted({name for runs in found.values() for shares in runs for name in shares})
    return markdown(["case", *(f"{name} %" for name in names)],
                    [[case, *(f"{100 * mean(shares.get(name, 0) for shares in runs):.0f}"
                              for name in names)] for case, runs in found.items()])


def overheads(file):
    """A row per engine and number of threads: what it takes beside its calls."""
    known = json.loads((ROOT / file).read_text())["engine_overheads"]
    # Of PyTorch alone; adding 0 takes the sign from a rounded -0.
    large = [f"{round(1e9 * one['large_byte_seconds'], 2) + 0:.2f}" if "large_bytes" in one else "-"
             for one in known]
    rows = [[one["engine"], str(one["threads"]), f"{1e6 * one['call_seconds']:.2f}",
             f"{1e6 * one['step_seconds']:.1f}"] for one in known]
    titles = ["engine", "threads", "us per call", "us per step"]
    if set(large) != {"-"}:
        titles.append("ms per MB of large results")
        rows = [[*row, of] for row, of in zip(rows, large)]
    return markdown(titles, rows)


def kernel_factors(file):
    """A row per kind of kernel: the factors of each engine and number of threads."""
    known = json.loads((ROOT / file).read_text())["engine_overheads"]
    kinds = sorted({kind for one in known for kind in one.get("kernel_factors", {})})
    return markdown(
        ["kind"] + [f"{one['engine']}, {one['threads']}" for one in known],
        [[f"`{kind}`"] + [f"{one['kernel_factors'][kind]:.2f}" if kind in one.get("kernel_factors", {})
                          else "-" for one in known] for kind in kinds])


def ops_of_versions(file):
    """A row per op of a `versus`: a call of each of its rows, with both versions."""
    seconds = {}
    for row in json.loads((ROOT / file).read_text())["layers"]:
        seconds.setdefault(row["name"].split("/")[0], []).append((row["old_seconds"], row["new_seconds"]))
    sums = {op: [sum(side) for side in zip(*rows)] for op, rows in seconds.items()}
    return markdown(["op", "rows", "old ms", "new ms", "new / old"],
                    [[f"`{op}`", str(len(seconds[op])), milliseconds(old), milliseconds(new), f"{new / old:.2f}"]
                     for op, (old, new) in sorted(sums.items(), key=lambda of: -of[1][0])])


def bare_loops(pattern):
    """A row per list and op of tests/hot_agreement.cpp, and one of tests/allreduce_agreement.cpp:
    how rows in state hot differ from bare loops over the same primitives."""
    rows = []
    for file in sorted(ROOT.glob(pattern)) or sys.exit(f"{pattern}: no such file"):
        groups = collections.defaultdict(list)
        for line in file.read_text().splitlines():
            if found := re.fullmatch(r"([+-][\d.]+) %  (\w+)", line):
                groups[found[2].split("_")[0]].append(float(found[1]) / 100)
            elif found := re.fullmatch(r".* row .* bare loop .* ([+-][\d.]+) %", line):
                groups["allreduce"].append(float(found[1]) / 100)
            elif (found := re.match(r"(\w+): (\d+) rows", line)) and \
                    len(groups[found[1]]) != int(found[2]):
                sys.exit(f"{file}: has not {found[2]} rows of {found[1]}")
        for op, differences in groups.items():
            rows.append([file.stem.partition("_zen4_")[2], op, str(len(differences)),
                         percent(statistics.median(differences)),
                         percent(max(differences, key=abs))])
    return markdown(["list", "op", "rows", "median %", "worst %"], rows, text_columns=2)


def pytorch(file):
    """A row per step of tests/torch_agreement.py: predicted, and as PyTorch ran it."""
    rows = []
    for each in json.loads((ROOT / file).read_text())["models"]:
        own = each["layerbench_images_per_second"]
        recorded = each["torch_images_per_second"]
        rows.append([f"{each['model']}, {each['phase']}, {each['dtype']}, batch {each['batch']}",
                     f"{own:.0f}", f"{recorded:.0f}", f"{each['torch_eager_images_per_second']:.0f}",
                     f"{own / recorded:.2f}"])
    return markdown(["case", "predicted images/s", "PyTorch, recorded", "PyTorch, eager",
                     "predicted / recorded"], rows)


def device_functions(file):
    """A row per tensor: microseconds of functions of cuDNN, and of a copy."""
    with open(ROOT / file, newline="") as of:
        found = [row for row in csv.DictReader(of) if row["dtype"] == "bf16"]
    columns = ["spatial_training_us", "persistent_training_us", "spatial_bwd_us",
               "persistent_bwd_us", "inference_us", "relu_us", "add_us", "copy_us"]
    rows = [[f"{row['c']} channels, {row['side']}*{row['side']}"] + [row[name] for name in columns]
            for row in found]
    return markdown(["32 images of", "training", "training, persistent", "gradient",
                     "gradient, persistent", "inference", "relu", "add", "copy"], rows)


def parts(*names):
    """A row per case of training: errors of the parts of the step, by clocks in the chain."""
    order = ["forward", "backward", "update"]
    rows = []
    for case in (case for name in names for case in cases_of(name).values()):
        by_part = {part["part"]: part["error"] for part in case["parts"]}
        if by_part:
            rows.append([case_name(case), *(percent(by_part.get(part)) for part in order)])
    return markdown(["case", *(f"{part} %" for part in order)], rows)


class Drawing:
    """An SVG image with a white ground, for pages in light and dark colours."""

    def __init__(self, width, height, title):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">',
            f"<title>{title}</title>", '<rect width="100%" height="100%" fill="white"/>']

    def text(self, x, y, words, anchor="start", size=13, fill="#222"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
                          f'font-size="{size}" fill="{fill}">{words}</text>')

    def line(self, x1, y1, x2, y2, stroke="#bbb", width=1):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
                          f'stroke="{stroke}" stroke-width="{width}"/>')

    def box(self, x, y, width, height, fill):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" '
                          f'fill="{fill}" stroke="#222"/>')

    def dot(self, x, y, fill):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{fill}" '
                          'fill-opacity="0.55"/>')

    def finished(self):
        return "\n".join([*self.parts, "</svg>\n"])


BLUE, ORANGE = "#1f6fb4", "#e07b00"


def errors_figure():
    """The error of every case of runs.csv: of the prediction and of the sum of hot timings."""
    left, right, row, top = 150, 700, 26, 58
    shown = list(runs())
    all_errors = [100 * error for name in shown for case in cases_of(name).values()
                  for error in (case["error"], case["naive_error"]) if error is not None]
    low = 10 * math.floor(min(all_errors) / 10)
    high = 10 * math.ceil(max(all_errors) / 10)
    image = Drawing(740, top + row * len(shown) + 40, "Errors of predictions and of hot sums")

    def x(value):
        return left + (value - low) / (high - low) * (right - left)
    image.dot(left, 20, BLUE)
    image.text(left + 10, 24, "prediction from cache:model")
    image.dot(left + 230, 20, ORANGE)
    image.text(left + 240, 24, "sum of hot timings")
    bottom = top + row * len(shown)
    for value in range(low, high + 1, 10):
        image.line(x(value), top - 12, x(value), bottom, "#222" if value == 0 else "#ddd")
        image.text(x(value), bottom + 18, f"{value:+d} %" if value else "0", "middle")
    image.text(left, top - 18, "error against the measured step", size=12, fill="#555")
    for i, name in enumerate(shown):
        y = top + row * (i + 0.5)
        image.text(left - 12, y + 4, name, "end")
        for case in cases_of(name).values():
            if case["naive_error"] is not None:
                image.dot(x(100 * case["naive_error"]), y + 4, ORANGE)
            image.dot(x(100 * case["error"]), y - 4, BLUE)
    return image.finished()


def one_call_figure():
    """What happens before a timed call of a row in the state cache:model."""
    image = Drawing(740, 190, "One timed call of a row")
    steps = [("setup ops", "write what was", "written earlier", 110, "#dbe9f6"),
             ("pacing", "wait until the", "call is due", 100, "#eeeeee"),
             ("eviction", "of the private", "caches", 105, "#eeeeee"),
             ("setup ops", "of what was", "used last", 105, "#dbe9f6"),
             ("eviction", "of the instruc-", "tion cache", 105, "#eeeeee"),
             ("the call", "with its operands", "as in the model", 130, "#f9d9a8")]
    x = 40
    for title, first, second, width, fill in steps:
        image.box(x, 62, width, 62, fill)
        image.text(x + width / 2, 82, title, "middle", 14)
        image.text(x + width / 2, 100, first, "middle", 11, "#444")
        image.text(x + width / 2, 115, second, "middle", 11, "#444")
        x += width
    image.line(40, 148, x - 130, 148, "#555", 2)
    image.text(40 + (x - 170) / 2, 168, "not timed", "middle")
    image.line(x - 130, 148, x, 148, ORANGE, 4)
    image.text(x - 65, 168, "timed", "middle")
    image.text(40, 40, "one call of a row in the state cache:model, in the order of time", size=14)
    return image.finished()


FIGURES = {"errors": errors_figure, "one_call": one_call_figure}

def call_path(file):
    """The functions from main to a timed call of a library, as tests/call_path.py counts them."""
    names = [*(ROOT / file).read_text().split(), "dnnl_primitive_execute"]
    listed = ", ".join(f"`{name}`" for name in names)
    return "\n".join(textwrap.wrap(f"They are {len(names)}: {listed}.", 120)) + "\n"


def imports(file):
    """A row per set of calls that no op computes: the models of tests/torch_coverage.py that have it."""
    with open(ROOT / file, newline="") as lines:
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    groups = {}

    def same(row):
        return row["parameters"] == row["torch_parameters"] and row["macs"] == row["torch_macs"]

    for row in rows:
        missing = [part.rpartition(" ")[0] for part in row["missing"].split("; ") if part]
        groups.setdefault((", ".join(missing) or "none", same(row)), []).append(row)

    def names(group):
        """Families with their numbers, where there are many models."""
        models = [row["model"] for row in group]
        if len(models) < 6:
            return " ".join(models)
        families = {}
        for name in models:
            families.setdefault(re.match("(wide_)?[a-z]+", name)[0], []).append(name)
        return ", ".join(all_of[0] if len(all_of) == 1 else f"{family} ({len(all_of)})"
                         for family, all_of in families.items())

    return markdown(["calls that no op computes", "models", "share of calls converted",
                     "totals equal torch's", "number"],
                    [[missing, names(group),
                      f"{100 * min(float(row['coverage']) for row in group):.0f} %",
                      "yes" if equal else "no", str(len(group))]
                     for (missing, equal), group in sorted(groups.items(), key=lambda one: -len(one[1]))],
                    text_columns=4)


def study_files():
    return [json.loads(file.read_text()) for file in sorted(ROOT.glob("shapes/studies/*.json"))]


def studies():
    """The shipped studies: what they measured, and how much of it has a figure here."""
    def row(study):
        cells = study["cells"]
        units = [study["unit"], *(cell["unit"] for cell in cells if "unit" in cell)]
        predicted = [one["name"] for one in study.get("memory", {}).get("frameworks", ())
                     if "policy" in one]
        timed = [cell for cell in cells if "unanswered" not in cell
                 and ("framework" not in cell or cell["framework"] in predicted)]
        return [f"`{study['name']}`", study["title"], ", ".join(dict.fromkeys(units)),
                str(len({cell["model"] for cell in timed})), str(len(cells)), str(len(timed))]
    return markdown(["study", "what it measured", "units", "networks", "cells", "measured"],
                    [row(study) for study in study_files()], text_columns=3)


def open_questions():
    """The questions of studies that timings of layers do not answer, those of most studies first."""
    asked = {}
    for study in study_files():
        for one in study["unanswered"]:
            asked.setdefault((one["question"], one["reason"]), []).append(f"`{study['name']}`")
    return markdown(["question", "why", "studies"],
                    [[*text, " ".join(names)] for text, names
                     in sorted(asked.items(), key=lambda one: -len(one[1]))], text_columns=3)


def release_files(pattern):
    """The files of `tools/engines.py --releases` of a pattern, with compared releases of one engine."""
    found = {file: json.loads(file.read_text()) for file in sorted(ROOT.glob(pattern))}
    for file, releases in found.items():
        if len({one["engine"] for one in measured(releases)}) != 1:
            sys.exit(f"{file}: must have compared releases of one engine")
    return list(found.values()) or sys.exit(f"{pattern}: no such file")


def measured(releases):
    """The comparisons in which no release was skipped."""
    return [one for one in releases["engine_releases"] if not one["reason"]]


def is_changed(row):
    return row["verdict"] in ("slower", "faster")


def release_steps(file):
    """A row per release of an engine: the step of each model, and its ratio to the release before."""
    of_file, = release_files(file)
    first = measured(of_file)[0]
    models = [row["name"] for row in first["rows"]]

    def ratio(row):
        bold = "**" * is_changed(row)
        return f"{bold}{row['ratio']:.3f}{bold} ({row['low']:.3f} to {row['high']:.3f})"
    rows = [[first["base"], "first",
             *(cell for row in first["rows"] for cell in (milliseconds(row["seconds"][0]), "-"))]]
    for one in of_file["engine_releases"]:
        of = {row["name"]: row for row in one.get("rows", ())}
        rows.append([one["release"], f"skipped: {one['reason']}" if one["reason"] else one["base"],
                     *(cell for name in models for cell in
                       ((milliseconds(of[name]["seconds"][1]), ratio(of[name])) if of else ("-", "-")))])
    return markdown(["release", "compared with",
                     *(cell for name in models for cell in (f"{name}, ms", "ratio"))], rows, text_columns=2)


def release_changes(pattern):
    """A row per changed model: by how much, and which type of node changed most in that direction, if
    any, by the profiles of both releases."""
    rows = []
    for one in itertools.chain.from_iterable(map(measured, release_files(pattern))):
        for row in filter(is_changed, one["rows"]):
            before, after = row["types"]
            sign = 1 if row["ratio"] > 1 else -1
            by_node = {node: sign * (after.get(node, 0) - before.get(node, 0)) for node in {**before, **after}}
            node = max(by_node, key=by_node.get, default="none")
            named = [node, *(milliseconds(types.get(node, 0)) for types in (before, after))]
            rows.append([one["engine"], f"{one['base']} to {one['release']}", row["name"], row["verdict"],
                         percent(row["ratio"] - 1), *map(milliseconds, row["seconds"]),
                         *(named if by_node.get(node, 0) > 0 else ("none", "-", "-"))])
    if not rows:
        return "No model changed in any comparison.\n"
    return markdown(["engine", "releases", "model", "verdict", "change, %", "ms before", "ms after",
                     "type of node", "ms before", "ms after"], rows, text_columns=4)


def release_runs(pattern):
    """A row per file: where, when and in which state of the machine its releases were compared."""
    rows = []
    for file in release_files(pattern):
        of, compared = file["context"], measured(file)
        pairs = [one["pairs"] for one in compared]
        rows.append([compared[0]["engine"], of["device"], of["date"][:16].replace("T", " "),
                     of["num_cpus"], of["threads"], f"{of['load_avg'][0]:.1f}",
                     f"{of['load_avg_at_end'][0]:.1f}", f"{min(pairs)} to {max(pairs)}"])
    return markdown(["engine", "processor", "began, UTC", "processors", "threads", "load at start", "load at end",
                     "pairs"], [list(map(str, row)) for row in rows], text_columns=3)


def backend_lines(*names):
    """Files and lines of the folders of backends."""
    rows = []
    for name in names:
        files = sorted((ROOT / "include/layerbench/backend" / name).glob("*.hpp"))
        lines = sum(len(file.read_text().splitlines()) for file in files)
        rows.append([f"`backend/{name}/`", str(len(files)), str(lines)])
    return markdown(["folder", "files", "lines"], rows)


TABLES = {"ablation": ablation, "summary": summary, "changes": changes,
          "errors": errors, "families": families,
          "cases": cases, "parts": parts, "imports": imports, "accuracy": accuracy,
          "intervals": intervals, "learned": learned,
          "engines": engines, "libraries": libraries, "bare_loops": bare_loops,
          "overheads": overheads, "kernel_factors": kernel_factors,
          "ops_of_versions": ops_of_versions,
          "pytorch": pytorch, "device_functions": device_functions, "call_path": call_path,
          "backend_lines": backend_lines, "release_steps": release_steps,
          "release_changes": release_changes, "release_runs": release_runs, "studies": studies,
          "open_questions": open_questions}


def with_help(text, programs):
    """Fills the places for the help of programs: <!-- help: bench_model -->."""
    def shown(match):
        begin, command, end = match.groups()
        name, *words = command.split()
        folder = "tools" if name == "layerbench" else "bench"
        return f"{begin}```text\n{output(programs / folder / name, *words, '--help').strip()}\n```\n{end}"
    return HELP.sub(shown, text)


def with_memory(text, programs):
    """Fills the places for the memory of studies: <!-- memory: upv_2018 -->."""
    def shown(match):
        begin, name, end = match.groups()
        done = subprocess.run([programs / "tools" / "layerbench", "study", name, "--format", "json"],
                              capture_output=True, text=True, check=True)
        study = json.loads(done.stdout)
        columns = study["memory"]["columns"]
        header = ["cell", "model", "batch", "policy"]
        for column in columns:
            header += [column, "predicted", "error, %"]
        rows = []
        for cell in study["cells"]:
            figures = {one["column"]: one for one in cell.get("memory", ())}
            if not figures:
                continue
            rows.append([cell["label"], f"`{cell['model']}`", str(cell["batch"]),
                         f"`{next(iter(figures.values()))['policy']}`"])
            for column in columns:
                one = figures[column]
                rows[-1] += [f"{one['published']:.0f}", f"{one['value']:.0f}",
                             percent(one["error"])]
        errors = [[one["framework"], f"`{one['policy']}`", one["column"],
                   "not known" if one["contexts_mib"] is None else f"{one['contexts_mib']:g}",
                   str(one["figures"]), str(one["below_live"]), percent(one["mean_error"], ""),
                   percent(one["bias"])] for one in study["memory_errors"]]
        reasons = "".join(textwrap.fill("- " + (f"{one['name']}: {one['source']}"
                                                if "policy" in one else one["unanswered"]),
                                        width=120, subsequent_indent="  ") + "\n"
                          for one in study["memory"]["frameworks"])
        return (begin + markdown(header, rows, text_columns=4) + "\n"
                + markdown(["framework", "policy", "beside", "contexts, MiB", "figures",
                            "below live", "mean error, %", "bias, %"], errors, text_columns=3)
                + "\n" + reasons + end)
    return MEMORY.sub(shown, text)


@functools.cache
def plan_table(programs):
    """What tests/plan_table.cpp prints; on the GPU in software, where it was built. Nothing where
    the tests were not built."""
    program = programs / "tests" / "plan_table"
    if not program.exists():
        return {}
    # oneDNN as on the least processor with bf16, whatever this one has.
    environment = {**os.environ, "LD_LIBRARY_PATH": str(programs / "tests" / "software_gpu"),
                   "ONEDNN_MAX_CPU_ISA": "AVX512_CORE"}
    done = subprocess.run([program], capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout)


def plan_rows(backends):
    """A row per op and passes with equal plans: for each backend the code and its data types."""
    def cell(types):
        by_code = {}
        for name in ("f32", "tf32", "f16", "bf16", "f8_e4m3", "s8", "u8"):
            if name in types:
                order = sorted(types[name], key=["library", "layerbench", "both"].index)
                by_code.setdefault(" or ".join(order), []).append(name)
        return "; ".join(f"{code}: {' '.join(names)}" for code, names in by_code.items()) or "-"
    rows = []
    for op in backends[0]:
        passes = {name: None for of in backends for name in of[op]}
        order = ["fwd", "fwd_training", "bwd", "bwd_data", "bwd_weights"]
        by_cells = {}
        for name in sorted(passes, key=order.index):
            cells = tuple(cell(of[op].get(name, {})) for of in backends)
            by_cells.setdefault(cells, []).append(name)
        for cells, names in (by_cells or {("-",) * len(backends): ["all"]}).items():
            rows.append([f"`{op}`", " ".join(names), *cells])
    return rows


def with_plans(text, programs):
    """Fills the places for tables of plans: <!-- plans: cudnn cublas -->. Backends that this build or
    machine lacks keep theirs."""
    def shown(match):
        begin, names, end = match.groups()
        found = plan_table(programs)
        if not all(name in found for name in names.split()):
            return match.group(0)
        backends = [found[name] for name in names.split()]
        return begin + markdown(["op", "pass", *names.split()], plan_rows(backends),
                                text_columns=2 + len(backends)) + end
    return PLANS.sub(shown, text)


def updated(text):
    def table(match):
        begin, name, arguments, end = match.groups()
        return begin + TABLES[name](*arguments.split()) + end
    result, tables = BLOCK.subn(table, text)
    if tables != len(re.findall(r"<!-- (?:table|end of table)", text)) / 2:
        sys.exit("a table's marker is wrong: each begins with <!-- table: NAME ARGUMENTS --> and "
                 "ends with <!-- end of table -->")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path, help="a build folder with the programs")
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args()
    new = {page: updated(page.read_text()) for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]}
    if options.programs:
        programs = options.programs.resolve()
        new = {page: with_plans(with_memory(with_help(text, programs), programs), programs)
               for page, text in new.items()}
    new[protocol_errors.HEADER] = protocol_errors.header()
    for name, draw in FIGURES.items():
        new[ROOT / "docs" / "figures" / f"{name}.svg"] = draw()
    stale = []
    for file, text in new.items():
        if file.exists() and file.read_text() == text:
            continue
        stale.append(str(file.relative_to(ROOT)))
        if not options.check:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
    if options.check and stale:
        sys.exit(f"not up to date: {' '.join(stale)}; run tools/update_docs.py")


if __name__ == "__main__":
    main()
