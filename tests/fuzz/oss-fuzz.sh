#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds the fuzz targets as OSS-Fuzz wants them: with its compilers, flags and engine, into $OUT,
# each with its seeds as an archive. Its image needs the packages "build" of scripts/setup/packages
# and zip. By hand: docs/fuzzing.md.
set -eu

: "${CC:?}" "${OUT:?}" "${LIB_FUZZING_ENGINE:?}"
top=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd -P)
build=${WORK:-$top/build}/oss-fuzz

cmake -S "$top" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_C_COMPILER="$CC" \
    -DCMAKE_C_FLAGS="-UNDEBUG ${CFLAGS:-}" -DUNCORK_FUZZ=ON -DUNCORK_FUZZ_ENGINE="$LIB_FUZZING_ENGINE" \
    -DCMAKE_BUILD_RPATH="\$ORIGIN/lib"
cmake --build "$build" --target fuzz
for target in "$build"/bin/fuzz_*; do
    name=$(basename "$target")
    cp "$target" "$OUT/"
    rm -f "$OUT/${name}_seed_corpus.zip"
    (cd "$top/tests/fuzz/corpus/${name#fuzz_}" && zip -q "$OUT/${name}_seed_corpus.zip" ./*)
done

# OSS-Fuzz starts the targets on images without these libraries.
mkdir -p "$OUT/lib"
for target in "$OUT"/fuzz_*; do
    [ -x "$target" ] || continue
    ldd "$target" | sed -n 's|.* => \(/[^ ]*\) .*|\1|p' | while read -r library; do
        case $library in */libc.so.* | */libm.so.* | */ld-linux*) ;; *) cp -n "$library" "$OUT/lib/" ;; esac
    done
done
