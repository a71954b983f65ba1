# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Configures and builds build/TREE. Sourced; UNCORK_TOP must be set.

# shellcheck source=scripts/setup/packages.sh
. "$UNCORK_TOP/scripts/setup/packages.sh"

# tree_options TREE: the options of CMake for a tree, one per line.
tree_options() {
    case $1 in
    release) echo -DCMAKE_BUILD_TYPE=Release ;;
    static) printf '%s\n' -DCMAKE_BUILD_TYPE=Release -DUNCORK_STATIC=ON ;;
    asan)
        printf '%s\n' -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=clang -DUNCORK_SANITIZE=address -DUNCORK_FUZZ=ON
        ;;
    guided) tree_options asan && echo -DUNCORK_FUZZ_GUIDED=ON ;;
    coverage)
        printf '%s\n' -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER=clang -DUNCORK_SANITIZE=coverage -DUNCORK_FUZZ=ON
        ;;
    tsan) printf '%s\n' -DCMAKE_BUILD_TYPE=RelWithDebInfo -DUNCORK_SANITIZE=thread ;;
    systems/*) echo -DCMAKE_BUILD_TYPE=Debug ;;
    portability/*) echo -DCMAKE_BUILD_TYPE=Release ;;
    *) fail "no build tree \"$1\"" ;;
    esac
}

# sources_configure SOURCES FOLDER [OPTION...]: configures SOURCES in FOLDER. If FOLDER was moved
# here, or had another compiler, it is removed first: CMake would forget all other options. So is
# one that was never configured to the end, for lack of a compiler: its cache stays incomplete.
sources_configure() {
    local sources=$1 folder=$2 cache=$2/CMakeCache.txt compiler
    shift 2
    compiler=$(printf '%s\n' "$@" | sed -n 's/^-DCMAKE_C_COMPILER=\([a-z]*\)$/\1/p')
    [ -f "$sources/CMakeLists.txt" ] || fail "there is no CMakeLists.txt in $sources"
    if [ -f "$cache" ] && ! { [ -f "$folder/build.ninja" ] &&
        grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$sources" "$cache" &&
        { [ -z "$compiler" ] || grep -q "^CMAKE_C_COMPILER:.*[/=]$compiler$" "$cache"; }; }; then
        echo "$folder was configured in part, or for another folder or compiler: configuring it again"
        rm -rf "$folder"
    fi
    cmake -S "$sources" -B "$folder" -G Ninja --no-warn-unused-cli "$@"
}

# tree_configure TREE [OPTION...]: configures build/TREE with its tree_options and these options.
tree_configure() {
    local tree=$1
    shift
    # shellcheck disable=SC2046  # words
    sources_configure "$UNCORK_TOP" "$UNCORK_TOP/build/$tree" $(tree_options "$tree") "$@"
}

# tree_build TREE [OPTION...]: configures and builds build/TREE. It waits while another process
# builds the same tree: scripts/test runs several steps at a time.
tree_build() {
    mkdir -p "$UNCORK_TOP/build" || return
    (
        ! have flock || flock 9
        tree_configure "$@" && cmake --build "$UNCORK_TOP/build/$1" -j "$(nproc)"
    ) 9>"$UNCORK_TOP/build/$1.lock"
}
