# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Installs programs that only PyPI has, each in its own virtual environment in $UNCORK_BUILD/pypi.
# All of them are optional. Sourced; UNCORK_TOP must be set.

# shellcheck source=scripts/setup/python
. "$UNCORK_TOP/scripts/setup/python"

PYPI_SECONDS=200 # for one download

# pypi_ensure NAME VERSION [OTHER==VERSION...]: sets PYPI to an environment that has NAME and the
# others, installed if need be; else sets PYPI_WHY (one line) and fails.
pypi_ensure() {
    local name=$1 version=$2 PYTHON
    shift 2
    PYPI=$UNCORK_BUILD/pypi/$name-$version PYPI_WHY=''
    pypi_has "$name==$version" "$@" && return
    if ! PYTHON=$(python_choose find venv ensurepip 2>/dev/null && echo "$PYTHON"); then
        PYPI_WHY="$name comes from PyPI, and no Python here has venv and ensurepip"
    elif ! logged "pypi-$name" "$PYTHON" -m venv --clear "$PYPI" ||
        ! logged "pypi-$name" limited "$PYPI_SECONDS" "$PYPI/bin/python" -m pip install \
            --disable-pip-version-check --no-input --retries 1 --timeout 20 "$name==$version" "$@" ||
        ! pypi_has "$name==$version" "$@"; then
        PYPI_WHY="$name $version could not be fetched from PyPI: $(pypi_trouble "$LOGS/pypi-$name.log")"
        PYPI_WHY+="; log: $(short "$LOGS/pypi-$name.log")"
    fi
    [ -n "$PYPI_WHY" ] || return 0
    rm -rf "$PYPI"
    return 1
}

# pypi_trouble LOG: prints the first reason for a failure that pip or venv gave.
pypi_trouble() {
    local reason
    reason=$(grep -m 1 -E '^(WARNING: .* connection broken by |ERROR: |Error: )' "$1") ||
        reason='pip gave no reason'
    reason=${reason#*connection broken by \'}
    reason=${reason##*object at 0x*>[:,] }
    reason=${reason%%\': /*}
    reason=${reason%\')}
    echo "${reason#E[Rr]*: }"
}

# pypi_has NAME==VERSION...: whether PYPI has all of them.
pypi_has() {
    [ -e "$PYPI/bin/python" ] && limited 20 "$PYPI/bin/python" -c '
import importlib.metadata, sys
sys.exit(any(importlib.metadata.version(name) != version for name, version in (one.split("==") for one in sys.argv[1:])))' "$@" 2>/dev/null
}
