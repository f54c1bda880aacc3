#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Holds README and docs/ against the project: docs_test.py BUILD, a build folder with the programs.

- Every link leads to a file, and to a heading of it.
- Lines have at most 120 columns, but for rows of tables and commands of outputs.
- What follows a line `<!-- output: ARGUMENTS -->` is what the tool prints for these arguments; `...`
  stands for lines that are left out.
- The commands of docs/tutorial.md run, with fewer rounds than there.
- tools/quickstart.sh warns where the machine is not fit to measure, and ends as bench_model did. It
  keeps files that are not its own.
- docs/options.md has a section for each subcommand of the tool.
- README's number of networks is that of the shape files.
- The generated tables, figures and texts of --help are up to date.
- Intervals hold the steps of runs and machines that they were not learned from.
"""
import os
import pathlib
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import protocol_errors  # noqa: E402

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
failures = []


def anchors(page):
    """The anchors that GitHub gives the headings of a page."""
    seen = {}
    for heading in re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading).strip().lower())
        slug = slug.replace(" ", "-")
        number = seen.get(slug, -1) + 1
        seen[slug] = number
        yield slug if number == 0 else f"{slug}-{number}"


def check_links(page):
    for path, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text()):
        if path.startswith("http"):
            continue
        target = page if path == "" else page.parent / path
        if not target.exists():
            failures.append(f"{page.name}: no file {path}")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            failures.append(f"{page.name}: {path or page.name} has no heading #{anchor}")


def check_lines(page):
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if len(line) > 120 and not line.startswith(("|", "<!-- output: ")) and "http" not in line:
            failures.append(f"{page.name}:{number}: {len(line)} columns")


def check_number_of_networks(page):
    models = len(list((ROOT / "shapes/models").glob("*.json")))
    if not re.search(rf"\b{models} networks\b", page.read_text()):
        failures.append(f"{page.name}: does not say that {models} networks come with it")


def check_outputs(page, tool):
    blocks = re.findall(r"<!-- output: (.*?) -->\n```\n(.*?)```", page.read_text(), re.DOTALL)
    for arguments, shown in blocks:
        done = subprocess.run([tool, *shlex.split(arguments)], cwd=ROOT, capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            failures.append(f"{page.name}: `layerbench {arguments}`: {done.stderr}")
        # Each line follows the one before, unless "..." stands between them; more may follow.
        pattern = "".join("(?:.*\\n)*?" if line == "..." else re.escape(line) + "\\n"
                          for line in shown.splitlines())
        if not re.match(pattern, done.stdout):
            failures.append(f"{page.name}: not what `layerbench {arguments}` prints:\n{shown}")
    return len(blocks)


def check_tutorial(build):
    """Runs the commands in a scratch folder that has the build and the documentation's names."""
    text = (ROOT / "docs/tutorial.md").read_text()
    script = "set -e\n" + "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))
    script, changed = re.subn(r"--max-time=\d+",
                              "--max-time=0 --benchmark_repetitions=2 --benchmark_min_time=0.001",
                              script)
    if changed < 3:
        failures.append("tutorial.md: too few commands that measure")
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/build")
        os.symlink(build, f"{folder}/build/release")
        done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            failures.append(f"tutorial.md: exit code {done.returncode}: {done.stderr[-2000:]}")
        for file in ("tutorial_layers", "tutorial_prediction", "tutorial_chain", "tutorial_peaks"):
            if not os.path.exists(f"{folder}/build/{file}.json"):
                failures.append(f"tutorial.md: leaves no build/{file}.json")


