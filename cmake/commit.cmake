# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# cmake -D SOURCE=DIR -D OUTPUT=FILE -P commit.cmake: writes src/commit.cpp.in with the commit of
# SOURCE to OUTPUT, unless OUTPUT has it already. The commit is that of the repository, or of the
# archive that `git archive` made, or empty.
set(commit "")
# A repository around the source, such as one that has it as a subfolder, has other commits.
if(EXISTS ${SOURCE}/.git)
  find_program(GIT git)
  if(GIT)
    execute_process(COMMAND ${GIT} --no-optional-locks -C ${SOURCE} describe --always --dirty
                            --abbrev=12 --exclude=*
                    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
if(commit STREQUAL "")
  file(STRINGS ${SOURCE}/cmake/commit.txt archived LIMIT_COUNT 1)
  if(archived MATCHES "^[0-9a-f]+$")
    string(SUBSTRING ${archived} 0 12 commit)
  endif()
endif()
configure_file(${SOURCE}/src/commit.cpp.in ${OUTPUT} @ONLY)
