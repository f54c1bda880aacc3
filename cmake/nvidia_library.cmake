# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
include(FindPackageHandleStandardArgs)

# layerbench_find_nvidia_library(<NAME> <library> <header>): finds a library beside the CUDA toolkit
# or in CMAKE_PREFIX_PATH. Sets <NAME>_FOUND and <NAME>_VERSION, which it reads from the header, and
# defines the target <NAME>::<library>. Needs find_package(CUDAToolkit) first. This is a macro because
# a function would hide <NAME>_FOUND from find_package.
macro(layerbench_find_nvidia_library name library header)
  find_path(${name}_INCLUDE_DIR ${header} HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(${name}_LIBRARY ${library} HINTS ${CUDAToolkit_LIBRARY_DIR})
  mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)

  set(${name}_VERSION)
  if(${name}_INCLUDE_DIR)
    file(STRINGS ${${name}_INCLUDE_DIR}/${header} numbers
         REGEX "^#define ${name}_(MAJOR|MINOR|PATCH|PATCHLEVEL) [0-9]+$")
    list(TRANSFORM numbers REPLACE ".* " "")
    list(JOIN numbers "." ${name}_VERSION)
  endif()

  find_package_handle_standard_args(${name} REQUIRED_VARS ${name}_LIBRARY ${name}_INCLUDE_DIR
                                    VERSION_VAR ${name}_VERSION)
  if(${name}_FOUND AND NOT TARGET ${name}::${library})
    add_library(${name}::${library} UNKNOWN IMPORTED)
    set_target_properties(${name}::${library} PROPERTIES
                          IMPORTED_LOCATION ${${name}_LIBRARY}
                          INTERFACE_INCLUDE_DIRECTORIES ${${name}_INCLUDE_DIR}
                          INTERFACE_LINK_LIBRARIES CUDA::cudart)
  endif()
endmacro()
