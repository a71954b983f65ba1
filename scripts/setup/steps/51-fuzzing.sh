# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: the fuzz targets for 30 minutes in all, with the lines that they reach; the build for OSS-Fuzz
# long: yes
# seconds: 3300

# oss_fuzz: builds the targets as OSS-Fuzz does, and runs each with its archive of seeds.
oss_fuzz() {
    local out=build/oss-fuzz/out name
    rm -rf "$out" && mkdir -p "$out/seeds" || return
    CC=clang CFLAGS='-O1 -g -fsanitize=address,fuzzer-no-link' LIB_FUZZING_ENGINE=-fsanitize=fuzzer \
        OUT=$PWD/$out WORK=$PWD/build tests/fuzz/oss-fuzz.sh || return
    for name in tests/fuzz/fuzz_*.c; do
        name=$(basename "$name" .c)
        unzip -q -o -d "$out/seeds/$name" "$out/${name}_seed_corpus.zip" &&
            $NO_ASLR "$out/$name" -runs=0 "$out/seeds/$name" || return
    done
}

fuzz_count --minutes 30 --coverage --json build/fuzz/results.json
status=$?
if ! have zip || ! have unzip; then
    count skipped 1 "the build for OSS-Fuzz: zip and unzip are not installed"
elif oss_fuzz; then
    count passed 1
else
    count failed 1
    status=1
fi
exit "$status"
