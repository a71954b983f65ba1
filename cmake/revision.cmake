# SPDX-License-Identifier: MIT
# Writes revision.h at build time, and only when it changes.
execute_process(
    COMMAND git -c safe.directory=* describe --always --dirty --tags
    WORKING_DIRECTORY ${SOURCE_DIR}
    OUTPUT_VARIABLE revision
    OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET)
if(NOT revision)
    set(revision unknown)
endif()
set(text "#define UNCORK_REVISION \"${revision}\"\n")
if(EXISTS ${OUTPUT})
    file(READ ${OUTPUT} before)
endif()
if(NOT "${before}" STREQUAL "${text}")
    file(WRITE ${OUTPUT} "${text}")
endif()
