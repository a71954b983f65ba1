# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: compiles all C for macOS and FreeBSD, warnings are errors

# shellcheck source=scripts/setup/pypi.sh
. "$UNCORK_TOP/scripts/setup/pypi.sh"

SYSTEMS='Darwin:aarch64-macos FreeBSD:x86_64-freebsd' # as CMake calls the system, as zig calls the target
SHARED=$UNCORK_TOP/build/systems

if ! pypi_ensure ziglang 0.17.0; then
    count skipped 2 "$PYPI_WHY"
    return 0
fi

# The libraries' headers stand alone, so that none of this system's own is found beside them.
headers_copy() {
    local folder library
    mkdir -p "$SHARED/include" "$SHARED/pkgconfig" || return
    for library in libuv:uv.h:uv jansson:jansson.h:jansson_config.h; do
        IFS=: read -r library first second <<<"$library"
        folder=$(pkg-config --variable=includedir "$library") || return
        cp -Rp "$folder/$first" "$folder/$second" "$SHARED/include" || return
        printf '%s\n' "Name: $library" "Description: headers" "Version: $(pkg-config --modversion "$library")" \
            "Cflags: -isystem \"$SHARED/include\"" >"$SHARED/pkgconfig/$library.pc"
    done
}

# system_compile SYSTEM TARGET: every object of the programs. Nothing is linked, not even by CMake that looks at the
# compiler: zig would first build its run-time library, which takes longer than all else.
system_compile() {
    local folder=build/systems/$2 zig
    zig=$("$PYPI/bin/python" -c 'import ziglang; print(ziglang.__path__[0])')/zig
    tree_configure "systems/$2" -DCMAKE_SYSTEM_NAME="$1" "-DCMAKE_C_COMPILER=$zig;cc;-c;-target;$2" \
        -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY -DUNCORK_TESTS=OFF -DUNCORK_WERROR=ON || return
    ninja -C "$folder" -t targets all | sed -n 's/^\(.*\.c\.o\): .*/\1/p' |
        xargs -d '\n' ninja -C "$folder" -k 0
}

# system_check SYSTEM TARGET: one test; what failed is said again at the end, where it is seen.
system_check() {
    local log=$LOGS/systems-$2.log
    if system_compile "$@" >"$log" 2>&1; then
        count passed 1
        echo "$2: compiles"
    else
        count failed 1
        echo "$2: does not compile; all of it is in $(short "$log")"
        grep -E ': (fatal )?error: ' "$log" | sed "s|$UNCORK_TOP/||" | sort -u | grep . || tail -n 15 "$log"
    fi
}

headers_copy || return
export PKG_CONFIG_LIBDIR=$SHARED/pkgconfig ZIG_GLOBAL_CACHE_DIR=$SHARED/zig ZIG_LOCAL_CACHE_DIR=$SHARED/zig
for system in $SYSTEMS; do
    system_check "${system%%:*}" "${system#*:}" &
done
wait
