# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Runs commands in a virtual machine with another kernel, by virtme-ng: the guest's root is this machine's, read only,
# so programs that were built here run there. All of it is optional. Sourced after scripts/setup/python.
#
# The processor is always emulated: a /dev/kvm that opens may be unable to run a kernel, and then qemu hangs. So a guest
# shows what a kernel does, and never how fast.

# shellcheck source=scripts/setup/packages.sh
. "$UNCORK_TOP/scripts/setup/packages.sh"
# shellcheck source=scripts/setup/targets/vng.sh
. "$UNCORK_TOP/scripts/setup/targets/vng.sh"
# shellcheck source=scripts/setup/kernels
. "$UNCORK_TOP/scripts/setup/kernels"

GUEST_RESULTS=$UNCORK_TOP/build/guest/results # what a guest can write to: its /mnt
GUEST_ATTEMPTS=2                              # emulated kernels crash now and then

# guest_ensure: afterwards guest_run works, or sets GUEST_WHY (one line) and fails.
guest_ensure() {
    GUEST_WHY=''
    if ! target_ensure; then
        GUEST_WHY=$TARGET_WHY
    elif ! kernel_ensure newest; then
        GUEST_WHY=$KERNEL_WHY
    fi
    [ -z "$GUEST_WHY" ]
}

# guest_run SECONDS COMMAND: a line for the shell, run as root of a guest in this folder, its output on standard
# output. Its status, or GUEST_WHY (one line) and 125 where the guest did not come to the end of it.
guest_run() {
    local attempt status=$GUEST_RESULTS/status
    GUEST_WHY=''
    for ((attempt = 1; attempt <= GUEST_ATTEMPTS; attempt++)); do
        rm -rf "$GUEST_RESULTS" && mkdir -p "$GUEST_RESULTS" || return
        guest_boot "$1" "ip link set lo up; ($2); echo \$? >/mnt/status"
        [ -s "$status" ] && return "$(cat "$status")"
        echo "the guest has crashed, or was ended after $1 s (attempt $attempt)"
    done
    GUEST_WHY="a guest with Linux $(basename "$(dirname "$KERNEL")") has crashed or hung $GUEST_ATTEMPTS times"
    return 125
}

# guest_boot SECONDS COMMAND. virtme-ng finds its other programs on PATH. Over 9p, because virtiofs needs a program
# that Debian 12 does not have. A guest's /tmp is its own, so that this tree and the kernels are named, wherever they are.
# Standard output must be a pipe: qemu truncates a file. That a guest has crashed is told by nothing but a status, or not
# at all.
guest_boot() {
    PATH=$PYPI/bin:$PATH limited "$1" vng --disable-kvm --force-9p --user root --cpus 2 --memory 1G \
        --run "$KERNEL" --rodir="$UNCORK_TOP" --rodir="$KERNELS" --rwdir="/mnt=$GUEST_RESULTS" --exec "$2" | cat
}
