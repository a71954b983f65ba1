# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# A Linux kernel for guests: Debian's newest backport, with the modules that a guest needs, in build/guest/kernel.
# Sourced after scripts/setup/python.

# shellcheck source=scripts/setup/debian.sh
. "$UNCORK_TOP/scripts/setup/debian.sh"

KERNEL_FOLDER=$UNCORK_TOP/build/guest/kernel
KERNEL_SUITE=trixie-backports
# Of 4000 modules: those of the guest's file systems and devices, and what is tested there.
KERNEL_MODULES='fs/9p fs/netfs fs/overlayfs net/9p drivers/virtio net/tls crypto lib/crypto arch/x86/crypto'

# kernel_ensure: sets KERNEL to the image, its modules beside it, or KERNEL_WHY (one line) and fails.
kernel_ensure() {
    local mirror
    KERNEL='' KERNEL_WHY=''
    kernel_find && return
    if [ "$(dpkg --print-architecture 2>/dev/null)" != amd64 ]; then
        KERNEL_WHY="the kernel for guests is Debian's for amd64, and this is no such system"
    elif ! mirror=$(debian_mirror); then
        KERNEL_WHY="the kernel for guests is Debian's, and no mirror of Debian is among the sources of apt"
    elif ! logged kernel kernel_fetch "$mirror" || ! kernel_find; then
        KERNEL_WHY="no kernel for guests could be had from $mirror; log: $(short "$LOGS/kernel.log")"
    fi
    [ -z "$KERNEL_WHY" ]
}

kernel_find() {
    KERNEL=$(printf '%s\n' "$KERNEL_FOLDER"/usr/lib/modules/*/vmlinuz)
    [ -f "$KERNEL" ]
}

# kernel_fetch MIRROR: into build/guest/kernel, which is there as a whole or not at all. The version is asked of the
# package that always depends on the newest: exact versions vanish from mirrors.
kernel_fetch() {
    local new=$KERNEL_FOLDER.new version
    rm -rf "$new"
    debian_apt "$new" "deb $1 $KERNEL_SUITE main" && cd "$new" || return
    limited 100 apt-get update
    version=$(apt-cache depends linux-image-amd64 | sed -n 's/^ *Depends: linux-image-\([0-9].*\)/\1/p')
    [ -n "$version" ] || return
    limited 150 apt-get download "linux-base-$version" "linux-binary-$version" "linux-modules-$version" || return
    kernel_unpack "$version" || return
    rm -rf lists cache ./*.deb "$KERNEL_FOLDER"
    mv "$new" "$KERNEL_FOLDER"
}

# kernel_unpack VERSION: of the packages in this folder what a guest needs. Modules are decompressed: the initial
# file system of virtme-ng loads them as they are.
kernel_unpack() {
    local modules=usr/lib/modules/$1 package part
    set -- "./$modules/vmlinuz" "./$modules/modules.*"
    for part in $KERNEL_MODULES; do
        set -- "$@" "./$modules/kernel/$part/*"
    done
    for package in ./*.deb; do
        # That a package has not all of these is no error; what must be there is asked for below.
        dpkg-deb --fsys-tarfile "$package" | tar -x --wildcards "$@" 2>/dev/null
    done
    find "$modules/kernel" -name '*.ko.xz' -exec xz -d {} + && [ -f "$modules/kernel/net/tls/tls.ko" ] &&
        depmod -b usr "${modules##*/}"
}
