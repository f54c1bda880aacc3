# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""What the validated cases in results/ say of the error of predictions.

The error of a case is measured / predicted - 1. What sampling does not explain of it is the error of
the protocol: sqrt(error^2 - sampling half-width^2). Cases of one kind (backend, kind of step, whether
they were disturbed, and whether the step is short) should stay within one such error; `learned` takes
the least that 95 % of the cases do, by split conformal prediction (Vovk et al., Algorithmic Learning
in a Random World, 2005): the ceil(0.95 (n + 1))-th of n in order. Kinds with too few cases have none.
"""
import collections
import csv
import functools
import itertools
import json
import math
import pathlib
import statistics

ROOT = pathlib.Path(__file__).resolve().parent.parent
VALIDATION = ROOT / "results" / "validation"
ENGINES = ROOT / "results" / "engines"
HEADER = ROOT / "include/layerbench/result/protocol_error_table.hpp"

CONFIDENCE = 0.95
# With 19 cases the largest of them is the first that the rule above allows.
FEWEST = 20
SHORT_SECONDS = 0.02
# What intervals had before the error of the protocol was learned: beside that of the rounds, in
# quadrature; and until FIRST_DAY in addition to it.
FORMER_ERROR = 0.025
FIRST_DAY = "2026-11-22"
FIRST_ERROR = 0.02

# Kinds of steps of our own; all others are those of engines (tools/engines.py).
KINDS = ("inference", "fused", "training", "recurrent", "ranks", "streams")


def table(folder):
    with open(folder / "runs.csv", newline="") as file:
        return {row["run"]: row for row in csv.DictReader(file)}


@functools.cache
def runs():
    """Rows of runs.csv by the name of the run. Every file of results belongs to exactly one run."""
    rows = table(VALIDATION)
    named = sorted(name for row in rows.values() for name in row["files"].split())
    files = sorted(path.stem for path in VALIDATION.glob("*.json"))
    if named != files:
        odd = sorted(set(named) ^ set(files)) or "a file that is named twice"
        raise SystemExit(f"results/validation/runs.csv does not name each file once: {odd}")
    return rows


@functools.cache
def cases_of(run):
    """Cases of a run by their name and threads. A later file replaces cases of an earlier one."""
    cases = {}
    for name in runs()[run]["files"].split():
        for case in json.loads((VALIDATION / f"{name}.json").read_text())["cases"]:
            cases[case["case"], case["threads"]] = case
    return cases


@functools.cache
def shape_file(model):
    return json.loads((ROOT / f"shapes/models/{model}.json").read_text())


def kind_of(case):
    """As result::step_kind(), which newer files have."""
    if "kind" in case:
        return case["kind"]
    if "ranks:" in case["case"]:
        return "ranks"
    if any(layer["op"] == "rnn" for layer in shape_file(case["model"])["layers"]):
        return "recurrent"
    if case["phase"] == "training":
        return "training"
    return "fused" if "fusion:" in case["case"] else "inference"


Case = collections.namedtuple("Case", "run machine backend kind disturbed short error sampling")


def read_case(case, run, machine, kind, date=""):
    predicted = case["predicted_seconds"]
    half_width = (case["predicted_high"] - case["predicted_low"]) / 2 / predicted
    protocol = FORMER_ERROR
    if "protocol_half_width" in case:  # null where the error was not known
        protocol = (case["protocol_half_width"] or 0) / predicted
    sampling = math.sqrt(max(0, half_width ** 2 - protocol ** 2))
    if date == FIRST_DAY:
        sampling = max(0, half_width - FIRST_ERROR)
    return Case(run, machine, case["backend"], kind,
                case.get("predicted_disturbed", float(case["disturbed"])) > 0.1,
                predicted < SHORT_SECONDS, abs(case["measured_seconds"] / predicted - 1), sampling)


def read_own(case, run):
    """A case of a run of our own steps."""
    of = runs()[run]
    return read_case(case, run, of["machine"], kind_of(case), of["date"])


@functools.cache
def all_cases():
    """The cases with an interval. Runs that show a fault before it was mended are left out."""
    found = [read_own(case, name)
             for name, run in runs().items() if not run["shows_fault"]
             for case in cases_of(name).values() if case["predicted_high"] is not None]
    for name, run in table(ENGINES).items():
        for file in run["files"].split():
            for of in json.loads((ENGINES / f"{file}.json").read_text())["engines"]:
                found += [read_case(case, name, run["machine"], of["engine"])
                          for case in of["cases"] if case["predicted_high"] is not None]
    return found


def needed(cases):
    """The error of the protocol that the share CONFIDENCE of `cases` stays within."""
    errors = sorted(math.sqrt(max(0, case.error ** 2 - case.sampling ** 2)) for case in cases)
    return errors[math.ceil(CONFIDENCE * (len(errors) + 1)) - 1]


def learned(cases):
    """The error and the number of cases by (backend, kind, disturbed, short); None: all."""
    groups = collections.defaultdict(list)
    for case in cases:
        of = (case.backend, case.kind, case.disturbed, case.short)
        for key in (of, (*of[:3], None), (of[0], None, of[2], None)):
            # The kinds of engines are no kinds of steps.
            if key[1] or case.kind in KINDS:
                groups[key].append(case)
    return {key: (needed(of), len(of)) for key, of in groups.items() if len(of) >= FEWEST}


def protocol_error(errors, case):
    """As result::protocol_error_of(): None where it is not known."""
    for key in ((case.backend, case.kind, case.disturbed, case.short),
                (case.backend, case.kind, case.disturbed, None)):
        if key in errors:
            return errors[key][0]
    if case.kind not in KINDS:
        return max((error for key, (error, _) in errors.items() if key[1] == case.kind), default=None)
    alike = [(key[0], error) for key, (error, _) in errors.items()
             if key[2] == case.disturbed and key[1] in (*KINDS, None)]
    return max([error for backend, error in alike if backend == case.backend]
               or [error for _, error in alike])


def half_width(errors, case):
    """None where the error of the protocol is not known."""
    error = protocol_error(errors, case)
    return None if error is None else math.sqrt(case.sampling ** 2 + error ** 2)


@functools.cache
def covered_cases(run):
    """cases_of(run) with `half_width` and `covered` of the interval that is learned from all other
    runs; None where the case has none."""
    errors = learned([case for case in all_cases() if case.run != run])
    covered = {}
    for name, case in cases_of(run).items():
        if case["predicted_high"] is None:
            covered[name] = {**case, "half_width": None, "covered": None}
            continue
        known = read_own(case, run)
        width = half_width(errors, known)
        covered[name] = {**case, "half_width": width, "covered": known.error <= width}
    return covered


def held_out(cases, part):
    """The half-width of each case, learned from the cases of all other runs or machines."""
    widths = []
    learned_without = {}
    for case in cases:
        of = getattr(case, part)
        if of not in learned_without:
            learned_without[of] = learned([one for one in cases if getattr(one, part) != of])
        widths.append(half_width(learned_without[of], case))
    return widths


def coverage(cases, widths):
    """The share of `cases` that lie within their half-widths."""
    return statistics.mean(case.error <= width for case, width in zip(cases, widths))


def needed_widths(cases, widths):
    """The half-widths times the factor with which the share CONFIDENCE of the cases are inside."""
    ratios = sorted(case.error / width for case, width in zip(cases, widths))
    factor = ratios[math.ceil(CONFIDENCE * len(ratios)) - 1]
    return [factor * width for width in widths]


def changes():
    """The errors of predicted changes by (kind, disturbed): of measured / predicted, relative, between
    two runs that have a case on one machine. Each with what their sampling explains."""
    measured = collections.defaultdict(list)
    for name, run in runs().items():
        if run["shows_fault"]:
            continue
        for key, case in cases_of(name).items():
            if case["predicted_high"] is not None:
                ratio = case["measured_seconds"] / case["predicted_seconds"]
                measured[run["machine"], key].append((ratio, read_own(case, name)))
    errors = collections.defaultdict(list)
    for same in measured.values():
        for (old, before), (new, after) in itertools.combinations(same, 2):
            kind = (before.kind, before.disturbed or after.disturbed)
            errors[kind].append((abs(new / old - 1), math.hypot(before.sampling, after.sampling)))
    return errors


def in_order():
    """The rows of learned(all_cases()), sorted."""
    return sorted(learned(all_cases()).items(), key=lambda row: tuple(map(str, row[0])))


def header():
    """The text of HEADER."""
    rows = ""
    for (backend, kind, disturbed, short), (error, cases) in in_order():
        steps = "all" if short is None else "short_steps" if short else "long_steps"
        rows += (f'    {{"{backend}", "{kind or ""}", {str(disturbed).lower()}, '
                 f"step_length::{steps}, {error:.4f}, {cases}}},\n")
    return f"""// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// tools/update_docs.py writes this file from results/: see tools/protocol_errors.py.

#include <array>

#include <layerbench/result/learned_error.hpp>

namespace layerbench::result {{

inline constexpr double short_step_seconds = {SHORT_SECONDS};

inline constexpr std::array protocol_errors = std::to_array<learned_error>({{
{rows}}});

}}  // namespace layerbench::result
"""
