# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: builds the last commit twice, in two folders: programs, pages and packages are the same
# long: yes
# seconds: 1200

work=$UNCORK_TOP/build/reproducible
SOURCE_DATE_EPOCH=$(git -C "$UNCORK_TOP" log -1 --format=%ct) || skip "this tree is no checkout"
export SOURCE_DATE_EPOCH CCACHE_DISABLE=1

# build_and_digest FOLDER: builds a copy of the commit there, and prints the digest of each file.
build_and_digest() {
    git clone -q "$UNCORK_TOP" "$1" && cd "$1" || return
    sources_configure "$1" "$1/build" -DCMAKE_BUILD_TYPE=Release -DUNCORK_TESTS=OFF >&2 &&
        cmake --build build -j "$(nproc)" >&2 || return
    if [ -f build/CPackConfig.cmake ] && have dpkg-shlibdeps; then
        cpack --config build/CPackConfig.cmake -B packages >&2 && rm -rf packages/_CPack_Packages || return
    fi
    find build/bin build/share packages -type f -exec sha256sum {} + 2>/dev/null | sort -k 2
}

rm -rf "$work" && mkdir -p "$work/and/another" || return
for folder in one and/another; do
    (build_and_digest "$work/$folder/uncork") >"$work/$(basename "$folder").sums" || return
done
cat "$work/one.sums"
grep -q build/bin/uncork-server "$work/one.sums" && diff "$work/one.sums" "$work/another.sums" && count passed 1
