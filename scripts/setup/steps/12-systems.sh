# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: compiles all C for macOS and FreeBSD, warnings are errors

# shellcheck source=scripts/setup/systems.sh
. "$UNCORK_TOP/scripts/setup/systems.sh"

SYSTEMS='Darwin:aarch64-macos FreeBSD:x86_64-freebsd' # as CMake calls the system, as zig calls the target
SHARED=$UNCORK_TOP/build/systems

if ! systems_ensure; then
    count skipped 2 "$SYSTEMS_WHY"
    return 0
fi

# The libraries' headers stand alone, so that none of this system's own is found beside them.
headers_copy() {
    local folder library
    mkdir -p "$SHARED/include" || return
    for library in libuv:uv.h:uv jansson:jansson.h:jansson_config.h; do
        IFS=: read -r library first second <<<"$library"
        folder=$(pkg-config --variable=includedir "$library") || return
        cp -Rp "$folder/$first" "$folder/$second" "$SHARED/include" || return
        library_describe "$SHARED/pkgconfig" "$library" "$(pkg-config --modversion "$library")" "$SHARED/include"
    done
}

# system_compile SYSTEM TARGET: every object of the programs. Nothing is linked, not even by CMake that looks at the
# compiler: zig would first build its run-time library, which takes longer than all else.
system_compile() {
    tree_configure "systems/$2" -DCMAKE_SYSTEM_NAME="$1" "-DCMAKE_C_COMPILER=$ZIG;cc;-c;-target;$2" \
        -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY -DUNCORK_TESTS=OFF -DUNCORK_WERROR=ON || return
    objects_compile "build/systems/$2"
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
        errors_say "$log"
    fi
}

headers_copy || return
export PKG_CONFIG_LIBDIR=$SHARED/pkgconfig
for system in $SYSTEMS; do
    system_check "${system%%:*}" "${system#*:}" &
done
wait
