# SPDX-License-Identifier: MIT
"""What on this machine will disturb a result. It looks and changes nothing.

It imports base. It never reads a result: measure stores what it found, and present shows that.

    facts, probes  what the system says, read in one place: files, and what only a question to the
                   kernel tells
    asked          what is to be run, and which checks that concerns
    finding        what a check answers
    checks         the list of all checks, the heaviest first
    load, processor, kernel, network, limits      the checks: pure functions from facts to an answer
    report         text, the one line of a run's header, and what JSON and hosts.json hold
"""
