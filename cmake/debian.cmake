# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# The Debian packages: `cmake --build BUILD --target package`, or `cpack -G DEB` in BUILD.
# They have what `cmake --install` installs, and the components below.
#   layerbench          programs, shapes, man pages, completions, oneDNN's shared library
#   liblayerbench-dev   headers, CMake files, src/, oneDNN's headers and CMake files
set(programs COMPONENT debian_programs EXCLUDE_FROM_ALL)
set(development COMPONENT debian_development EXCLUDE_FROM_ALL)
set(maintainer "the layerbench authors <layerbench@packages.invalid>")

# A oneDNN from elsewhere has no package, so the package contains it, in a private folder, where other
# programs do not find it.
if(LAYERBENCH_ONEDNN AND NOT dnnl_DIR MATCHES "^/usr/lib/")
  get_filename_component(onednn ${dnnl_DIR}/../../.. ABSOLUTE)
  install(FILES $<TARGET_FILE:DNNL::dnnl> DESTINATION ${private_onednn}/lib ${programs})
  install(CODE "
    set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${private_onednn}/lib\")
    execute_process(COMMAND [[${CMAKE_STRIP}]] --strip-unneeded \"\${folder}/$<TARGET_FILE_NAME:DNNL::dnnl>\"
                    COMMAND_ERROR_IS_FATAL ANY)
    file(CREATE_LINK $<TARGET_FILE_NAME:DNNL::dnnl>
         \"\${folder}/$<TARGET_SONAME_FILE_NAME:DNNL::dnnl>\" SYMBOLIC)" ${programs})
  install(DIRECTORY ${onednn}/share/doc/onednn DESTINATION share/doc/layerbench ${programs}
          PATTERN README EXCLUDE)
  install(DIRECTORY ${dnnl_DIR} DESTINATION ${private_onednn}/lib/cmake ${development})
  install(DIRECTORY ${onednn}/include/ DESTINATION ${private_onednn}/include ${development}
          FILES_MATCHING PATTERN *.h PATTERN *.hpp PATTERN python* EXCLUDE)
endif()

set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
install(CODE "
  execute_process(COMMAND [[${PROJECT_SOURCE_DIR}/tools/package_files.py]]
                          \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\" ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}
                          [[${maintainer}]]
                  COMMAND_ERROR_IS_FATAL ANY)" ${programs})
install(DIRECTORY src DESTINATION ${CMAKE_INSTALL_DATADIR}/layerbench ${development}
        FILES_MATCHING PATTERN *.cpp PATTERN *.hpp)
install(CODE "
  set(documents \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/doc\")
  file(MAKE_DIRECTORY \"\${documents}\")
  file(CREATE_LINK layerbench \"\${documents}/liblayerbench-dev\" SYMBOLIC)" ${development})

set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL programs debian_programs Unspecified debian_development)
set(CPACK_COMPONENT_PROGRAMS_GROUP layerbench)
set(CPACK_COMPONENT_DEBIAN_PROGRAMS_GROUP layerbench)
set(CPACK_COMPONENT_UNSPECIFIED_GROUP liblayerbench-dev)
set(CPACK_COMPONENT_DEBIAN_DEVELOPMENT_GROUP liblayerbench-dev)
set(CPACK_PACKAGE_CONTACT ${maintainer})
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_LAYERBENCH_PACKAGE_NAME layerbench)
set(CPACK_DEBIAN_LAYERBENCH_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LAYERBENCH_PACKAGE_SUGGESTS "libopenblas0-openmp, libblis4-openmp")
if(with_mpi)
  # Without mpirun, an MPI program starts orted, which this package has.
  set(CPACK_DEBIAN_LAYERBENCH_PACKAGE_DEPENDS openmpi-bin)
endif()
# The project's description comes first.
set(CPACK_DEBIAN_LAYERBENCH_DESCRIPTION
    "layerbench times the layers of deep-learning models one by one, on the
libraries that frameworks use, and predicts the throughput of the model.")
set(CPACK_DEBIAN_LIBLAYERBENCH-DEV_PACKAGE_NAME liblayerbench-dev)
set(CPACK_DEBIAN_LIBLAYERBENCH-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBLAYERBENCH-DEV_PACKAGE_DEPENDS
    "layerbench (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}), libbenchmark-dev, libcli11-dev, libfmt-dev, libhwloc-dev, nlohmann-json3-dev")
if(LAYERBENCH_ONEDNN AND dnnl_DIR MATCHES "^/usr/lib/")
  string(APPEND CPACK_DEBIAN_LIBLAYERBENCH-DEV_PACKAGE_DEPENDS ", libdnnl-dev")
endif()
if(with_mpi)
  string(APPEND CPACK_DEBIAN_LIBLAYERBENCH-DEV_PACKAGE_DEPENDS ", libopenmpi-dev")
endif()
set(CPACK_DEBIAN_LIBLAYERBENCH-DEV_DESCRIPTION
    "Headers and CMake files, for programs that time ops or kernels of their own.")
include(CPack)
