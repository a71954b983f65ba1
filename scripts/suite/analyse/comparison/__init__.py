# SPDX-License-Identifier: MIT
"""Two sides, cell by cell: what a change is, how sure it is, and what else differs.

    model         the parts of a comparison; pure data, from which text, CSV, pages and pictures are
                  made
    sides         two sides and metrics from words of the shell; the cells of each side, in pairs
    samples       the values behind a pair of cells, by round or by session, and their estimates
    differences   other differences between two results: machines, binaries, words; and which of
                  them a ratio cannot be taken across
    build         comparisons from one result or two, with the verdicts of all changes
"""
