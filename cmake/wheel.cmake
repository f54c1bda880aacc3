# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# What a wheel has besides (pyproject.toml): the tools in Python, and all libraries but the system's,
# by the names that the loader asks for, with their licences.
install(FILES tools/from_torch.py tools/torch_export.py tools/output_file.py tools/engines.py
              tools/engine_model.py tools/engine_worker.py tools/gguf_model.py tools/overhead_models.py
        DESTINATION tools COMPONENT programs)
install(DIRECTORY $<TARGET_FILE_DIR:DNNL::dnnl>/../share/doc/onednn DESTINATION licenses
        COMPONENT programs OPTIONAL)
install(CODE [[
  file(GLOB programs ${CMAKE_INSTALL_PREFIX}/bin/*)
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${programs} RESOLVED_DEPENDENCIES_VAR libraries
       DIRECTORIES $<TARGET_FILE_DIR:DNNL::dnnl>
       PRE_EXCLUDE_REGEXES ^ld-linux "^lib(c|m|dl|rt|pthread|gcc_s|stdc[+][+])[.]so")
  file(MAKE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/lib ${CMAKE_INSTALL_PREFIX}/licenses)
  foreach(library ${libraries})
    cmake_path(GET library FILENAME name)
    file(REAL_PATH ${library} library)
    file(COPY_FILE ${library} ${CMAKE_INSTALL_PREFIX}/lib/${name})
    execute_process(COMMAND patchelf --set-rpath $ORIGIN ${CMAKE_INSTALL_PREFIX}/lib/${name}
                    COMMAND_ERROR_IS_FATAL ANY)
    cmake_path(GET library FILENAME library)
    execute_process(COMMAND dpkg-query --search */${library} OUTPUT_VARIABLE package ERROR_QUIET)
    string(REGEX REPLACE ":.*" "" package "${package}")
    if(package)
      file(COPY_FILE /usr/share/doc/${package}/copyright
           ${CMAKE_INSTALL_PREFIX}/licenses/${name}.txt)
    endif()
  endforeach()]] COMPONENT programs)
