#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the shell of action.yml and packaging/gitlab.yml with fake benchmarks: ci_templates_test.py TOOL."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

import yaml

from wheel_test import ROOT, expect

READ = r"--metric='took ([0-9]+) ms'"


class Job:
    """A template's job in a fresh folder."""

    def __init__(self, folder, tool):
        self.folder = folder
        (folder / "bin").mkdir(parents=True)
        (folder / "bin/layerbench").symlink_to(tool)
        self.variables = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "HOME": str(folder)}

    def shell(self, script, variables):
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        done = subprocess.run(command, cwd=self.folder, env=self.variables | variables, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, done.stdout


class GithubJob(Job):
    def __call__(self, **given):
        action = yaml.safe_load((ROOT / "action.yml").read_text())
        values = {name: str(entry.get("default", "")) for name, entry in action["inputs"].items()}
        values.update({name.replace("_", "-"): value for name, value in given.items()})
        [step] = action["runs"]["steps"]
        # A value in the script itself would be run as code.
        expect("${{" not in step["run"] and step["shell"] == "bash", "action.yml: the script")
        names = {name: re.fullmatch(r"\$\{\{ inputs\.([a-z-]+) }}", value)[1] for name, value in step["env"].items()}
        expect(sorted(names.values()) == sorted(values), f"action.yml: {names} are not {sorted(values)}")
        (self.folder / "summary.md").write_text("earlier step\n")
        code, log = self.shell(step["run"], {"RUNNER_TEMP": str(self.folder),
                                             "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
                                             **{name: values[value] for name, value in names.items()}})
        summary = (self.folder / "summary.md").read_text()
        expect(summary.startswith("earlier step\n"), f"the summary of an earlier step is gone: {summary}")
        return code, log, summary


class GitlabJob(Job):
    def __call__(self, **given):
        template = yaml.safe_load((ROOT / "packaging/gitlab.yml").read_text())[".layerbench-versus"]
        variables = template["variables"] | {name.upper(): value for name, value in given.items()}
        [script] = template["script"]
        [artifact] = template["artifacts"]["paths"]
        summary = self.folder / artifact
        summary.unlink(missing_ok=True)
        code, log = self.shell(script, variables)
        return code, log, summary.read_text() if summary.exists() else ""


def fake_wheel(folder):
    """A wheel whose layerbench and bench_model say that they are its."""
    wheel = folder / "fake-1-py3-none-any.whl"
    files = {"fake-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: fake\nVersion: 1\n",
             "fake-1.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    for program in ("layerbench", "bench_model"):
        files[f"fake-1.data/scripts/{program}"] = '#!/bin/sh\necho "of the wheel: $0" "$@"\ntype python3\nexit 7\n'
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o100755 << 16
            archive.writestr(entry, text)
        archive.writestr("fake-1.dist-info/RECORD", "".join(f"{name},,\n" for name in files))
    return wheel


def check(job):
    """What a template's users rely on."""
    base = {"old": "echo 'took 100 ms'", "options": READ, "rounds": "5"}

    code, log, summary = job(new="echo 'took 200 ms'", **base)
    expect(code == 4 and "slower" in log, f"a slower command: {code}\n{log}")
    expect(re.search(r"^\|.*\| +100 +\| +200 +\|.*slower", summary, re.MULTILINE), f"its summary:\n{summary}")
    code, log, summary = job(new="echo 'took 200 ms'", threshold="150", **base)
    expect(code == 0 and "slower" in summary, f"slower within the threshold: {code}\n{log}")

    # Lines, quotes and variables as in the shell.
    code, log, summary = job(new="SPEED=100\n sh -c 'echo \"took $SPEED ms\"'", **base)
    expect(code == 0 and "| same" in summary and " 5 rounds" in summary, f"the same: {code}\n{log}{summary}")
    code, log, summary = job(new="sh -c 'echo took 99 ms >\"$0\"' {out}", **base | {"old": "cp took {out}"})
    expect(code == 1 and "slower" not in summary, f"a file that is missing: {code}\n{log}{summary}")
    (job.folder / "took").write_text("took 100 ms\n")
    code, log, summary = job(new="sh -c 'echo took 99 ms >\"$0\"' {out}", **base | {"old": "cp took {out}"})
    expect(code == 0 and "| same" in summary, f"{{out}}: {code}\n{log}{summary}")

    code, log, summary = job(new="false", **base)
    expect(code == 1 and "| old" not in summary, f"a command that fails: {code}\n{log}{summary}")
    expect("false" in log, f"its log:\n{log}")

    code, log, _ = job(new="true", install=str(fake_wheel(job.folder)), **base)
    said = re.search(r"of the wheel: \S+ versus (.*)\n.* (\S+)", log)
    expect(code == 7 and said, f"the installed one: {code}\n{log}")
    expect("--max-time=1800" in said[1] and "venv" not in said[2], f"how it is called:\n{log}")


def check_examples():
    """The examples of docs/compare.md set what the templates have."""
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/compare.md").read_text(), re.DOTALL)
    github, gitlab = map(yaml.safe_load, blocks)
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    template = yaml.safe_load((ROOT / "packaging/gitlab.yml").read_text())
    [step] = [step for step in github["jobs"]["benchmarks"]["steps"] if "layerbench@" in step.get("uses", "")]
    needed = {name for name, entry in action["inputs"].items() if entry.get("required")}
    expect(needed <= set(step["with"]) <= set(action["inputs"]), f"docs/compare.md: {step}")
    job = gitlab["benchmarks"]
    given = set(job["variables"]) - {"OLD", "NEW"}
    expect(given <= set(template[job["extends"]]["variables"]), f"docs/compare.md: {job}")
    expect(gitlab["include"]["file"] == "packaging/gitlab.yml", f"docs/compare.md: {gitlab['include']}")


def main():
    check_examples()
    tool = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as place:
        for kind in (GithubJob, GitlabJob):
            check(kind(pathlib.Path(place).resolve() / kind.__name__, tool))


if __name__ == "__main__":
    main()
