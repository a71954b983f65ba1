# SPDX-License-Identifier: MIT
cmake_minimum_required(VERSION 3.25)

# Writes version.c at build time, if it changes: the revision by git describe, and the address that
# the sources were cloned from, if it is public and has no user name in it.
function(git result)
    execute_process(
        COMMAND git -c safe.directory=* ${ARGN}
        WORKING_DIRECTORY ${SOURCE_DIR}
        OUTPUT_VARIABLE output
        OUTPUT_STRIP_TRAILING_WHITESPACE
        ERROR_QUIET)
    set(${result} "${output}" PARENT_SCOPE)
endfunction()

git(revision describe --always --dirty --tags)
if(NOT revision)
    set(revision unknown)
endif()
git(homepage config --get remote.origin.url)
if(homepage MATCHES "^https?://[^@\"\\]+$")
    set(homepage "\"${homepage}\"")
else()
    set(homepage 0)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT "#include \"base/version.h\"

const char *const version_revision = \"@revision@\";
const char *const version_homepage = @homepage@;
")
