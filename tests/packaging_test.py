#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Holds the recipes of packaging/ against CMakeLists.txt: the version, and the least versions of dependencies."""
import re

from wheel_test import ROOT, expect

# Where a recipe has the version; that of Conan reads it.
VERSION = {"conda/recipe.yaml": [r"^  version: (\S+)$"], "easybuild/*.eb": [r"^version = '(.+)'$"],
           "phoronix/test-definition.xml": [r"<AppVersion>(.+)</AppVersion>"],
           "spack/package.py": [r'^    version\("(.+?)"', r"layerbench-([0-9.]+)\.tar"],
           "vcpkg/vcpkg.json": [r'^  "version": "(.+)"']}
# Names of dependencies in CMakeLists.txt and in recipes.
NAMES = {"benchmark": "(?:google)?benchmark", "CLI11": "cli11", "fmt": "fmt", "HWLOC": "(?:lib)?hwloc",
         "nlohmann_json": "nlohmann[-_]json"}


def number(version):
    """A version as a list of numbers, without zeros at its end."""
    return [int(part) for part in re.sub(r"(\.0)+$", "", version).split(".")]


def main():
    lists = (ROOT / "CMakeLists.txt").read_text()
    version = re.search(r"project\(layerbench VERSION ([0-9.]+)", lists)[1]
    least = {name: re.search(rf"find_package\({name} ([0-9.]+)", lists)[1] for name in NAMES}
    for pattern, places in (VERSION | {"conan/conanfile.py": []}).items():
        [recipe] = (ROOT / "packaging").glob(pattern)
        text = recipe.read_text()
        for place in places:
            found = re.findall(place, text, re.MULTILINE)
            expect(found == [version], f"{recipe.name}: the version is {found}, in CMakeLists.txt {version}")
        # vcpkg has one version of each port, its newest.
        for name, names in NAMES.items() if recipe.suffix not in (".json", ".xml") else ():
            found = re.search(rf"""["' ]{names}["', @/[>=:a-z]+([0-9.]+)""", text, re.IGNORECASE)
            expect(found, f"{recipe.name}: no version of {name}")
            wrong = number(found[1]) != number(least[name])
            if recipe.suffix == ".eb":  # has exact versions
                wrong = number(found[1]) < number(least[name])
                expect(recipe.name.startswith(f"layerbench-{version}-"), f"{recipe.name} is of version {version}")
            expect(not wrong, f"{recipe.name}: {name} {found[1]}, in CMakeLists.txt {least[name]}")


if __name__ == "__main__":
    main()
