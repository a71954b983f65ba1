# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: each fuzz target for 3 s, from tests/fuzz/corpus

tree_build asan -DUNCORK_WERROR=ON || return
mkdir -p build/fuzz/found

# fuzz_one PROGRAM: runs one fuzz target. New inputs go to build/fuzz; the corpus of the tree is
# only read.
fuzz_one() {
    local name corpus
    name=$(basename "$1")
    name=${name#fuzz_}
    corpus=tests/fuzz/corpus/$name
    mkdir -p "build/fuzz/corpus/$name"
    set -- "$1" "build/fuzz/corpus/$name"
    [ -d "$corpus" ] && set -- "$@" "$corpus"
    if $NO_ASLR "$@" -max_total_time=3 -timeout=5 -print_final_stats=1 -artifact_prefix="build/fuzz/found/$name-" \
        >"$LOGS/fuzz-$name.log" 2>&1; then
        count passed 1
        echo "fuzz_$name: $(grep -o 'Done [0-9]* runs.*' "$LOGS/fuzz-$name.log")"
    else
        count failed 1
        echo "fuzz_$name failed; its input is in build/fuzz/found"
        tail -n 40 "$LOGS/fuzz-$name.log"
    fi
}

jobs=0
for program in build/asan/bin/fuzz_*; do
    [ -x "$program" ] || continue
    [ "$jobs" -lt "$(nproc)" ] || { wait -n && jobs=$((jobs - 1)); }
    fuzz_one "$program" &
    jobs=$((jobs + 1))
done
wait
