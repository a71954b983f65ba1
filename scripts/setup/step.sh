#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# step.sh FILE: runs one step of scripts/test. A step is a file in scripts/setup/steps with the
# comment "# does: ..." and commands. Its status is that of its last command. It counts its tests
# with `count`, `count_junit` or `skip`; what it prints is its log.
set -u

: "${UNCORK_TOP:?scripts/test runs the steps}" "${UNCORK_COUNTS:?}" "${UNCORK_PYTHON:?}"
# shellcheck source=scripts/setup/build.sh
. "$UNCORK_TOP/scripts/setup/build.sh"

# skip REASON [N]: counts N skipped tests, by default one, and ends the step.
skip() {
    count skipped "${2:-1}" "$1"
    exit 0
}

# count_junit FILE: counts the tests in a JUnit file of ctest or pytest.
count_junit() {
    "$UNCORK_PYTHON" "$UNCORK_TOP/scripts/setup/junit.py" "$1" >>"$UNCORK_COUNTS"
}

# tree_test TREE [OPTION...]: runs ctest in build/TREE. It runs one test more at a time than there
# are processors, because many tests wait.
tree_test() {
    local junit=$LOGS/ctest-$1.xml tree=$1 status=0
    shift
    rm -f "$junit"
    $NO_ASLR ctest --test-dir "$UNCORK_TOP/build/$tree" --output-on-failure --no-tests=error --timeout 900 -j "$(($(nproc) + 1))" \
        --output-junit "$junit" "$@" || status=$?
    count_junit "$junit" || status=1
    return $status
}

# Loopback tests of what the sandbox and the optimiser hardly change: usually AddressSanitizer alone
# runs them, and with --all the release build too.
# shellcheck disable=SC2034  # used by steps
ASAN_ALONE="loopback-(connect|control|failures|handoff|http|override_servers|peers|psk|subjects|\
text_protocols|tls_failures|trust)$"

# suite_test NAME FOLDER [OPTION...]: runs pytest on FOLDER.
suite_test() {
    local junit=$LOGS/pytest-$1.xml folder=$UNCORK_TOP/$2 status=0
    shift 2
    rm -f "$junit"
    "$UNCORK_TOP/scripts/setup/python" -m pytest -q -rfEs -p no:cacheprovider --junitxml "$junit" "$@" "$folder" || status=$?
    count_junit "$junit" || status=1
    return $status
}

# fuzz_count [OPTION...]: runs tests/fuzz/run, and counts its targets.
fuzz_count() {
    local status=0
    tests/fuzz/run "$@" | tee "$LOGS/fuzz-lines.log"
    status=${PIPESTATUS[0]}
    count passed "$(grep -c '^ok ' "$LOGS/fuzz-lines.log")"
    count failed "$(grep -c '^FAILED ' "$LOGS/fuzz-lines.log")"
    return "$status"
}

# Options of suite_test to run several files at a time: one more than processors, as many tests
# wait.
# shellcheck disable=SC2034  # used by steps
FILES_AT_ONCE=(--numprocesses $(($(nproc) + 1)) --dist loadfile)

# sources GLOB...: prints the files of the tree that match, without those that git ignores.
sources() {
    if git -C "$UNCORK_TOP" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git -C "$UNCORK_TOP" ls-files --cached --others --exclude-standard -- "$@"
    else
        local glob
        for glob in "$@"; do
            find . -path ./build -prune -o -type f -path "./$glob" -print
        done
    fi
}

# Sanitizers of gcc 12 and clang 14 cannot map their shadow memory if the kernel randomises
# addresses more than they expect.
NO_ASLR=''
# shellcheck disable=SC2034  # used by steps
setarch "$(uname -m)" -R true 2>/dev/null && NO_ASLR="setarch $(uname -m) -R"
# For tests that run cmake: the packages do not include make.
export CMAKE_GENERATOR=Ninja
export ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS="second_deadlock_stack=1 suppressions=$UNCORK_TOP/tests/loopback/tsan.supp"

cd "$UNCORK_TOP" || exit 1
# shellcheck source=/dev/null
. "$1"
