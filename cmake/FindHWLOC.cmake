# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# Sets HWLOC_FOUND and HWLOC_VERSION and defines the target HWLOC::hwloc.
find_path(HWLOC_INCLUDE_DIR hwloc.h)
find_library(HWLOC_LIBRARY hwloc)
mark_as_advanced(HWLOC_INCLUDE_DIR HWLOC_LIBRARY)
if(HWLOC_INCLUDE_DIR)
  set(hwloc_config ${HWLOC_INCLUDE_DIR}/hwloc/autogen/config.h)
  if(EXISTS ${hwloc_config})
    file(STRINGS ${hwloc_config} hwloc_line REGEX "^#define HWLOC_VERSION \"")
    string(REGEX MATCH "[0-9][0-9.]*" HWLOC_VERSION "${hwloc_line}")
  endif()
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(HWLOC REQUIRED_VARS HWLOC_LIBRARY HWLOC_INCLUDE_DIR
                                  VERSION_VAR HWLOC_VERSION)
if(HWLOC_FOUND AND NOT TARGET HWLOC::hwloc)
  add_library(HWLOC::hwloc UNKNOWN IMPORTED)
  set_target_properties(HWLOC::hwloc PROPERTIES IMPORTED_LOCATION ${HWLOC_LIBRARY}
                                                INTERFACE_INCLUDE_DIRECTORIES ${HWLOC_INCLUDE_DIR})
endif()
