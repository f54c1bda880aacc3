# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# Tests that compile every header of this build.

# Alone, as CMake's own check of file sets does it: what is there already is not compiled again.
add_test(NAME headers.self_contained
         COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --config $<CONFIG>
                 --target all_verify_interface_header_sets)
set_tests_properties(headers.self_contained PROPERTIES TIMEOUT 1800 RUN_SERIAL TRUE)

# All in two files, in opposite orders, linked into one program.
set(headers)
foreach(target layerbench onednn run)
  if(TARGET layerbench::${target})
    get_target_property(in_target layerbench_${target} HEADER_SET)
    list(APPEND headers ${in_target})
  endif()
endforeach()
list(TRANSFORM headers REPLACE ".+" "#include \"\\0\"")
foreach(order forward backward)
  list(JOIN headers "\n" includes)
  file(CONFIGURE OUTPUT headers_${order}.cpp CONTENT "@includes@\n" @ONLY)
  list(REVERSE headers)
endforeach()
file(CONFIGURE OUTPUT headers_main.cpp CONTENT "int main() {}\n")
add_executable(headers_twice headers_main.cpp headers_forward.cpp headers_backward.cpp)
target_link_libraries(headers_twice PRIVATE layerbench::run)
target_compile_options(headers_twice PRIVATE -O0)
add_test(NAME headers.twice COMMAND headers_twice)
