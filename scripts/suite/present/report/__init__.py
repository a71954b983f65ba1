# SPDX-License-Identifier: MIT
"""One or two results as a page of HTML. It needs no network; only sorting needs a script."""
