# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# Tests that compile every header of this build.
set(CMAKE_UNITY_BUILD FALSE)

# Each alone in a file, with what its library links; sanitizers change nothing in what a header
# needs. Only parsed: there is nothing to run.
set(headers)
foreach(target layerbench host onednn cblas mkl openblas blis cuda nccl mpi nccl_mpi run)
  if(TARGET layerbench::${target})
    get_target_property(in_target layerbench_${target} HEADER_SET)
    list(APPEND headers ${in_target})
    set(alone)
    foreach(header ${in_target})
      file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR}/include/layerbench ${header})
      set(source ${CMAKE_CURRENT_BINARY_DIR}/headers_alone/${name}.cpp)
      file(CONFIGURE OUTPUT ${source} CONTENT "#include \"@header@\"\n" @ONLY)
      list(APPEND alone ${source})
    endforeach()
    add_library(headers_alone_${target} OBJECT EXCLUDE_FROM_ALL ${alone})
    target_link_libraries(headers_alone_${target} PRIVATE layerbench::${target})
    target_compile_options(headers_alone_${target} PRIVATE -fsyntax-only)
    list(APPEND headers_alone headers_alone_${target})
  endif()
endforeach()
# A header outside of all sets would not be installed.
file(GLOB_RECURSE outside CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/*.hpp)
list(REMOVE_ITEM outside ${headers})
list(FILTER outside EXCLUDE REGEX "/backend/(onednn|cblas|mkl|openblas|blis|kernels/gpu|kernels/host|cuda|cudnn|cublas|nccl|mpi|nccl_mpi)/|/ranks/(mpi|nccl)/")
if(outside)
  message(FATAL_ERROR "headers that no library lists: ${outside}")
endif()
if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  add_test(NAME headers.self_contained
           COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --config $<CONFIG>
                   --target ${headers_alone})
  set_tests_properties(headers.self_contained PROPERTIES TIMEOUT 3600 RUN_SERIAL TRUE LABELS full)
endif()

# All in two files, in opposite orders, linked into one program.
list(TRANSFORM headers REPLACE ".+" "#include \"\\0\"")
foreach(order forward backward)
  list(JOIN headers "\n" includes)
  file(CONFIGURE OUTPUT headers_${order}.cpp CONTENT "@includes@\n" @ONLY)
  list(REVERSE headers)
endforeach()
file(CONFIGURE OUTPUT headers_main.cpp CONTENT "int main() {}\n")
add_executable(headers_twice EXCLUDE_FROM_ALL headers_main.cpp headers_forward.cpp
                             headers_backward.cpp)
target_link_libraries(headers_twice PRIVATE layerbench::run ${collectives})
target_compile_options(headers_twice PRIVATE -O0)
add_test(NAME headers.twice COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --config $<CONFIG>
                                    --target headers_twice)
set_tests_properties(headers.twice PROPERTIES TIMEOUT 3600 RUN_SERIAL TRUE LABELS "full;backend")
