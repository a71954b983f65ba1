# SPDX-License-Identifier: MIT
"""A question as data: scenarios/*.toml, read, checked and written again.

It imports base and stats, for the names of histograms. It never asks the client what a word means,
and never looks at a result.
"""
