# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Measures models and reads results by the programs of layerbench.

    import layerbench
    results = layerbench.measure("resnet50", batch=1, chain=True, budget=30)
    layerbench.predict(results)     # seconds per step, by case and layer
    layerbench.read(results)        # a pandas.DataFrame: a row per layer and round
    layerbench.plot(results)        # the slowest layers, by matplotlib

Files are paths, what measure() returned, or sequences of them. Keywords are the programs' options:
`cache=["model", "hot"]` is `--cache=model,hot`, `chain=True` is `--chain`. docs/python.md has more.
"""
from __future__ import annotations

import html
import importlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import weakref
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas

__all__ = ["Comparison", "Error", "Predictions", "Results", "compare", "measure", "plot", "predict", "read"]

# As base/error.hpp has them.
MEANINGS = {1: "failure", 2: "wrong option or argument", 3: "bad input file",
            4: "incomplete: not everything was measured", 5: "nothing matched",
            77: "the backend cannot run here", 130: "interrupted"}


class Error(Exception):
    """A program failed: `code` is its exit code, `meaning` says what that stands for. `results` has
    what was measured before, if anything."""

    def __init__(self, code: int, message: str, results: Optional[Results] = None) -> None:
        self.code = code
        self.meaning = MEANINGS.get(code, f"ended by signal {-code}" if code < 0 else "unknown")
        self.results = results
        super().__init__(f"{self.meaning} (exit code {code})\n{message}".rstrip())


class Results:
    """Result files, shown as their predictions."""

    def __init__(self, files: Sequence[str], folder: Optional[str] = None) -> None:
        self.files = list(files)
        if folder:  # a temporary one
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    def __repr__(self) -> str:
        return f"layerbench.Results({self.files})"

    def _repr_html_(self) -> str:
        try:
            return predict(self)._repr_html_()
        except Error as error:
            return f"<pre>{html.escape(f'{self}: {error}')}</pre>"


Files = Union[str, "os.PathLike[str]", Results, Iterable[Any]]


class Predictions(List[Dict[str, Any]]):
    """The predicted steps: `predictions` of docs/formats.md, one for each case."""

    def layers(self) -> pandas.DataFrame:
        """A row for each case and layer: `case`, and the fields of `layers`. Seconds are of a call."""
        pandas = _extra("pandas")
        return pandas.DataFrame([{"case": one["case"], **layer} for one in self for layer in one["layers"]])

    def _repr_html_(self) -> str:
        def milliseconds(value: Optional[float]) -> str:
            return "" if value is None else f"{value * 1e3:.4g}"
        return _table(("case", "ms per step", "low", "high", "images/s", "disturbed"), (
            (one["case"], *(milliseconds(one[f"seconds_{key}"]) for key in ("per_step", "low", "high")),
             "" if one["images_per_second"] is None else f"{one['images_per_second']:.4g}",
             f"{one['disturbed']:.0%}") for one in self))


class Comparison(Dict[str, Any]):
    """Two runs compared: the fields of `compare` in docs/formats.md."""

    @property
    def regressed(self) -> bool:
        """Whether a model became slower, or, if no model is compared, a layer: as --fail-on-regression."""
        return any(one["verdict"] == "slower" for one in self["models"] or self["layers"])

    def _repr_html_(self) -> str:
        compared = [(one.get("case") or one["name"],
                     *("" if one[key] is None else f"{one[key]:.3f}" for key in ("ratio", "low", "high")),
                     one["verdict"]) for one in self["models"] + self["layers"]]
        missing = [(one["name"], "", "", "", f"only {side}") for side in ("old", "new") for one in self[f"only_{side}"]]
        missing += [(one["case"], "", "", "", f"not compared: {one['reason']}") for one in self["uncompared"]]
        return _table(("model or layer", "new / old", "low", "high", "verdict"), [*compared, *missing])


def measure(model: Union[str, Iterable[str]], *, batch: Union[int, str, Iterable[int], None] = None,
            out: Union[str, os.PathLike[str], None] = None, program: str = "bench_model",
            progress: bool = True, **options: Any) -> Results:
    """Measures models, by name or shape file. Writes the result file `out`; without it the file lives
    as long as what is returned. Lines of progress go to stderr, in a notebook to one that changes.
    Raises Error, whose `results` has the rows that were measured. After a KeyboardInterrupt `out` has
    them."""
    folder = None
    if out is None:
        folder = tempfile.mkdtemp(prefix="layerbench.")
        out = pathlib.Path(folder) / "results.json"
    results = Results([os.fspath(out)], folder)
    older = _stamp(out)
    command = [_program(program), *_words(dict(options, model=model, batch=batch, benchmark_out=os.fspath(out)))]
    said: List[str] = []
    show = _progress() if progress else None
    # In a session of its own, since a second signal, that of a terminal, would end it without its file.
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, errors="replace", start_new_session=True) as child:
        assert child.stderr is not None
        try:
            for line in child.stderr:
                said = [*said[-19:], line]
                if show:
                    show(line)
        except KeyboardInterrupt:
            child.send_signal(signal.SIGINT)
            child.stderr.read()
            raise
    if child.returncode:
        raise Error(child.returncode, "".join(said), results if _stamp(out) not in (None, older) else None)
    return results


def predict(files: Files, **options: Any) -> Predictions:
    """The time of a step of each case. Raises Error, such as 4 where layers are missing."""
    return Predictions(_ask("predict", _paths(files), options)["predictions"])


def compare(old: Files, new: Files, **options: Any) -> Comparison:
    """Which models and layers became faster or slower from `old` to `new`. Raises Error, such as 4 where
    only one side timed all layers of a model; a regression is none, except with `fail_on_regression`."""
    for path in (*_paths(old), *_paths(new)):
        if "," in path:
            raise ValueError(f"{path}: compare cannot take paths with a comma")
    return Comparison(_ask("compare", [",".join(_paths(old)), ",".join(_paths(new))], options))


def read(files: Files) -> pandas.DataFrame:
    """A row for each measured layer, or whole model (op `chain`), and round.

    Columns: file name op pass backend dtype model layer batch cache parameters round error; seconds (the
    median of a call) cpu_seconds; key algo state; and each counter of docs/formats.md, such as mean_s,
    low_s, high_s, flops, bytes and disturbed, in seconds, bytes or numbers. What a row has not is NaN or
    None. Of chains `pass` is the phase."""
    pandas = _extra("pandas")
    per_second = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0}
    # Columns of their own, and what Google Benchmark adds.
    left_out = {"name", "run_name", "run_type", "family_index", "per_family_instance_index", "repetitions", "threads",
                "iterations", "real_time", "cpu_time", "time_unit", "label", "repetition_index", "error_occurred",
                "error_message"}
    rows = []
    for file in _paths(files):
        with open(file, encoding="utf-8") as stream:
            benchmarks = json.load(stream)["benchmarks"]
        for row in benchmarks:
            if row.get("run_type") == "aggregate":
                continue
            units = per_second.get(row.get("time_unit", "ns"), 1e9)
            failed = row.get("error_occurred", False)
            record = {"file": file, **_parts(row["run_name"]), "round": row.get("repetition_index"),
                      "error": row.get("error_message") if failed else None,
                      "seconds": None if failed else row["real_time"] / units,
                      "cpu_seconds": None if failed else row["cpu_time"] / units}
            for part in row.get("label", "").split(";"):
                key, equals, value = part.partition("=")
                if equals:
                    record[key] = value
            record.update((key, value) for key, value in row.items() if key not in left_out)
            rows.append(record)
    return pandas.DataFrame(rows)


def plot(files: Files, *, top: int = 20, axes: Optional[matplotlib.axes.Axes] = None) -> matplotlib.axes.Axes:
    """Draws the `top` layers of the first predicted case by their share of a step. Returns the axes."""
    pyplot = _extra("matplotlib.pyplot")
    first = predict(files)[0]
    layers = sorted(first["layers"], key=lambda one: float(one["share"]))[-top:]
    if axes is None:
        _, axes = pyplot.subplots(figsize=(8, 1 + len(layers) / 4))
    axes.barh([f"{one['name']} ({one['op']} {one['pass']})" for one in layers],
              [one["count"] * one["seconds"] * 1e3 for one in layers])
    axes.set_xlabel("ms per step")
    axes.set_title(first["case"])
    return axes


def _extra(name: str) -> Any:
    """A module that the wheel needs for its extra `notebook` alone."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(f"needs {package}: install it, or the wheel with its extra 'notebook'") from error


