# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""The commands that the wheel installs: each becomes the program of its name."""
import os
import pathlib
import shutil
import sys

PACKAGE = pathlib.Path(__file__).resolve().parent
SCRIPTS = {"layerbench-engines": "engines.py", "layerbench-from-torch": "from_torch.py"}


def main() -> None:
    """Runs the program that this process was started as, in the same process."""
    started = pathlib.Path(sys.argv[0])
    arguments = sys.argv[1:]
    if started.name in SCRIPTS:
        # They start programs.
        os.environ["PATH"] = os.pathsep.join((str(PACKAGE / "bin"), os.environ.get("PATH", os.defpath)))
        script = str(PACKAGE / "tools" / SCRIPTS[started.name])
        os.execv(sys.executable, [sys.executable, script, *arguments])
    # Messages name programs as the user does.
    by_name = shutil.which(started.name) == str(started)
    os.execv(PACKAGE / "bin" / started.name, [started.name if by_name else str(started), *arguments])
