#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Makes a wheel and tries it in a fresh environment, far from the sources: wheel_test.py BUILD [--full].

The wheel has the programs of the build folder BUILD. With --full it is that of tools/wheel.sh, which
compiles them: then its tag, its size, its libraries and the instructions of its programs are checked, too.
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# pip's own script names the place where it was installed.
PIP = [ROOT / "build/deps/wheel/bin/python", "-m", "pip"]
FEW_ROUNDS = ["--max-time=0", "--benchmark_repetitions=2", "--benchmark_min_time=0.001"]
# What every system has: the rest is in the wheel.
OF_THE_SYSTEM = r"lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so\.\d+|ld-linux-x86-64\.so\.2|linux-vdso\.so\.1"


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode} of {' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def expect(condition, what):
    if not condition:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {what}")


def make_wheel(build, folder):
    """The wheel of the programs of a build."""
    run(*PIP, "wheel", ROOT, "--no-deps", "--no-build-isolation", "--no-index", "-w", folder / "wheels",
        "-C", "cmake.source-dir=tests/wheel", "-C", f"build-dir={folder}/build", "-C", f"cmake.define.BUILD={build}")
    [wheel] = (folder / "wheels").glob("*.whl")
    return wheel


def check_release(package):
    """What only the wheel of tools/wheel.sh has: it runs on other machines."""
    [wheel] = (ROOT / "build/wheels").glob("*.whl")
    expect("-py3-none-manylinux_2_" in wheel.name, f"{wheel.name}: its tag is not of manylinux")
    with zipfile.ZipFile(wheel) as content:
        size = sum(entry.compress_size for entry in content.infolist() if "libdnnl" not in entry.filename)
    expect(size <= 40e6, f"{size} bytes without oneDNN")
    programs = list((package / "bin").iterdir())
    said = run(package / "bin/bench_gemm", "--backends")
    expect("mkl" in said and "-DLAYERBENCH_MKL" not in said, f"this build has no mkl: {said}")
    for program in programs:
        [path] = re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", run("readelf", "-d", program))
        expect(all(folder.startswith("$ORIGIN/") for folder in path.split(":")), f"{program}: looks in {path}")
        for name, path in re.findall(r"^\s*(\S+)(?: => (\S+))? \(0x", run("ldd", program), re.MULTILINE):
            if not re.fullmatch(OF_THE_SYSTEM, pathlib.Path(name).name):
                expect(pathlib.Path(path).resolve().parent == package / "lib", f"{program}: {name} is {path}")
        expect(not re.search("%[yz]mm", run("objdump", "-d", "--no-show-raw-insn", program)),
               f"{program}: has instructions of AVX")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, {size / 1e6:.1f} MB without oneDNN")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    full = "--full" in sys.argv
    expect(PIP[0].exists(), "tools/setup.sh --dev installs what this needs")
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place).resolve()
        if full:
            run(ROOT / "tools/wheel.sh")
        wheel = next((ROOT / "build/wheels").glob("*.whl")) if full else make_wheel(build, folder)
        run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
        run(*PIP, "--python", folder / "venv/bin/python", "install", "--no-index", "--no-deps", wheel)
        [package] = folder.glob("venv/lib/python3*/site-packages/layerbench")
        if full:
            check_release(package)

        (folder / "elsewhere").mkdir()
        options = {"cwd": folder / "elsewhere", "env": {"PATH": f"{folder}/venv/bin:/usr/bin:/bin"}}
        version = re.search(r"project\(layerbench VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
        expect(f"layerbench {version}" in run("layerbench", "--version", **options), "another version")
        # Only the installed folder has this model.
        models = package / "share/layerbench/shapes/models"
        (models / "installed.json").write_text((models / "lenet5.json").read_text().replace('"lenet5"', '"installed"'))
        run("bench_model", "--model=installed", *FEW_ROUNDS, "--benchmark_out=r.json", **options)
        said = run("layerbench", "predict", "r.json", **options)
        expect("installed inference" in said, said)
        code = ("import layerbench; results = layerbench.measure('installed', max_time=0, benchmark_repetitions=2, "
                "benchmark_min_time=0.001); print(layerbench.predict(results)[0]['case'])")
        said = run("python3", "-c", code, **options)
        expect("/installed/" in said, said)
        if full:
            export = ROOT / "tests/data/torch/folded.json"
            run("layerbench-from-torch", "--from-export", export, "-o", "folded.json", **options)
            run("layerbench", "show", "./folded.json", **options)
            expect("--overhead" in run("layerbench-engines", "--help", **options), "layerbench-engines")


if __name__ == "__main__":
    main()
