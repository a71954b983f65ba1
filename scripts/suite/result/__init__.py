# SPDX-License-Identifier: MIT
"""The format on disk: plan, sessions, machines, records; one reader, one writer, the journal that
resumes.

It imports base and scenario. It never computes a figure and never starts a run: measure writes by
it, analyse reads by it, and that is all that these two have in common.
"""
