# SPDX-License-Identifier: MIT
"""Two sides, cell by cell: what a change is, how sure it is, and what else differs.

    model         what a comparison is made of; pure data, which text, CSV, pages and pictures are
                  made from
    sides         which cells stand on each side, and which belong together
    samples       the values behind a pair of cells, by round or by session, and what they come to
    verdicts      what may be said of changes, of all cells of a metric together
    differences   what else differs between two results: machines, binaries, words
    build         comparisons from one result or two
    selectors     what is asked for: sides and metrics, from words of the shell
    refusals      where a ratio says nothing, or something else than what was asked
    texts         a change and what is said of it as short texts; columns: the tables of these, and
                  what stands around
    formats/      what a comparison is written as: one file each, one list
"""
