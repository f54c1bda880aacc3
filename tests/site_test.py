#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Tests `layerbench site` and `layerbench submit`: site_test.py TOOL [--files N] [--browser CHROMIUM].

The site is of N files (30), drawn again from the rounds of stored ones; their devices are called "made
up". With a browser its script is tested too, and pictures of its pages are left in build/site_pictures.
"""
import argparse
import copy
import json
import math
import pathlib
import random
import re
import subprocess
import tempfile
import time
import unittest
from xml.etree import ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIT = ROOT / "results/engines/resnet50_layers.json"
STORED = [FIT, ROOT / "results/torch_import/squeezenet1_1.json"] * 4 + [ROOT / "results/quickstart_2cpu_zen4_second.json"]
parser = argparse.ArgumentParser()
parser.add_argument("tool")
parser.add_argument("--files", type=int, default=30)
parser.add_argument("--browser")
chosen = parser.parse_args()


def tool(*arguments):
    return subprocess.run([chosen.tool, *map(str, arguments)], capture_output=True, text=True, check=False)


def predict(path):
    return json.loads(tool("predict", path, "--format=json").stdout)["predictions"]


def made_up(folder, number):
    """Writes files of machines that do not exist, each at a speed of its own."""
    draw, stored = random.Random(1), [json.loads(path.read_text()) for path in STORED]
    folder.mkdir()
    for i in range(number):
        one = stored[i % len(stored)]
        context = dict(one["context"], device=f"made up {i // 3}: {one['context']['device']}",
                       date=f"2026-{i % 12 + 1:02}-{i % 28 + 1:02}T00:00:00+00:00")
        rounds, speed = {}, math.exp(draw.gauss(0, 0.2))
        for row in one["benchmarks"]:
            if row["run_type"] == "iteration":
                rounds.setdefault(row["name"], []).append(row)
        rows = [{key: speed * value if key in ("real_time", "cpu_time") or key.endswith("_s") else value
                 for key, value in {**draw.choice(of), "repetition_index": row["repetition_index"]}.items()}
                for of in rounds.values() for row in of]
        (folder / f"{i}.json").write_text(json.dumps({"context": context, "benchmarks": rows}))


def pages_of(site):
    return {str(path.relative_to(site)): ElementTree.parse(path).getroot() for path in site.rglob("*.html")}


def rows_of(page, table):
    """The rows of a table of a page, as texts without hidden words by the titles of the columns."""
    whole = list(page.iter("table"))[table]
    titles, *rows = [["".join(cell.itertext()).split("|")[0] for cell in row] for row in whole.iter("tr")]
    return [dict(zip(titles, row)) for row in rows]


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.source, self.site = self.folder / "results", self.folder / "out/public"

    def make(self, code=0):
        done = tool("site", self.source, "-o", self.site)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr


class Site(Case):
    def test_shows_all_files_and_works_alone(self):
        made_up(self.source, chosen.files)
        (self.source / "others.json").write_text('{"schema": 1, "cases": []}')
        start = time.monotonic()
        self.assertIn("1 JSON file", self.make())
        print(f"{chosen.files} files: {time.monotonic() - start:.1f} s")
        pages = pages_of(self.site)
        for path, page in pages.items():
            ids = {each.get("id") for each in page.iter()}
            for target in (each.get(name) for each in page.iter() for name in ("href", "src") if each.get(name)):
                file, _, anchor = target.partition("#")
                self.assertTrue((self.site / path).parent.joinpath(file).is_file() if file else anchor in ids, target)
            self.assertNotRegex((self.site / path).read_text(), r"@import|url\((?!#)")
            self.assertIsNotNone(page.find("head/meta[@name='viewport']"))
        for path in self.site.rglob("*.[hj][ts]*"):
            self.assertLess(path.stat().st_size, 500_000 if path.suffix != ".json" else 1e8, path)

        files = {path.read_text(): json.loads(path.read_text())["context"] for path in self.source.glob("[0-9]*.json")}
        index = pages["index.html"]
        self.assertEqual({re.sub(", 2 processors.*", "", row["machine"]) for row in rows_of(index, 0)},
                         {context["device"] for context in files.values()})
        self.assertEqual({row["model"] for row in rows_of(index, 1)}, {"resnet50", "squeezenet1_1", "vgg16", "alexnet"})
        self.assertEqual(len(rows_of(index, 2)), chosen.files)
        self.assertEqual({path.read_text() for path in self.site.glob("results/*.json")}, set(files))
        for path in self.site.glob("results/*.json"):
            data = json.loads(re.search(r"layerbenchResult\((.*)\);", path.with_suffix(".js").read_text())[1])
            self.assertEqual(data["id"], path.stem)
            for case in data["cases"]:
                self.assertAlmostEqual(sum(layer[2] * layer[3] for layer in case["layers"]) / case["seconds"], 1, places=6)

        rows = rows_of(pages["models/squeezenet1-1.html"], 0)
        times = [float(row["predicted ms per step"]) for row in rows]
        self.assertEqual(times, sorted(times))
        self.assertEqual(len({row["machine"] for row in rows}), len(rows))
        ends = [[float(end) for end in row["between"].split(" to ")] for row in rows]
        for row, (low, _) in zip(rows, ends):  # which are rounded
            self.assertLessEqual(sum(high < low for _, high in ends), int(row["place"]) - 1)
            self.assertLessEqual(int(row["place"]) - 1, sum(high <= low for _, high in ends))
        newest = max((context["date"], path) for path, context in files.items() if "/squeezenet1_1/" in path)[1]
        (self.folder / "newest.json").write_text(newest)
        of_newest, = (row for row in rows if row["machine"].startswith(files[newest]["device"] + ","))
        self.assertEqual(float(of_newest["predicted ms per step"]),
                         float(f"{1e3 * predict(self.folder / 'newest.json')[0]['seconds_per_step']:.4g}"))
        self.assertEqual(of_newest["file"], files[newest]["date"][:10])

    def test_hostile_texts_stay_texts_and_inside_the_folder(self):
        attack = "<script>document.title='taken'</script>\"'--></style><img src=x onerror=alert(1)> ../../../evil"
        one = json.loads(FIT.read_text())
        one["context"].update(device=attack, date=attack, onednn_version=attack, layerbench_version=attack)
        text = json.dumps(one)
        self.source.mkdir()
        (self.source / "<b>.json").write_text(text)
        (self.source / "layer.json").write_text(text.replace("conv1+bn1+relu1", "<img src=x onerror=alert(1)>"))
        (self.source / "model.json").write_text(text.replace("/resnet50/", "/<b>../"))
        self.assertIn("model.json", self.make(3))
        self.assertEqual([path.name for path in self.site.parent.iterdir()], ["public"])
        for path in self.site.rglob("*"):
            self.assertRegex(path.name, r"^[a-z0-9-]+(\.(html|js|json))?$")
        pages = pages_of(self.site)
        for path, page in pages.items():
            self.assertEqual([each.get("src") for each in page.iter("script")], ["../" * path.count("/") + "site.js"])
            self.assertFalse({each.tag for each in page.iter()} & {"img", "b", "i", "iframe"}, path)
        self.assertIn(attack, rows_of(pages["index.html"], 0)[0]["machine"])

    def test_names_broken_files_and_shows_the_others(self):
        self.source.mkdir()
        (self.source / "good.json").write_text(FIT.read_text())
        (self.source / "cut.json").write_text(FIT.read_text()[:200_000])
        for _ in range(2):  # it replaces its own pages
            self.assertIn("cut.json", self.make(3))
        self.assertEqual(len(rows_of(pages_of(self.site)["index.html"], 2)), 1)
        (self.source / "good.json").unlink()
        (self.source / "cut.json").write_text("{}")
        self.make(5)
        self.assertEqual(tool("site", self.folder / "absent", "-o", self.site).returncode, 2)

    def test_colours_have_the_contrast_of_wcag_aa(self):
        def luminance(colour):
            colour = colour[1:] if len(colour) == 7 else re.sub(".", r"\g<0>\g<0>", colour[1:])
            parts = [int(colour[i:i + 2], 16) / 255 for i in (0, 2, 4)]
            parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055)**2.4 for part in parts]
            return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
        schemes = re.findall(r":root \{([^}]*--page[^}]*)\}", (ROOT / "include/layerbench/report/style.hpp").read_text())
        self.assertEqual(len(schemes), 2)
        for scheme in schemes:
            colours = {name: luminance(value) for name, value in re.findall(r"--(\w+): (#\w+)", scheme)}
            for text in ("ink", "faint", "link", "naive"):
                dark, light = sorted((colours[text], colours["page"]))
                self.assertGreaterEqual((light + 0.05) / (dark + 0.05), 4.5, text)


class Submit(Case):
    def submit(self, content):
        file = self.folder / "r.json"
        file.write_text(json.dumps(content))
        return tool("submit", file, "-o", self.folder / "out")

    def test_writes_the_same_numbers_without_names_and_paths(self):
        good = json.loads(FIT.read_text())
        good["context"].update(host_name="secrethost", executable="/home/alice/bench_model", mail="alice@example.org",
                               command="/home/alice/bench_model --benchmark_out=work/bob/r.json secrethost")
        good["benchmarks"][-1]["owner"] = "alice"
        done = self.submit(good)
        self.assertEqual(done.returncode, 0, done.stderr)
        file = pathlib.Path(done.stdout.strip())
        self.assertNotRegex(file.read_text(), "secrethost|alice|bob|/home")
        submitted = json.loads(file.read_text())
        self.assertEqual(submitted["context"]["command"], "bench_model --benchmark_out=r.json ")
        self.assertNotRegex(file.name, "[^a-z0-9._-]")
        for field in ("host_name", "executable", "mail", "command"):
            self.assertIn(field, done.stderr)
        for before, after in zip(predict(FIT), predict(file), strict=True):
            self.assertEqual({**before, "files": 0}, {**after, "files": 0})
        self.assertEqual(self.submit(submitted).stdout, done.stdout, "what was submitted stays as it is")
        submitted["benchmarks"][0]["real_time"] *= 1.01
        self.assertNotEqual(self.submit(submitted).stdout, done.stdout)

    def test_refuses_what_nobody_could_rely_on(self):
        def in_context(**fields):
            return lambda of: of["context"].update(fields)

        def in_rows(rows="", **fields):
            return lambda of: [row.update(fields) for row in of["benchmarks"] if row["name"].startswith(rows)]

        def without(test):
            return lambda of: of.update(benchmarks=[row for row in of["benchmarks"] if not test(row)])

        def renamed(name):
            return lambda of: of.update(json.loads(json.dumps(of).replace("/resnet50/", f"/{name}/")))

        good = json.loads(FIT.read_text())
        for said, change in (
                ("layerbench_schema", in_context(layerbench_schema="2")),
                ("layerbench_version", lambda of: of["context"].pop("layerbench_version")),
                ("machine_check", in_context(machine_check="load steal")),
                ("machine_check", lambda of: of["context"].pop("machine_check")),
                ("interrupted", in_context(interrupted="1")),
                ("dry_run", in_context(dry_run="true")),
                ("verified", in_rows(verified=0)),
                ("disturbed", in_rows(disturbed=1)),
                ("rounds", without(lambda row: row.get("repetition_index", 0) > 2)),
                ("error", in_rows("gemm/", error_occurred=True, error_message="failed")),
                ("peak", in_rows("gemm/", real_time=1.0, mean_s=1e-9)),
                ("not measured", without(lambda row: "/maxpool/" in row["name"])),
                ("no network of layerbench", renamed("mine")),
                ("shipped model", renamed("vgg16"))):
            with self.subTest(said):
                content = copy.deepcopy(good)
                change(content)
                done = self.submit(content)
                self.assertEqual(done.returncode, 3)
                self.assertIn(said, done.stderr)
                self.assertFalse((self.folder / "out").exists())
        for file in (ROOT / "README.md", self.folder / "absent.json"):
            self.assertEqual(tool("submit", file).returncode, 3)


class Browser(Case):
    """Of the script; without a browser there is no such suite."""

    def open(self, page, *options):
        return subprocess.run([chosen.browser, "--headless", "--no-sandbox", "--virtual-time-budget=5000", *options,
                               f"file://{self.site}/{page}"], capture_output=True, text=True, check=True).stdout

    def test_searches_and_compares(self):
        made_up(self.source, 12)
        self.make()
        first, second, *_ = sorted(path.stem for path in self.site.glob("results/*.json") if "squeezenet" in path.read_text())
        compare = f"compare.html#a={first}&b={second}"
        shown = self.open(compare, "--dump-dom")
        self.assertRegex(shown, "squeezenet1_1 inference, f32, batch 1</td><td[^>]*>(faster|slower|same|unclear)</td>")
        self.assertIn("Layers, largest changes first", shown)
        search = "<script>onload = () => { const field = document.querySelector('input'); field.value = 'squeezenet'; " \
                 "field.dispatchEvent(new Event('input', {bubbles: true})); };</script></body>"
        (self.site / "search.html").write_text((self.site / "index.html").read_text().replace("</body>", search))
        shown = self.open("search.html", "--dump-dom")
        self.assertTrue(0 < len(re.findall("<tr hidden", shown)) < len(re.findall("<tr", shown)) - 3)
        pictures = ROOT / "build/site_pictures"
        pictures.mkdir(parents=True, exist_ok=True)
        machine = next(self.site.glob("machines/*")).relative_to(self.site)
        for page in ("index.html", machine, "models/resnet50.html", f"results/{first}.html", compare):
            for form, options in {"light": ["--window-size=1200,1000"], "phone": ["--window-size=390,1400"],
                                  "dark": ["--window-size=1200,1000", "--force-dark-mode"]}.items():
                name = str(page).partition(".html")[0].split("/")[0]
                self.open(page, f"--screenshot={pictures}/{name}_{form}.png", *options)


if __name__ == "__main__":
    if not chosen.browser:
        del Browser
    unittest.main(argv=[__file__])
