# SPDX-License-Identifier: MIT
"""The format on disk: plan, sessions, machines, records; one reader, one writer, the journal.

It imports base and scenario. It never computes a figure and never starts a run. measure writes with
it and observe reads with it; these two share nothing else.
"""
