# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""What the checks share that are run by hand, on a quiet machine."""
import os
import subprocess
import sys


def run(*words, codes=(0,), **variables):
    """What the command writes; any other exit code ends the check."""
    done = subprocess.run([str(each) for each in words], stdout=subprocess.PIPE, text=True,
                          check=False, env={**os.environ, **variables})
    if done.returncode not in codes:
        sys.exit(f"{words[0]} failed with exit code {done.returncode}")
    return done.stdout


def from_pypi(build, name, package, proof):
    """The folder of `package`, beside what the build depends on; there once `proof` is in it."""
    place = build.parent / "deps" / name
    if not list(place.glob(proof)):
        run(sys.executable, "-m", "venv", "--clear", place)
        run(place / "bin" / "pip", "install", "--quiet", package)
    return place
