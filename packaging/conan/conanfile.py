# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""conan create packaging/conan, as docs/releases.md shows."""
import pathlib
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Layerbench(ConanFile):
    name = "layerbench"
    license = "Apache-2.0"
    description = "Timings of deep-learning primitives that add up to models"
    package_type = "application"
    settings = "os", "compiler", "build_type", "arch"
    # There is no oneDNN 3 in ConanCenter: with this option CMake must find one of this system.
    options = {"onednn": [True, False], "programs": [True, False]}
    default_options = {"onednn": False, "programs": True}

    @property
    def _root(self):
        return pathlib.Path(self.recipe_folder).parent.parent

    def set_version(self):
        lists = (self._root / "CMakeLists.txt").read_text(encoding="utf-8")
        self.version = re.search(r"project\(layerbench VERSION ([0-9.]+)", lists)[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "bench/*", "cmake/*", "include/*", "shapes/*", "src/*", "tools/*"):
            copy(self, pattern, self._root, self.export_sources_folder)

    def requirements(self):
        # Of users, too: the library is headers.
        for dependency in ("benchmark/[>=1.7 <2]", "cli11/[>=2.1 <3]", "fmt/[>=9]", "hwloc/[>=2.4 <3]",
                           "nlohmann_json/[>=3.11 <4]"):
            self.requires(dependency, transitive_headers=True, transitive_libs=True)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "LAYERBENCH_ONEDNN": bool(self.options.onednn), "LAYERBENCH_PROGRAMS": bool(self.options.programs),
            "LAYERBENCH_TESTS": False, "LAYERBENCH_MKL": "OFF", "LAYERBENCH_OPENBLAS": "OFF", "LAYERBENCH_BLIS": "OFF",
            "LAYERBENCH_MPI": "OFF", "LAYERBENCH_PROTOBUF": "OFF", "LAYERBENCH_SQLITE": "OFF"})
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, pathlib.Path(self.package_folder) / "licenses")
        CMake(self).install()

    def package_info(self):
        # Its own CMake files.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/layerbench"]
        self.cpp_info.bindirs = ["bin"]
        self.cpp_info.libdirs = []