def _parts(name: str) -> Dict[str, Any]:
    """The parts of a row's name: docs/formats.md, "Names and identity"."""
    words = name.split("/")
    parameters = [word for word in words if ":" in word]
    words = [word for word in words if ":" not in word]
    named = dict(word.split(":", 1) for word in parameters)
    parts: Dict[str, Any] = {"name": name}
    parts.update(zip(("op", "pass", "backend", "dtype", "model", "layer"), [*words, *6 * [None]]))
    parts["batch"] = int(named["batch"]) if "batch" in named else None
    parts["cache"] = named.get("cache")
    parts["parameters"] = "/".join(word for word in parameters if not word.startswith(("batch:", "cache:")))
    return parts


def _paths(files: Files) -> List[str]:
    if isinstance(files, Results):
        return files.files
    if isinstance(files, (str, os.PathLike)):
        return [os.fspath(files)]
    return [path for file in files for path in _paths(file)]


def _stamp(path: Union[str, os.PathLike[str]]) -> Optional[Tuple[int, int]]:
    """What differs between a file and the one that replaces it. None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def _words(options: Dict[str, Any]) -> List[str]:
    """Options of the command line. Those of Google Benchmark keep their underscores."""
    words = []
    for key, value in options.items():
        name = key if key.startswith("benchmark_") else key.replace("_", "-")
        if isinstance(value, Iterable) and not isinstance(value, (str, os.PathLike)):
            value = ",".join(map(str, value))
        if value is None or value is False:
            continue
        words.append(f"--{name}" if value is True else f"--{name}={value}")
    return words


def _program(name: str) -> str:
    """Of the wheel, else of the PATH."""
    path = shutil.which(str(pathlib.Path(__file__).resolve().parent / "bin" / name)) or shutil.which(name)
    if path is None:
        raise FileNotFoundError(f"there is no program {name}: install the wheel, or add the folders of a build to PATH")
    return path


def _ask(command: str, arguments: Sequence[str], options: Dict[str, Any]) -> Any:
    """What a subcommand of the tool prints as JSON."""
    done = subprocess.run([_program("layerbench"), command, *_words(dict(options, format="json")), "--", *arguments],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Error(done.returncode, done.stderr)
    return json.loads(done.stdout)


def _progress() -> Any:
    """Shows a line: in a notebook in the place of the one before, else on stderr."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if not hasattr(shell, "kernel"):
        return sys.stderr.write
    from IPython.display import display
    handle = display({"text/plain": ""}, raw=True, display_id=True)
    return lambda line: handle.update({"text/plain": line.rstrip()}, raw=True)


def _table(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    def line(tag: str, cells: Iterable[Any]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"
    return "<table>" + line("th", header) + "".join(line("td", row) for row in rows) + "</table>"
