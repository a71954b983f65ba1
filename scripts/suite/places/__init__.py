# SPDX-License-Identifier: MIT
"""Where a cell runs: this machine, gVisor, a booted kernel, other machines by ssh, a fleet, a lab.

It imports base and result. It never decides what runs next and never looks at a figure;
`targets.py` has the list of kinds, and nothing outside imports `fleet`, which that list names.

    target   what every target has; the class itself is this machine
    targets  the list of kinds, and the targets of one runner
    gvisor   target=gvisor: a sandbox for each batch
    vng      target=vng:IMAGE: a guest that boots a kernel for each batch
    images   images of Linux kernels, read without booting them
    remote   what targets with ends on several machines have in common
    ssh/     target=ssh:HOST: one machine after the other
    fleet/   hosts=INVENTORY: many pairs of machines at once
    batch    the records of one batch, from the output of its client
    lab/     network namespaces on this machine
"""
