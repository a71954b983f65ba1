# SPDX-License-Identifier: MIT
"""What on this machine will disturb a result. It looks and changes nothing.

It imports base. It never reads a result: measure stores what it found, and present shows that.

    facts, probes  what the system tells, read in one place: files, and what only a question to the
                   kernel tells
    cells          the words of the cells that are to be run
    finding        what a check finds
    checks         the list of all checks, the heaviest first
    load, processor, kernel, network, limits      the checks: pure functions from facts to a finding
    report         findings as text
"""
