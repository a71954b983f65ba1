# SPDX-License-Identifier: MIT
"""A result, or two, as one self-contained page of HTML, which needs no network and, but for
sorting, no scripts.
"""
