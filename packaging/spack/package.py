# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
import os

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Layerbench(CMakePackage):
    """Timings of deep-learning primitives that add up to models"""

    # tools/release.sh makes the archive; spack reads it in the folder in which it is started.
    manual_download = True
    url = f"file://{os.getcwd()}/layerbench-0.1.0.tar.gz"

    license("Apache-2.0")

    version("0.1.0")

    variant("mpi", default=True, description="All-reduces between processes")
    variant("onednn", default=True, description="The backend oneDNN")
    variant("protobuf", default=True, description="Read ONNX models")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("benchmark@1.7:")
    depends_on("cli11@2.1:")
    depends_on("fmt@9:")
    depends_on("hwloc@2.4:")
    depends_on("nlohmann-json@3.11:")
    depends_on("mpi", when="+mpi")
    depends_on("onednn@3:", when="+onednn")
    depends_on("protobuf", when="+protobuf")

    def cmake_args(self):
        optional = [self.define_from_variant(f"LAYERBENCH_{name.upper()}", name) for name in ("mpi", "onednn", "protobuf")]
        return [self.define("LAYERBENCH_TESTS", False), self.define("LAYERBENCH_SQLITE", False), *optional]
