# SPDX-License-Identifier: MIT
"""One or two results as a page of HTML that needs no network and, but for sorting, no script."""
