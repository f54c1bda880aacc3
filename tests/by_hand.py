# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""What the checks share that are run by hand."""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time


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


def fuzz(description, codes, attack):
    """Runs the tool on damaged files until the time is over, and exits with 1 if something was wrong.

    attack(draw, tool, stem) writes files whose names begin with `stem`. It returns the words of a
    command, and a function of its exit code and stderr that says what was wrong, or nothing. The exit
    code must be one of `codes`. Files of commands with which nothing was wrong are removed."""
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/asan"))
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1, help="of the first file")
    options = parser.parse_args()
    tool = options.build.resolve() / "tools" / "layerbench"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="layerbench_fuzz_"))
    end = time.monotonic() + options.seconds
    seed, seen, failures = options.seed, collections.Counter(), 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        while time.monotonic() < end and failures < 10:
            some = range(seed, seed + 100)
            for code, wrong in pool.map(lambda one: _attacked(one, codes, attack, tool, folder), some):
                seen[code] += 1
                if wrong:
                    failures += 1
                    print(wrong, flush=True)
            seed = some.stop
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(f"{sum(seen.values())} files; exit codes: {dict(sorted(seen.items(), key=str))}; "
          f"at most {most} MiB in one process")
    if failures:
        raise SystemExit(f"the files are in {folder}")
    folder.rmdir()


def _attacked(seed, codes, attack, tool, folder):
    """The exit code, and what was wrong, of one command."""
    words, wrong_with = attack(random.Random(seed), tool, folder / str(seed))
    words = [str(each) for each in words]
    try:
        done = subprocess.run(words, capture_output=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return "timeout", f"took more than a minute: {' '.join(words)}"
    errors = done.stderr.decode("latin-1")
    if done.returncode not in codes:
        wrong = f"exit code {done.returncode}"
    elif "Sanitizer" in errors or "runtime error" in errors:
        wrong = "sanitizers complain"
    else:
        wrong = wrong_with(done.returncode, errors)
    if wrong:
        return done.returncode, f"{wrong}: {' '.join(words)}\n{errors[:2000]}"
    for file in [*folder.glob(f"{seed}.*"), *folder.glob(f"{seed}_*")]:
        file.unlink()
    return done.returncode, ""
