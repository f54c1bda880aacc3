# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
import pathlib

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class LayerbenchTest(ConanFile):
    settings = "os", "compiler", "build_type", "arch"
    generators = "CMakeDeps", "CMakeToolchain"

    @property
    def _project(self):
        return pathlib.Path(self.recipe_folder).parents[2] / "tests/package"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure(build_script_folder=str(self._project))
        cmake.build()

    def test(self):
        if can_run(self):
            program = pathlib.Path(self.cpp.build.bindir) / "bench_axpy"
            self.run(f"{program} --model {self._project}/model.json --max-time=0 --benchmark_repetitions=1", env="conanrun")
