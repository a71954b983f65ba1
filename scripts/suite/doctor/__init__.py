# SPDX-License-Identifier: MIT
"""What on this machine will disturb a result. It looks and changes nothing.

It imports base. It never reads a result: measure stores what it found, and present shows that.

    facts, probes  the state of the system, read in one place: files, and answers of the kernel
    finding        the words of the cells to be run; what a check finds, as text and for JSON
    checks         the list of all checks, the heaviest first
    load, processor, kernel, network, limits      the checks: pure functions from facts to a finding
"""
