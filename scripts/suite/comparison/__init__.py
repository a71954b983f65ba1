# SPDX-License-Identifier: MIT
"""Two sides, cell by cell: what a change is, how sure it is, and what else differs.

    model       what a comparison is made of; pure data, which text, CSV, pages and pictures are made from
"""
