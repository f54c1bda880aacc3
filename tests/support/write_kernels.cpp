// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <regex>
#include <string>
#include <utility>

#include <layerbench/backend/kernels/gpu/image_kernel_source.hpp>
#include <layerbench/backend/kernels/gpu/kernel_source.hpp>
#include <layerbench/backend/kernels/gpu/tensor_kernel_source.hpp>
#include <layerbench/backend/kernels/gpu/verification_kernel_source.hpp>

/// Writes the kernels of backend/kernels/gpu/ as C++ for processors: a namespace for each type of
/// numbers, in which a table knows the kernels by name. See host_kernels.hpp.

int main() {
  using namespace layerbench::gpu;
  const std::regex name("extern \"C\" __global__ void (\\w+)\\(");
  const std::string kernels = std::string(kernel_source) + std::string(image_kernel_source) +
                              std::string(tensor_kernel_source) +
                              std::string(verification_kernel_source);
  std::string table;
  for (std::sregex_iterator sregex_iterator(kernels.begin(), kernels.end(), name), end;
       sregex_iterator != end; ++sregex_iterator) {
    table += "{\"" + (*sregex_iterator)[1].str() + "\", &host_launch<&" +
             (*sregex_iterator)[1].str() + ">},\n";
  }
  std::cout << "#include \"host_launch.hpp\"\n";
  for (const auto& [type, numbers] : {std::pair{"f32", f32_source}, std::pair{"bf16", bf16_source},
                                      std::pair{"f16", f16_source}}) {
    std::cout << "namespace host_" << type << " {\n"
              << numbers << std::regex_replace(kernels, name, "void $1(")
              << "\nconst host_kernels& all() {\nstatic const host_kernels table{\n"
              << table << "};\nreturn table;\n}\n}\n";
  }
}
