#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the Debian packages of a build folder, and tries what they install: deb_test.py BUILD [--full].

With --full they are compressed, and lintian checks them, which takes minutes.
"""
import gzip
import pathlib
import re
import sys
import tempfile

from wheel_test import FEW_ROUNDS, expect, run

PROJECT = pathlib.Path(__file__).resolve().parent / "package"
# Prints, for each line of stdin, what bash offers at its end; "files" for the names of files.
ASK_BASH = r"""
compopt() { COMPREPLY=(files); }
source "$1"
while IFS= read -r COMP_LINE; do
  read -r program _ <<<"$COMP_LINE"
  COMP_POINT=${#COMP_LINE} COMPREPLY=()
  [[ $(complete -p "$program") =~ -F\ ([^ ]+) ]] && "${BASH_REMATCH[1]}" "$program"
  echo "${COMPREPLY[@]}"
done
"""


def check_man_pages(prefix, helps, environment):
    """Each program and subcommand has a page, with all of its options."""
    subcommands = re.findall(r"^  ([a-z]+) {2,}", helps["layerbench"].partition("Subcommands:")[2], re.MULTILINE)
    helps = dict(helps)
    for name in subcommands:
        if name != "help":
            helps[f"layerbench-{name}"] = run("layerbench", name, "--help", env=environment)
    for name, text in helps.items():
        with gzip.open(prefix / f"share/man/man1/{name}.1.gz", "rt") as file:
            page = file.read().replace("\\-", "-")
        sections = dict(re.findall(r"^\.SH ([A-Z ]+)\n(.*?)(?=^\.SH|\Z)", page, re.DOTALL | re.MULTILINE))
        expect(list(sections) == ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO"],
               f"man page of {name}: {list(sections)}")
        expect(all(sections.values()), f"man page of {name} has an empty section")
        for option in re.findall(r"^  (-.*)$", text, re.MULTILINE):
            expect(f"\n.B {option}\n" in sections["OPTIONS"], f"man page of {name}: no {option}")
        expect("incomplete" in sections["EXIT STATUS"], f"man page of {name}: exit status")


def check_completions(prefix, helps, environment):
    """What the shells offer."""
    script = prefix / "share/bash-completion/completions/layerbench"
    # What is offered has the parts behind the '=': bash replaces only these.
    cases = {"layerbench pred": "predict", "layerbench help comp": "compare completion",
             "layerbench predict --cache=": "hot model", "layerbench study upv_2": "upv_2018",
             "layerbench show --fusion fold_b": "fold_bn", "bench_model lenet5_m": "lenet5_modern",
             "bench_model --model=lenet5,lenet5_m": "lenet5,lenet5_modern", "bench_conv --dtype f32,b": "f32,bf16",
             "bench_model --plans=": "heuristic measured", "bench_model --backend ref": "reference",
             "bench_model --benchmark_out r": "files", "bench_model --batch ": "", "layerbench predict r": "files",
             "layerbench versus -- bench": "files", "layerbench completion x": "", "layerbench help x": ""}
    for name, text in helps.items():
        names = re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, re.MULTILINE)
        cases[f"{name} --"] = " ".join(names)
        expect((script.parent / name).exists(), f"bash finds no completion of {name}")
        expect((prefix / "share/fish/vendor_completions.d" / f"{name}.fish").exists(), f"fish: {name}")
    offers = run("bash", "-c", ASK_BASH, "bash", script, input="\n".join(cases) + "\n", env=environment).splitlines()
    expect(len(offers) == len(cases), offers)
    for (line, expected), offered in zip(cases.items(), offers):
        expect(sorted(offered.split()) == sorted(expected.split()), f"bash, '{line}': {offered}; expected: {expected}")
    for shell, file in {"zsh": "zsh/vendor-completions/_layerbench",
                        "fish": "fish/vendor_completions.d/layerbench.fish"}.items():
        run(shell, "-n", prefix / "share" / file)
    (pathlib.Path(environment["HOME"]) / "bin").symlink_to(prefix / "bin")
    for program in ("bench_model", "~/bin/bench_model"):
        said = run("fish", "-c", f"source {prefix}/share/fish/vendor_completions.d/layerbench.fish; "
                   f"complete -C '{program} --phase=tr'", env=environment)
        expect("--phase=training" in said, f"fish, {program}: {said}")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place).resolve()
        full = "--full" in sys.argv
        compression = [] if full else ["-D", "CPACK_DEBIAN_COMPRESSION_TYPE=none"]
        run("cpack", "--config", build / "CPackConfig.cmake", "-G", "DEB", "-B", folder, *compression, cwd=folder)
        packages = sorted(folder.glob("*.deb"))
        expect([package.name.split("_")[0] for package in packages] == ["layerbench", "liblayerbench-dev"], packages)
        for package in packages:
            run("dpkg-deb", "-x", package, folder / "root")
        depends = run("dpkg-deb", "-f", packages[0], "Depends")
        expect("libopenmpi" not in depends or "openmpi-bin" in depends, f"bench_allreduce does not start with: {depends}")
        if full:
            # Programs of a build that is not portable also look where this machine has its libraries.
            run("lintian", "--fail-on", "error", "--suppress-tags", "custom-library-search-path", *packages)
        prefix = folder / "root/usr"
        environment = {"PATH": f"{prefix}/bin:/usr/bin:/bin", "HOME": str(folder)}
        for program in (prefix / "bin").iterdir():
            library = re.search(r"libdnnl\S* => (\S+)", run("ldd", program))
            expect(library is None or pathlib.Path(library.group(1)).resolve().is_relative_to(prefix),
                   f"{program.name}: oneDNN is not that of the package")
        helps = {program.name: run(program.name, "--help", env=environment) for program in (prefix / "bin").iterdir()}
        check_man_pages(prefix, helps, environment)
        check_completions(prefix, helps, environment)
        # Only the installed folder has this model.
        models = prefix / "share/layerbench/shapes/models"
        (models / "installed.json").write_text((models / "lenet5.json").read_text().replace('"lenet5"', '"installed"'))
        run("bench_model", "installed", *FEW_ROUNDS, "--benchmark_out=r.json", env=environment, cwd=folder)
        expect("installed inference" in run("layerbench", "predict", "r.json", env=environment, cwd=folder), "predict")
        run("cmake", "-S", PROJECT, "-B", folder / "project", f"-DCMAKE_PREFIX_PATH={prefix}", env=environment)


if __name__ == "__main__":
    main()
