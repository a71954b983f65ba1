# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Installs what the table of packages names and this machine lacks. Sourced after scripts/setup/python.

PACKAGES_TABLE=$UNCORK_TOP/scripts/setup/packages

# subjects_read FIELD...: for each subject and load its name, and these keys of its file, a line each.
subjects_read() {
    local file field
    for file in "$UNCORK_TOP"/scenarios/{subjects,loads}/*.toml; do
        [ -f "$file" ] || continue
        grep -q '^apt = "-"$' "$file" && continue # in no package
        basename "$file" .toml
        for field in "$@"; do
            sed -n "s/^$field = \"\(.*\)\"\$/\1/p" "$file" | head -n 1
        done
    done
}

# The table, and a row for each subject and load, which is a purpose of its own.
packages_rows() {
    local name program apt dnf
    cat "$PACKAGES_TABLE"
    while read -r name && read -r program && read -r apt && read -r dnf; do
        echo "command:$program $apt $dnf $name"
    done < <(subjects_read program apt dnf)
}

# version_reached HAVE WANT: both dotted numbers.
version_reached() {
    [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

# probe_command NAME[>=VERSION]
probe_command() {
    local name=${1%%>=*} version
    have "$name" || return 1
    [ "$name" != "$1" ] || return 0
    version=$(limited 10 "$name" --version 2>/dev/null | grep -Eo '[0-9]+(\.[0-9]+)+' | head -n 1)
    version_reached "${version:-0}" "${1##*>=}"
}

# probe_pkg_config NAME[>=VERSION]
probe_pkg_config() {
    have pkg-config && pkg-config --exists "${1/>=/ >= }" 2>/dev/null
}

# probe_link COMPILER[:FLAG]: does it build a program that uses libc? Fuzzing brings a main of its own.
probe_link() {
    local compiler=${1%%:*} flag='' status=0 folder
    [ "$compiler" = "$1" ] || flag=${1#*:}
    have "$compiler" || return 1
    folder=$(mktemp -d) || return 1
    cat >"$folder/probe.c" <<'SOURCE'
#include <stdio.h>
int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size);
int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size)
{
    return size > 4 && data[0] == 1 && puts("one") < 0;
}
#ifndef FUZZ
int main(void)
{
    return 0;
}
#endif
SOURCE
    case $flag in *fuzzer*) set -- -DFUZZ ;; *) set -- ;; esac
    "$compiler" ${flag:+"$flag"} "$@" -o "$folder/probe" "$folder/probe.c" >/dev/null 2>&1 || status=1
    rm -rf "$folder"
    return $status
}

# probe_python MODULE: among all that the chosen Python needs, so that one interpreter has them together. Where none
# has them all, the distribution's is asked, for which packages are installed.
probe_python() {
    [ -n "$PACKAGES_PYTHON_FITS" ] || [ -z "$(python_trouble import /usr/bin/python3 "$1")" ]
}

probe() {
    case $1 in
    command:*) probe_command "${1#*:}" ;;
    pkg-config:*) probe_pkg_config "${1#*:}" ;;
    link:*) probe_link "${1#*:}" ;;
    python:*) probe_python "${1#*:}" ;;
    *) fail "scripts/setup/packages: unknown probe \"$1\"" ;;
    esac
}

# The package manager, or nothing.
packages_manager() {
    if have apt-get; then
        echo apt
    elif have dnf; then
        echo dnf
    fi
}

# packages_missing PURPOSE...: sets MISSING (probes that fail) and MISSING_NAMES (their packages, each once).
packages_missing() {
    local manager row_probe apt dnf purpose names name
    manager=$(packages_manager)
    MISSING='' MISSING_NAMES='' PACKAGES_PYTHON_FITS=''
    # shellcheck disable=SC2046  # words
    python_choose import $(python_modules "$@") 2>/dev/null && PACKAGES_PYTHON_FITS=yes
    while read -r row_probe apt dnf purpose; do
        case $row_probe in '' | '#'*) continue ;; esac
        purposes_meet "$purpose" "$@" || continue
        probe "$row_probe" && continue
        MISSING+=" $row_probe"
        names=$apt
        [ "$manager" = dnf ] && names=$dnf
        for name in ${names//+/ }; do
            case "$MISSING_NAMES " in *" $name "*) ;; *) MISSING_NAMES+=" $name" ;; esac
        done
    done < <(packages_rows)
    MISSING=${MISSING# } MISSING_NAMES=${MISSING_NAMES# }
    [ -n "$MISSING" ]
}

# packages_command: how MISSING_NAMES are installed, as one line for a root shell; nothing without a package manager.
packages_command() {
    case $(packages_manager) in
    apt)
        echo "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120" \
            "install -y --no-install-recommends $MISSING_NAMES"
        ;;
    dnf) echo "dnf install -y --setopt=install_weak_deps=False $MISSING_NAMES" ;;
    esac
}

# Prints the one command for an administrator and ends.
packages_ask() {
    local become='su -c'
    have sudo && become='sudo sh -c'
    warn "these packages are missing, and installing them needs root: $MISSING_NAMES"
    echo "An administrator must run, once:" >&2
    printf "\n  %s '%s'\n\n" "$become" "$(packages_command)" >&2
    exit 1
}

# Installs MISSING_NAMES as root.
packages_install() {
    printf 'packages    installing %s (log: %s)\n' "$MISSING_NAMES" "$(short "$LOGS/packages.log")"
    logged_must packages "the packages could not be installed (is the network there?)" sh -c "$(packages_command)"
}

# venv_make MODULE...: where packages cannot give what Python needs, build/venv takes the system's modules and
# fetches the others.
venv_make() {
    local base candidate names venv=$UNCORK_BUILD/venv
    # PyPI names packages as their modules, but for this one.
    mapfile -t names < <(printf '%s\n' "$@" | sed 's/^xdist$/pytest-xdist/')
    printf 'python      no interpreter has %s; making %s on top of the system packages\n' \
        "$(listed "$@")" "$(short "$venv")"
    for candidate in "${UNCORK_PYTHON:-}" /usr/bin/python3 python3; do
        [ -n "$candidate" ] && [ -z "$(python_trouble find "$candidate" venv ensurepip)" ] && base=$candidate && break
    done
    [ -n "${base:-}" ] || fail "no Python >= 3.11 with the module venv was found (UNCORK_PYTHON=PATH names another)"
    if ! logged venv "$base" -m venv --clear --system-site-packages "$venv" ||
        ! logged venv "$venv/bin/python" -m pip install --disable-pip-version-check "${names[@]}"; then
        log_tail "$LOGS/venv.log" 10
        rm -rf "$venv"
        fail "$(short "$venv") could not be made: install $(listed "$@") for $base, or name another by UNCORK_PYTHON"
    fi
}

# packages_ensure PURPOSE...: afterwards all is there and PYTHON is chosen, or the program has ended saying why.
packages_ensure() {
    local modules
    modules=$(python_modules "$@")
    if packages_missing "$@" && [ -n "$(packages_manager)" ]; then
        [ "$(id -u)" = 0 ] || packages_ask
        packages_install
        hash -r
        packages_missing "$@" || :
    fi
    # Modules of Python may come from elsewhere.
    if grep -qvE '^(python:.*)?$' <<<"${MISSING// /$'\n'}"; then
        fail "this machine lacks what scripts/setup/packages asks for: $MISSING"
    fi
    # shellcheck disable=SC2086  # words
    python_choose import $modules && return
    # shellcheck disable=SC2086
    venv_make $modules
    # shellcheck disable=SC2086
    python_choose import $modules || fail "$(short "$UNCORK_BUILD/venv") does not fit: ${PYTHON_WHY##*$'\n'}"
}

# packages_try PURPOSE...: installs what an optional step needs, or sets PACKAGES_WHY (one line) and fails.
packages_try() {
    PACKAGES_WHY=''
    packages_missing "$@" || return 0
    if [ -n "$(packages_manager)" ] && [ "$(id -u)" = 0 ]; then
        (packages_install)
        hash -r
        packages_missing "$@" || return 0
    fi
    # shellcheck disable=SC2034  # used by who asked
    PACKAGES_WHY="this machine lacks ${MISSING_NAMES// /, }"
    return 1
}
