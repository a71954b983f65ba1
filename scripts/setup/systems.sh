# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Compiles the programs for other systems, with the compiler of ziglang (PyPI), which has their headers and says which
# symbols their libraries have. Sourced after scripts/setup/python and scripts/setup/build.sh.

# shellcheck source=scripts/setup/pypi.sh
. "$UNCORK_TOP/scripts/setup/pypi.sh"

SYSTEMS_ZIG=$UNCORK_TOP/build/systems/zig # what the compiler keeps: libraries that it has built, objects

# systems_ensure: afterwards ZIG is the compiler, or sets SYSTEMS_WHY (one line) and fails.
# shellcheck disable=SC2034  # used by who asked
systems_ensure() {
    SYSTEMS_WHY='' ZIG=''
    if ! pypi_ensure ziglang 0.17.0; then
        SYSTEMS_WHY=$PYPI_WHY
        return 1
    fi
    ZIG=$("$PYPI/bin/python" -c 'import ziglang; print(ziglang.__path__[0])')/zig
    export ZIG_GLOBAL_CACHE_DIR=$SYSTEMS_ZIG ZIG_LOCAL_CACHE_DIR=$SYSTEMS_ZIG
}

# library_describe FOLDER NAME VERSION INCLUDES [LIBS]: FOLDER/NAME.pc, in which CMake finds a library for another
# system.
library_describe() {
    mkdir -p "$1" && printf '%s\n' "Name: $2" "Description: of another system" "Version: $3" \
        "Cflags: -I\"$4\"" "Libs: ${5:-}" >"$1/$2.pc"
}

# objects_compile FOLDER: of what is configured there every object of the programs, and nothing is linked.
objects_compile() {
    ninja -C "$1" -t targets all | sed -n 's/^\(.*\.c\.o\): .*/\1/p' | xargs -d '\n' ninja -C "$1" -j 1 -k 0
}

# errors_say LOG: what failed, each once; where nothing says so the end of the log.
errors_say() {
    grep -E '(^|: )(fatal )?error: ' "$1" | sed "s|$UNCORK_TOP/||" | sort -u | grep . || tail -n 15 "$1"
}
