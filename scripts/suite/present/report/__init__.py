# SPDX-License-Identifier: MIT
"""A result, or two, as one self-contained page of HTML, which needs no network and, but for
sorting, no scripts.

    drawings    pictures, whose series can be switched off
    page        all sections, in order: of one result, or of two that are compared
    page.css, page.js    how it looks; sorting by a click
"""
