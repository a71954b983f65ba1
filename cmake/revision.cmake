# SPDX-License-Identifier: MIT
# Writes version.c at build time, and only when it changes: what git describe says of the sources,
# and the address that they were cloned from, if it is public and has no user's name in it.
function(git result)
    execute_process(
        COMMAND git -c safe.directory=* ${ARGN}
        WORKING_DIRECTORY ${SOURCE_DIR}
        OUTPUT_VARIABLE said
        OUTPUT_STRIP_TRAILING_WHITESPACE
        ERROR_QUIET)
    set(${result} "${said}" PARENT_SCOPE)
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
