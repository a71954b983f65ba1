# SPDX-License-Identifier: MIT
"""Two sides, cell by cell: what a change is, how sure it is, and what else differs.

    model         what a comparison is made of; pure data, which text, CSV, pages and pictures are made from
    sides         which cells stand on each side, and which belong together
    samples       the values behind a pair of cells, by round or by session, and what they come to
    verdicts      what may be said of changes, of all cells of a metric together
    differences   what else differs between two results: machines, binaries, words
    build         comparisons from one result or two
"""
