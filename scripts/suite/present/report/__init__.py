# SPDX-License-Identifier: MIT
"""A result, or two, as one self-contained page of HTML, which needs no network and, but for
sorting, no scripts.

    elements    HTML as a tree, so that nothing is ever pasted unescaped
    tables      tables of a summary, of comparisons, of machines
    drawings    pictures, whose series can be switched off
    sections    what stands in each section
    page        all of it, in order: of one result, or of two that are compared
    page.css, page.js    how it looks; sorting by a click
"""
