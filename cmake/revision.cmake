# SPDX-License-Identifier: MIT
# Writes version.c at build time, and only when it changes: what git describe says of the sources,
# and the address that they were cloned from, if it is public and has no user's name in it.
execute_process(
    COMMAND git -c safe.directory=* describe --always --dirty --tags
    WORKING_DIRECTORY ${SOURCE_DIR}
    OUTPUT_VARIABLE revision
    OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET)
if(NOT revision)
    set(revision unknown)
endif()
execute_process(
    COMMAND git -c safe.directory=* config --get remote.origin.url
    WORKING_DIRECTORY ${SOURCE_DIR}
    OUTPUT_VARIABLE homepage
    OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET)
if(homepage MATCHES "^https?://[^@\"\\]+$")
    set(homepage "\"${homepage}\"")
else()
    set(homepage 0)
endif()
set(text "#include \"base/version.h\"\n
const char *const version_revision = \"${revision}\";
const char *const version_homepage = ${homepage};
")
if(EXISTS ${OUTPUT})
    file(READ ${OUTPUT} before)
endif()
if(NOT "${before}" STREQUAL "${text}")
    file(WRITE ${OUTPUT} "${text}")
endif()
