# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# Installs a build of layerbench, runs what is installed, and builds and runs the project here
# against it. Run with cmake -P and these variables: build, config, generator, compiler, flags,
# linker_flags, prefix_path (with colons), onednn, cuda, programs, and work, a directory for
# all of it.
cmake_minimum_required(VERSION 3.25)

# run(<command>...): fails unless it succeeds; its output goes to the variable `out`. It runs far
# from the sources, in an environment that says nothing of layerbench.
function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${work}/elsewhere RESULT_VARIABLE code
                  OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT code STREQUAL 0)
    message(FATAL_ERROR "exit code ${code} of: ${ARGN}\n${out}${err}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

function(expect actual expected what)
  if(NOT "${actual}" MATCHES "${expected}")
    message(FATAL_ERROR "${what}: expected ${expected}, found:\n${actual}")
  endif()
endfunction()

execute_process(COMMAND env OUTPUT_VARIABLE variables)
string(REGEX MATCHALL "(LAYERBENCH|BENCHMARK)_[A-Z_]+=" variables "${variables}")
foreach(variable DESTDIR ${variables})
  string(REPLACE "=" "" variable "${variable}")
  unset(ENV{${variable}})
endforeach()

set(here ${CMAKE_CURRENT_LIST_DIR})
set(prefix ${work}/prefix)
set(configure ${CMAKE_COMMAND} -G ${generator} -DCMAKE_CXX_COMPILER=${compiler}
              "-DCMAKE_CXX_FLAGS=${flags}" "-DCMAKE_EXE_LINKER_FLAGS=${linker_flags}"
              -DCMAKE_BUILD_TYPE=${config})
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work}/elsewhere)

run(${CMAKE_COMMAND} --install ${build} --config ${config} --prefix ${prefix})
if(programs)
  # Only the installed folder has this model.
  set(models ${prefix}/share/layerbench/shapes/models)
  file(READ ${models}/alexnet.json model)
  string(REPLACE "\"alexnet\"" "\"installed\"" model "${model}")
  file(WRITE ${models}/installed.json "${model}")
  run(${prefix}/bin/layerbench list)
  expect("${out}" "\\| installed +\\|" "layerbench list")
  run(${prefix}/bin/bench_conv --model installed --benchmark_list_tests)
  expect("${out}" "^conv/fwd/[a-z]+/f32/installed/conv1/" "bench_conv --benchmark_list_tests")
endif()

set(dependencies ${prefix_path}:$ENV{CMAKE_PREFIX_PATH})
set(ENV{CMAKE_PREFIX_PATH} ${prefix}:${dependencies})
run(${configure} -S ${here} -B ${work}/build)
run(${CMAKE_COMMAND} --build ${work}/build --config ${config})
file(GLOB_RECURSE program ${work}/build/bench_axpy)
run(${program} --model ${here}/model.json --benchmark_format=json
    --benchmark_min_time=0.001 --benchmark_repetitions=1 --max-time=0)
string(JSON rows LENGTH "${out}" benchmarks)
string(JSON name GET "${out}" benchmarks 0 name)
string(JSON verified GET "${out}" benchmarks 0 verified)
expect("${rows}" "^1$" "rows of bench_axpy")
expect("${name}" "^axpy/fwd/loops/f32/blend/mix/" "its row")
expect("${verified}" "^1" "verified")

# expect_row(<index> <name> <field> <value>): of what own_kernel printed to `out`.
function(expect_row index name field value)
  string(JSON found GET "${out}" benchmarks ${index} name)
  expect("${found}" "^${name}$" "row ${index} of own_kernel")
  string(JSON found GET "${out}" benchmarks ${index} ${field})
  expect("${found}" "${value}" "${field} of ${name}")
endfunction()

file(GLOB_RECURSE program ${work}/build/own_kernel)
run(${program} --benchmark_format=json --benchmark_min_time=0.01)
expect_row(0 own_gemm iterations "^[1-9]")
set(verified 1)
if(onednn)
  list(APPEND verified 3 4)
endif()
set(names own reference no_model onednn onednn_cold)
foreach(index ${verified})
  list(GET names ${index} name)
  set(name gemm/${name}/manual_time)
  expect_row(${index} ${name} verified "^1")
  expect_row(${index} ${name} flops "^221184")
  expect_row(${index} ${name} flops_per_second "^[1-9]")
  expect_row(${index} ${name} bytes_per_second "^[1-9]")
  expect_row(${index} ${name} label "^key=m:48,n:48,k:48;algo=")
endforeach()
expect_row(2 gemm/no_model/manual_time error_message "cache:model needs a model")

# The library alone installs without being built.
set(ENV{CMAKE_PREFIX_PATH} ${dependencies})
run(${configure} -S ${here}/../.. -B ${work}/library -DLAYERBENCH_ONEDNN=${onednn}
    -DLAYERBENCH_CUDA=${cuda} -DLAYERBENCH_PROGRAMS=OFF -DLAYERBENCH_TESTS=OFF)
run(${CMAKE_COMMAND} --install ${work}/library --config ${config} --prefix ${work}/library_prefix)
if(EXISTS ${work}/library_prefix/bin)
  message(FATAL_ERROR "programs are installed with LAYERBENCH_PROGRAMS=OFF")
endif()
set(ENV{CMAKE_PREFIX_PATH} ${work}/library_prefix:${dependencies})
run(${configure} -S ${here} -B ${work}/library_build)
file(REMOVE_RECURSE ${work})
