# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Installs the packages of scripts/setup/packages that this machine lacks. Sourced; UNCORK_TOP must
# be set.

# shellcheck source=scripts/setup/python
. "$UNCORK_TOP/scripts/setup/python"

PACKAGES_TABLE=$UNCORK_TOP/scripts/setup/packages

# subjects_read KEY...: for each subject and load its name and the values of these keys, a line
# each.
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

# Prints the table of packages, and a row for each subject and load; its name is its purpose.
packages_rows() {
    local name program apt dnf
    cat "$PACKAGES_TABLE"
    while read -r name && read -r program && read -r apt && read -r dnf; do
        echo "command:$program $apt $dnf $name"
    done < <(subjects_read program apt dnf)
}

# version_reached HAVE WANT: whether HAVE is at least WANT; both are dotted numbers.
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

# probe_link COMPILER[:FLAG]: whether it builds a program that uses libc. With a fuzzer the main()
# is that of its library.
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

# probe_python MODULE: succeeds if one Python has all modules that are needed. If none has, it
# checks MODULE in the distribution's Python, for which packages are installed.
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

# Prints the name of the package manager, or nothing.
packages_manager() {
    if have apt-get; then
        echo apt
    elif have dnf; then
        echo dnf
    fi
}

# packages_missing PURPOSE...: sets MISSING (the probes that fail) and MISSING_NAMES (their
# packages, each once). Fails if nothing is missing.
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

# packages_command: prints the command that installs MISSING_NAMES, one line for a root shell;
# nothing without a package manager.
packages_command() {
    case $(packages_manager) in
    apt)
        echo "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120" \
            "install -y --no-install-recommends $MISSING_NAMES"
        ;;
    dnf) echo "dnf install -y --setopt=install_weak_deps=False $MISSING_NAMES" ;;
    esac
}

# Prints the command that an administrator must run, and exits.
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

# venv_make MODULE...: makes build/venv for modules that packages do not provide. It uses the
# system's modules and fetches the others.
venv_make() {
    local base candidate names venv=$UNCORK_BUILD/venv
    # A package of PyPI has the name of its module, except this one.
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
        fail "$(short "$venv") could not be made: install $(listed "$@") for $base, or set UNCORK_PYTHON to another"
    fi
}

# packages_ensure PURPOSE...: installs what is missing and sets PYTHON, or exits with the reason.
packages_ensure() {
    local modules
    modules=$(python_modules "$@")
    if packages_missing "$@" && [ -n "$(packages_manager)" ]; then
        [ "$(id -u)" = 0 ] || packages_ask
        packages_install
        hash -r
        packages_missing "$@" || :
    fi
    # Only modules of Python may still be missing: build/venv can have them.
    if grep -qvE '^(python:.*)?$' <<<"${MISSING// /$'\n'}"; then
        fail "this machine lacks what scripts/setup/packages requires: $MISSING"
    fi
    # shellcheck disable=SC2086  # words
    python_choose import $modules && return
    # shellcheck disable=SC2086
    venv_make $modules
    # shellcheck disable=SC2086
    python_choose import $modules || fail "$(short "$UNCORK_BUILD/venv") does not fit: ${PYTHON_WHY##*$'\n'}"
}

# packages_offer PURPOSE...: installs as root what tests can do without, each package alone: a
# distribution may lack some of them. What is missing then, the tests that need it say.
packages_offer() {
    { packages_missing "$@" && [ -n "$(packages_manager)" ] && [ "$(id -u)" = 0 ]; } || return 0
    for MISSING_NAMES in $MISSING_NAMES; do
        logged "packages-$MISSING_NAMES" sh -c "$(packages_command)" ||
            printf '%-14s %s could not be installed (log: %s)\n' packages "$MISSING_NAMES" \
                "$(short "$LOGS/packages-$MISSING_NAMES.log")"
    done
    hash -r
}

# packages_try PURPOSE...: installs what an optional step needs; else sets PACKAGES_WHY (one line)
# and fails.
packages_try() {
    PACKAGES_WHY=''
    packages_missing "$@" || return 0
    if [ -n "$(packages_manager)" ] && [ "$(id -u)" = 0 ]; then
        (packages_install)
        hash -r
        packages_missing "$@" || return 0
    fi
    # shellcheck disable=SC2034  # used by the caller
    PACKAGES_WHY="this machine lacks ${MISSING_NAMES// /, }"
    return 1
}
