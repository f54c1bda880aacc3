# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Reference files, and what `layerbench compare` says of a run, in ReFrame's terms. Needs no ReFrame."""
import json
import os
import pathlib
import shutil
import subprocess


class Refused(Exception):
    """Why a run is no result, or no reference. The text names the remedy."""


def tool(*words):
    """What `layerbench`, of the PATH, prints. Throws Refused with what it says on stderr."""
    try:
        done = subprocess.run(["layerbench", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", check=False)
    except FileNotFoundError:
        raise Refused("there is no program layerbench: add its folder to PATH") from None
    if done.returncode:
        raise Refused(done.stderr.strip() or f"layerbench {words[0]}: exit code {done.returncode}")
    return done.stdout


def read(file):
    """A whole result file. Throws Refused if it is missing, interrupted, empty, or rows failed."""
    try:
        run = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
        context, rows = run["context"], run["benchmarks"]
    except FileNotFoundError:
        raise Refused(f"{file} was not written") from None
    except (ValueError, LookupError, TypeError) as error:
        raise Refused(f"{file}: no result file: {error}") from None
    failed = [f"{row['name']}: {row.get('error_message')}" for row in rows if row.get("error_occurred")]
    if failed:
        raise Refused("; ".join(failed))
    if context.get("interrupted", "0") != "0" or not rows:
        raise Refused(f"{file}: rows are missing; was the job ended early?")
    return run


def references(folder):
    """The reference files in a folder, which record() wrote there."""
    return sorted(map(str, pathlib.Path(folder).glob("*/*.json")))


def record(file, folder, accepted=()):
    """Copies a result file to FOLDER/HOST/DATE.json. Throws Refused if the machine was not fit, but for `accepted`
    facts and, as in `layerbench submit`, far cores: these are the machine, not its state."""
    context = read(file)["context"]
    bad = set(context.get("machine_check", "").split()) - {"fit", "cores", *accepted}
    if bad:
        raise Refused(f"no reference, since the machine was not fit: {' '.join(sorted(bad))}; "
                      "see bench_model --check-machine")
    name = os.path.join(context["host_name"].replace("/", "_"), context["date"].replace(":", "") + ".json")
    target = pathlib.Path(folder, name)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    shutil.copyfile(file, part)
    os.replace(part, target)


def compare(old, new):
    """The comparison of result files with a new one, as in docs/formats.md, whatever differs."""
    if any("," in file for file in (*old, new)):
        raise Refused("compare cannot take paths with a comma")
    return json.loads(tool("compare", ",".join(old), new, "--force", "--quiet", "--format=json"))


def changes(comparison, old, new):
    """What differs between the machines, libraries and settings of both sides, but for the names of nodes:
    `onednn_version: 3.2.0, now 3.5.0`."""
    contexts = [read(file)["context"] for file in old]
    now = read(new)["context"]
    found = []
    for field in sorted(set(comparison["differing"]) - {"host_name"}):
        before = " or ".join(sorted({str(one.get(field, "none")) for one in contexts}))
        found.append(f"{field}: {before}, now {now.get(field, 'none')}")
    return found


def _named(names):
    """Short names of rows: without the parts that all have. ReFrame has colons between the parts of a key."""
    parts = [name.split("/") for name in names]
    common = set.intersection(*map(set, parts)) if len(parts) > 1 else set()
    return ["/".join(part for part in one if part not in common).replace(":", "=") for one in parts]


def _rate(name, rows):
    """The work of a row of peaks, by which it has a rate, and the rate's unit. 0 if it has none."""
    row = rows.get(name, {})
    if name.startswith("stream/") and "/call/" not in name:
        return row.get("bytes", 0) / 1e9, "GB/s"
    if name.startswith("gemm/") and "/peak/" in name:
        return row.get("flops", 0) / 1e9, "GFLOP/s"
    return 0, ""


def _digits(value):
    return float(f"{value:.6g}")


def variables(comparison, run, allowed):
    """The performance variables of a run: name to (value, (reference, lower, upper, unit)). The verdict decides:
    there is a bound where it is `slower` and by more than `allowed` percent, and then it is exceeded. Models have
    the time of a step, and those with a bound also the primitives that contribute most. Runs without models have
    the time or the rate of each row."""
    rows = {row["run_name"]: row for row in run["benchmarks"] if row.get("run_type") != "aggregate"}
    found = {}

    def is_slower(one):
        return one["verdict"] == "slower" and one["ratio"] > 1 + allowed / 100

    def add_time(name, one, unit, upper):
        scale = {"ms": 1e3, "us": 1e6}[unit]
        found[name] = _digits(scale * one["new_seconds"]), (_digits(scale * one["old_seconds"]), None, upper, unit)

    models = comparison["models"]
    for name, one in zip(_named([model["case"] for model in models]), models):
        add_time(f"step {name}", one, "ms", allowed / 100 if is_slower(one) else None)
        for layer in one["drivers"] if is_slower(one) else []:
            if layer["new_seconds"] > layer["old_seconds"]:
                title = f"{layer['name']} {layer['op']} {layer['pass']}" + (f" of {name}" if len(models) > 1 else "")
                add_time(title.replace(":", "="), layer, "ms", 0)
    layers = [] if models else comparison["layers"]
    for name, one in zip(_named([layer["name"] for layer in layers]), layers):
        work, unit = _rate(one["name"], rows)
        if work:
            lower = 1 / (1 + allowed / 100) - 1 if is_slower(one) else None
            found[name] = _digits(work / one["new_seconds"]), (_digits(work / one["old_seconds"]), lower, None, unit)
        else:
            add_time(name, one, "us", allowed / 100 if is_slower(one) else None)
    return found


def slower(found):
    """Names of the variables that miss their references, with by how much."""
    return [f"{name} {abs(value / reference - 1):.1%} {'slower' if upper is not None else 'below'}"
            for name, (value, (reference, lower, upper, _)) in found.items() if lower is not None or upper is not None]


def nodes(folder):
    """The references in a folder of kinds of which there are those of four nodes, as comparing nodes needs."""
    kinds = {}
    for file in sorted(pathlib.Path(folder).glob("*/*/*.json")):
        kinds.setdefault(file.parent.parent.name, []).append(file)
    return {kind: files for kind, files in kinds.items() if len({file.parent for file in files}) >= 4}


def compare_nodes(folder):
    """What `compare --across=node` finds wrong with the nodes of the references: one text for each kind of check."""
    wrong = []
    for kind, files in nodes(folder).items():
        try:
            tool("compare", "--across=node", "--fail-on-regression", "--quiet", *map(str, files))
        except Refused as error:
            wrong.append(f"{kind}: {error}")
    return wrong
