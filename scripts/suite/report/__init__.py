# SPDX-License-Identifier: MIT
"""A result as one self-contained page of HTML, which needs no network and, but for sorting, no scripts.

    elements    HTML as a tree, so that nothing is ever pasted unescaped
    tables      tables of a summary, of comparisons, of machines
    drawings    pictures, whose series can be switched off
    page        all of it, in order
    page.css, page.js    how it looks; sorting by a click
"""