def check_quickstart(tool):
    """Runs the script with a bench_model that measures nothing: it warns where the machine is not fit,
    and ends with its exit code."""
    stored = ROOT / "results/quickstart_2cpu_zen4.json"
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        for name in ("tools/setup.sh", "bin/cmake", "build/release/bench/bench_model"):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text('#!/bin/sh\n[ "$1" != --check-machine ] || exit "$FIT"\n'
                                      f'for last; do :; done\ncp {stored} "${{last#*=}}"\n'
                                      'echo the table; exit "$CODE"\n')
            (place / name).chmod(0o755)
        (place / "tools/setup.sh").write_text("#!/bin/sh\n")
        (place / "bin/cmake").write_text("#!/bin/sh\n")
        (place / "build/release/tools").mkdir()
        (place / "build/release/tools/layerbench").symlink_to(tool)
        shutil.copy(ROOT / "tools/quickstart.sh", place / "tools")
        for fit, warns, code in (("0", False, 0), ("4", True, 4), ("1", False, 0), ("0", False, 3)):
            done = subprocess.run([place / "tools/quickstart.sh"], capture_output=True, text=True, check=False,
                                  env={"PATH": f"{place}/bin:/usr/bin:/bin", "FIT": fit, "CODE": str(code)})
            report = place / "build/results/quickstart.html"
            complete = code == 3 or (report.exists() and f"  {place}/" not in done.stdout and
                                     "build/release/tools/layerbench predict build/results/quickstart.json"
                                     in done.stdout)
            report.unlink(missing_ok=True)
            if (done.returncode != code or ("measuring anyway" in done.stdout) != warns or not complete or
                    "the table" not in done.stdout):
                failures.append(f"quickstart.sh: {fit} of --check-machine: {done.stdout}{done.stderr}")
        mine = [place / "build/results" / name for name in ("quickstart.html", "quickstart.json.partial")]
        for file in mine:
            file.write_text("[1]")
        done = subprocess.run([place / "tools/quickstart.sh"], capture_output=True, text=True, check=False,
                              env={"PATH": f"{place}/bin:/usr/bin:/bin", "FIT": "0", "CODE": "0"})
        if (done.returncode != 2 or any(file.read_text() != "[1]" for file in mine) or
                "quickstart.html" in done.stdout or "quickstart.html: holds" not in done.stderr):
            failures.append(f"quickstart.sh: other files: {done.returncode}: {done.stdout}{done.stderr}")


def check_subcommands(tool):
    said = subprocess.run([tool, "--help"], capture_output=True, text=True, check=True).stdout
    commands = set(re.findall(r"^  (\w+)  ", said.partition("Subcommands:")[2], re.MULTILINE)) - {"help"}
    text = (ROOT / "docs/options.md").read_text()
    if not commands or commands != set(re.findall(r"<!-- help: layerbench (\w+) -->", text)):
        failures.append(f"options.md: has not the subcommands {sorted(commands)}")
    for command in commands:
        if f"[{command}](#{command})" not in text:
            failures.append(f"options.md: does not list {command}")


def check_coverage():
    """Intervals that are learned without a run, or without a machine, hold its measured steps."""
    cases = protocol_errors.all_cases()
    for part in ("run", "machine"):
        pairs = list(zip(cases, protocol_errors.held_out(cases, part)))
        ours = [pair for pair in pairs if pair[0].kind in protocol_errors.KINDS]
        share = protocol_errors.coverage(*zip(*ours))
        widths = statistics.median(width for _, width in ours)
        needed = statistics.median(protocol_errors.needed_widths(*zip(*ours)))
        if share < 0.93 or (part == "run" and widths > 1.25 * needed):
            failures.append(f"by {part} {share:.3f} of the cases are inside their intervals, of width "
                            f"{widths:.4f}; {needed:.4f} would hold 95 %")
        for of in {(case.backend, case.kind) for case, _ in ours}:
            here = [pair for pair in ours if (pair[0].backend, pair[0].kind) == of]
            share = protocol_errors.coverage(*zip(*here))
            if len(here) >= protocol_errors.FEWEST and share < 0.9:
                failures.append(f"by {part} {share:.3f} of {of} are inside their intervals")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    for page in PAGES:
        check_links(page)
        check_lines(page)
    check_number_of_networks(ROOT / "README.md")
    outputs = sum(check_outputs(page, build / "tools/layerbench") for page in PAGES)
    if outputs < 2:
        failures.append("README.md: its outputs are not marked")
    check_tutorial(build)
    check_quickstart(build / "tools/layerbench")
    check_subcommands(build / "tools/layerbench")
    check_coverage()
    current = subprocess.run([sys.executable, ROOT / "tools/update_docs.py", "--check",
                              "--programs", build],
                             capture_output=True, text=True, check=False)
    if current.returncode != 0:
        failures.append(current.stderr.strip())
    print("\n".join(failures[:50]) or "README and docs agree with the project")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
