#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Writes what a Debian package has besides: package_files.py PREFIX VERSION MAINTAINER.

PREFIX has the installed programs. It gets their man pages and completions, from what they print, the changelog
and the copyright.
"""
import email.utils
import gzip
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: layerbench

Files: *
Copyright: 2026 the layerbench authors
License: Apache-2.0
 On Debian systems, the text is in /usr/share/common-licenses/Apache-2.0.

Files: /usr/lib/layerbench/*
Copyright: Intel Corporation and others, listed in /usr/share/doc/layerbench/onednn
License: Apache-2.0
"""


def output(*command):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("BENCHMARK_", "LAYERBENCH_"))}
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout


def write(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".gz":
        file.write_bytes(gzip.compress(text.encode(), mtime=0))
    else:
        file.write_text(text)


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text)


def man_page(title, text, version, exit_codes, others):
    """The help of a program or subcommand as a man page."""
    purpose, usage, rest = re.fullmatch(r"(.*?)\nUsage: (.*?)\n(.*)", text, re.DOTALL).groups()
    purpose = " ".join(purpose.split())
    brief = purpose.rstrip(".")
    lines = [f'.TH "{title.upper()}" 1 "" "layerbench {version}" "User Commands"', ".SH NAME",
             roff(f"{title} - {brief[0].lower()}{brief[1:]}"), ".SH SYNOPSIS", ".B " + roff(usage), ".SH DESCRIPTION",
             roff(f"{brief}."), ".SH OPTIONS"]
    for line in rest.splitlines():
        words = line.strip()
        if line.startswith("      "):  # of an option: its text, then lines of facts
            lines += [".br"] * words.startswith(("range: ", "default: ", "variable: ", "example: ")) + [roff(words)]
        elif re.match("  [a-z]+ {2,}", line):  # a subcommand
            name, does = words.split(maxsplit=1)
            lines += [".TP", ".B " + roff(name), roff(does)]
        elif line.startswith("  "):
            lines += [".TP", ".B " + roff(words)]
        elif words.endswith(":"):
            lines += [f'.SS "{words[:-1]}"']
    lines += [".SH EXIT STATUS", roff(exit_codes), ".SH SEE ALSO"]
    lines += [f".BR {roff(other)} (1)," for other in others if other != title]
    return "\n".join(lines).rstrip(",") + "\n"


def main():
    prefix = pathlib.Path(sys.argv[1])
    version, maintainer = sys.argv[2:4]
    tool = str(prefix / "bin/layerbench")
    help_text = output(tool, "--help")
    exit_codes = " ".join(re.search(r"Exit codes: (.*)", help_text, re.DOTALL).group(1).split())
    commands = re.findall(r"^  ([a-z]+) {2,}", help_text.partition("Subcommands:")[2], re.MULTILINE)
    programs = sorted(program.name for program in (prefix / "bin").iterdir())
    helps = {name: output(str(prefix / "bin" / name), "--help") for name in programs}
    helps["layerbench"] = help_text.partition("Exit codes:")[0]
    helps.update({f"layerbench-{command}": output(tool, command, "--help") for command in commands if command != "help"})
    for title, text in helps.items():
        others = [name for name in helps if name.startswith("layerbench-")] if title == "layerbench" else ["layerbench"]
        write(prefix / f"share/man/man1/{title}.1.gz",
              man_page(title, text, version, exit_codes, others + programs))

    folders = {"bash": ("bash-completion/completions", "{}"), "zsh": ("zsh/vendor-completions", "_{}"),
               "fish": ("fish/vendor_completions.d", "{}.fish")}
    for shell, (folder, name) in folders.items():
        file = prefix / "share" / folder / name.format("layerbench")
        write(file, output(tool, "completion", shell))
        # bash and fish look for a file of the command's name.
        for program in programs if shell != "zsh" else ():
            if program != "layerbench":
                link = file.with_name(name.format(program))
                link.unlink(missing_ok=True)
                link.symlink_to(file.name)

    documents = prefix / "share/doc/layerbench"
    changes = ROOT / "CHANGELOG.md"
    write(documents / "changelog.gz", changes.read_text())
    date = email.utils.formatdate(changes.stat().st_mtime)
    write(documents / "changelog.Debian.gz", f"layerbench ({version}) unstable; urgency=low\n\n"
          f"  * See changelog.gz.\n\n -- {maintainer}  {date}\n")
    write(documents / "copyright", COPYRIGHT)


if __name__ == "__main__":
    main()
